"""What one student handed in becomes the text of one module, with notes on what was left out.

Nothing is run, unpacked to the disk, or looked up through a link. Of all the files of a student one
counts, by a rule that does not depend on the disk: the one of the name that was asked for, else a
renamed one, else the only one; the one in the fewest folders; and of a module and a notebook the
module, unless it is as it was handed out. Python's own parser sees only notebooks, in a process of
its own (`fedlab_edu.grading.notebook`).
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fedlab_edu.grading.notebook import NotANotebook, convert_apart, looks_like_notebook
from fedlab_edu.grading.unpack import NOTEBOOK, Files, Read, Unusable, printable, text_of

MODULE = 1 << 20  # bytes of a module
NOTES, NOTE = 20, 300  # notes on one submission, and characters of one

# They are never meant as an answer, whatever else is there.
_OURS = re.compile(r"(test_.*|.*_test|conftest|sitecustomize|usercustomize|setup)\.py", re.I)


@dataclass(frozen=True)
class Wanted:
    """What is asked for.

    Fields:
        names: of the file, without its ending; the first one is told to the student.
        functions: what the file should define.
        stub: the file as it was handed out; "" where that is not known.
    """

    names: tuple[str, ...]
    functions: tuple[str, ...] = ()
    stub: str = ""


@dataclass(frozen=True)
class Handed:
    """What a student handed in: the text of a module, or the problem that there is none.

    Fields:
        file: the file that counts, within what was handed in.
        notes: what was ignored, and what else the student should know.
    """

    file: str = ""
    source: str | None = None
    problem: str = ""
    notes: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """The SHA-256 of the text; of the problem, where there is none."""
        text = self.problem if self.source is None else self.source
        return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def collect(paths: Sequence[tuple[str, Path]], wanted: Wanted) -> Handed:
    """What the files and folders of one student come to; never raises for what is in them.

    Args:
        paths: each with the name that the student gave to it.
    """
    notes: list[str] = []
    file = ""
    try:
        files = Files(notes)
        for name, path in paths:
            files.add(name, path)
        if not files.found and not files.refused:
            raise Unusable("is empty")
        alone = len(paths) == 1 and list(files.found) == [paths[0][0]]
        found = files.unpacked()
        alone = alone and found.keys() == files.found.keys()  # a file, and no archive
        file, source = _choose(found, wanted, notes, alone, files.refused)
        return Handed(file, source, notes=_cut(notes))
    except Unusable as problem:
        return Handed(file, None, f"What you handed in {problem}", _cut(notes))


def _cut(notes: Sequence[str]) -> tuple[str, ...]:
    """A student can bring about as many notes, and as long ones, as they like."""
    more = [f"and {len(notes) - NOTES} more notes"] if len(notes) > NOTES else []
    shown = (note if len(note) <= NOTE else f"{note[: NOTE - 3]}..." for note in notes[:NOTES])
    return (*shown, *more)


def _choose(
    files: Mapping[str, Read],
    wanted: Wanted,
    notes: list[str],
    alone: bool,
    refused: Sequence[str],
) -> tuple[str, str]:
    """(name, text) of the file that counts."""
    ranks = {name: 0 if alone else _rank(name, wanted) for name in files}
    asked = f"{wanted.names[0]}.py or {wanted.names[0]}.ipynb"
    best = min((r for r in ranks.values() if r is not None), default=None)
    if best is None:
        why = f" ({'; '.join(refused[:3])})" if refused else ""
        raise Unusable(f"holds no {asked}{why}")
    first = [name for name in files if ranks[name] == best]
    depth = min(name.count("/") for name in first)
    first = sorted(name for name in first if name.count("/") == depth)
    modules = [name for name in first if name.lower().endswith(".py")]
    notebooks = [name for name in first if name not in modules]
    if len(modules) > 1 or len(notebooks) > 1:
        names = ", ".join(repr(printable(n)) for n in first[:4])
        raise Unusable(f"holds {len(first)} files that could be meant ({names}): hand in {asked}")
    name = (modules or notebooks)[0]
    text = _module(name, files[name](), wanted, notes)
    if modules and notebooks and wanted.stub and text.split() == wanted.stub.split():
        notes.append(f"{printable(name)!r} is as it was handed out: the notebook counts")
        name = notebooks[0]
        text = _module(name, files[name](), wanted, notes)
    if best:
        notes.append(f"{printable(name)!r} was taken for {asked}")
    others = [printable(n) for n in sorted(files) if n != name]
    if others:
        more = f" and {len(others) - 5} more" if len(others) > 5 else ""
        notes.append(f"{', '.join(others[:5])}{more}: ignored")
    return name, text


def _rank(name: str, wanted: Wanted) -> int | None:
    """0 for the name that was asked for, 1 for a renamed file, 2 for any other that could be."""
    base = name.rpartition("/")[2]
    names = "|".join(map(re.escape, wanted.names))
    if re.fullmatch(rf"({names})\.(py|ipynb)", base):
        return 0
    # Nothing is given back once it is taken, else a long name would be tried for years.
    added = r"(?:[ _.-]*+(?:\(\d++\)|copy|final|new|solution|v?\d++))*+"
    if re.fullmatch(rf"(my[ _-]?|copy of )?({names}){added}\.(py|ipynb)", base, re.I):
        return 1
    return None if _OURS.fullmatch(base) else 2


def _module(name: str, data: bytes, wanted: Wanted, notes: list[str]) -> str:
    if not name.lower().endswith(".ipynb"):
        if not looks_like_notebook(data):
            if len(data) > MODULE:
                raise Unusable(f"is larger than {MODULE >> 20} MB")
            return text_of(data)
        notes.append(f"{printable(name)!r} is a notebook, whatever its name says, and read as one")
    if len(data) > NOTEBOOK:
        raise Unusable(f"is a notebook larger than {NOTEBOOK >> 20} MB: clear its outputs")
    try:
        module = convert_apart(text_of(data), wanted.functions)
    except NotANotebook as error:
        raise Unusable(str(error)) from None
    notes += module.notes
    return module.source
