"""Read what one student handed in: the text of one module, and notes on what was left out.

Nothing is run, unpacked to the disk, or looked up through a link. One file counts, by a rule that
does not depend on the disk: the one with the name that was asked for, else a renamed one, else the
only one; the one in the fewest folders; the module rather than the notebook. A file without an
answer gives way to one with an answer. `take` works in a process with limits of time and memory.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from fedlab_grade.classroom.unpack import Files, Read
from fedlab_grade.limited import limited
from fedlab_grade.notebook import Module, module_of, written
from fedlab_grade.textfile import Unusable, printable, some

SHOWN = 4  # files in a message
NOTES, NOTE = 20, 300  # notes on one submission, and characters of one

# They are never meant as an answer, whatever else is there.
_OURS = re.compile(r"(test_.*|.*_test|conftest|sitecustomize|usercustomize|setup)\.py", re.I)


@dataclass(frozen=True)
class Wanted:
    """The file that an assignment asks for.

    Fields:
        names: of the file, without its ending; the first one is told to the student.
        functions: what the file should define.
        stub: the file as it was handed out; "" where that is not known.
    """

    names: tuple[str, ...]
    functions: tuple[str, ...] = ()
    stub: str = ""

    @property
    def asked(self) -> str:
        """The names of the file, for a message."""
        return f"{self.names[0]}.py or {self.names[0]}.ipynb"


@dataclass(frozen=True)
class Handed:
    """A student's submission: the text of a module, or the problem that there is none.

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


def take(paths: Sequence[tuple[str, Path]], wanted: Wanted) -> Handed:
    """Read the files and folders of one student, in a process with limits of time and memory."""
    try:
        found = limited(lambda: asdict(collect(paths, wanted)))
    except Unusable as problem:
        return Handed(problem=f"What you handed in {problem}")
    return Handed(**found | {"notes": tuple(found["notes"])})


def collect(paths: Sequence[tuple[str, Path]], wanted: Wanted) -> Handed:
    """Read the files and folders of one student; never raise for what is in them.

    Args:
        paths: each with the name that the student gave to it.
    """
    notes: list[str] = []
    try:
        files = Files(notes)
        for name, path in paths:
            files.add(name, path)
        if not files.found and not files.refused:
            raise Unusable(f"is empty: hand in {wanted.asked}")
        alone = paths[0][0] if len(paths) == 1 else ""
        sources = files.sources(lambda name: _rank(name, wanted, alone) in (0, 1))
        ranks = {n: r for n in sorted(sources) if (r := _rank(n, wanted, alone)) is not None}
        if not ranks:
            raise Unusable(f"holds no {wanted.asked}{_instead(files.refused, sorted(files.found))}")
        file, source = _choose(sources, ranks, wanted, notes)
        return Handed(file, source, notes=_cut(notes))
    except Unusable as problem:
        return Handed("", None, f"What you handed in {problem}", _cut(notes))


def _cut(notes: Sequence[str]) -> tuple[str, ...]:
    """Return at most NOTES notes, each of at most NOTE characters."""
    left = len(notes) - NOTES
    more = [f"and {left} more note{'s' if left > 1 else ''}"] if left > 0 else []
    return (*(printable(note, NOTE) for note in notes[:NOTES]), *more)


def _choose(
    sources: Mapping[str, Read], ranks: Mapping[str, int], wanted: Wanted, notes: list[str]
) -> tuple[str, str]:
    """Return name and text of the file that counts; add notes.

    Args:
        ranks: of the files that could be meant.

    Raises:
        Unusable: several could be meant, or it cannot be read.
    """
    given = written(wanted.stub)
    todo = [n for n in wanted.functions if n not in given] or wanted.functions
    keys = {n: (r, n.count("/"), n.lower().endswith(".ipynb")) for n, r in ranks.items()}

    @cache
    def read(name: str) -> Module:
        try:
            return module_of(name, sources[name](), todo, wanted.names)
        except Unusable as problem:
            raise Unusable(f"holds {printable(name)!r}, which {problem}") from None

    def answered(name: str) -> bool:
        """Return whether a file defines something that is asked for and is no stub."""
        try:
            found = written(read(name).source)
        except Unusable:
            return ranks[name] < 2  # its author should know
        return bool(found.intersection(todo or found))

    usual = [n for n in keys if keys[n] == min(keys.values())]
    good = {n: key for n, key in keys.items() if len(keys) == 1 or answered(n)}
    chosen = [n for n in good if good[n] == min(good.values())] or usual
    if len(chosen) > 1:
        names = ", ".join(repr(printable(n)) for n in chosen[:SHOWN])
        many = f"holds {len(chosen)} files that could be meant ({names})"
        raise Unusable(f"{many}: hand in {wanted.asked}")
    name, shown = chosen[0], repr(printable(chosen[0]))
    passed = [n for n in usual[:SHOWN] if n not in chosen]
    notes += [f"{printable(n)!r} holds no answer: {shown} counts" for n in passed]
    module = read(name)
    notes += module.notes
    if ranks[name]:
        notes.append(f"{shown} was taken for {wanted.asked}")
    if others := [printable(n) for n in sorted(sources) if n != name]:
        notes.append(f"{some(others, 5)}: ignored")
    return name, module.source


def _instead(refused: Sequence[str], there: Sequence[str]) -> str:
    """Return the files that are there instead of the one asked for, to follow its name."""
    if refused:
        return f" ({'; '.join(refused[:3])})"
    nearly = [name for name in there if re.search(r"\.(py\.txt|pyw|py~|ipynb\.(txt|json))$", name)]
    names = some([repr(printable(name)) for name in nearly or there], 3)
    return f" but {names}{': rename it' if len(nearly) == 1 else ''}" if names else ""


def _rank(name: str, wanted: Wanted, alone: str) -> int | None:
    """Return 0 for the name that was asked for, 1 for a renamed file, 2 for any other candidate.

    Args:
        alone: the one file that was handed in, which may have any name; "" where there are more.
    """
    base = name.rpartition("/")[2]
    names = "|".join(map(re.escape, wanted.names))
    if name == alone or re.fullmatch(rf"({names})\.(py|ipynb)", base):
        return 0
    # Nothing is given back once it is taken, else a long name would be tried for years.
    added = r"(?:[ _.-]*+(?:\(\d++\)|copy|final|new|solution|v?\d++))*+"
    if re.fullmatch(rf"(my[ _-]?|copy of )?({names}){added}\.(py|ipynb)", base, re.I):
        return 1
    return None if _OURS.fullmatch(base) else 2
