"""Find out who handed in what, from a folder or a download of Canvas, Moodle or Gradescope.

A file's name is taken apart only where it begins as the program writes it. The student chose the
rest, which is never looked at.
"""

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from fedlab_grade.classroom.matching import enrolled
from fedlab_grade.classroom.people import CANVAS, MOODLE, Person, distinct, tidy
from fedlab_grade.classroom.roster import read_roster
from fedlab_grade.limited import limited
from fedlab_grade.options import Refusal, extra
from fedlab_grade.textfile import Unusable, printable, read_regular, text_of

METADATA = 256 << 20  # bytes of Gradescope's, which holds old results too
GRADESCOPE = "submission_metadata.yml"
SECONDS = 120.0

# doejane_LATE_12345_67890_hw-1.py: the name, the student's number in Canvas, the upload's, the
# file. A text has no upload: doejane_12345_text.html.
_CANVAS = re.compile(
    r"(?P<name>.*?)_(?P<late>LATE_)?(?P<id>[0-9]+)_"
    r"(?:(?P<upload>[0-9]+)_(?P<file>.+)|(?P<text>(?:text|link)\.html))",
    re.DOTALL,
)
# Here the number is not the student's: anon_12345_67890_hw.py, doejane7_question_9_67890_hw.py.
_NO_NUMBER = re.compile(r"(LATE_)?anon|.*_question", re.DOTALL)
# Jane Doe_12345_assignsubmission_file_, a folder or the beginning of a file's name.
_MOODLE = re.compile(
    r"(?P<name>.*?)_(?P<id>[0-9]+)_assignsubmission_[a-z]+(?:_(?P<file>.*))?", re.DOTALL
)
_FORMS = {CANVAS: _CANVAS, MOODLE: _MOODLE}
# What file managers leave behind.
_STRAY = {"__macosx", "thumbs.db", "ehthumbs.db", "desktop.ini", "icon\r", "$recycle.bin"}
_NONE = ("", "~", "null")  # YAML's
_ENDINGS = re.compile(r"\.(py|ipynb|zip|tar|tar\.gz|tgz)$", re.IGNORECASE)


def people(folder: Path, roster: Path | None = None) -> list[Person]:
    """Return everyone who handed in and everyone of the roster, in its order, then by name.

    Args:
        roster: may lie in the folder.

    Raises:
        Refusal: there is no such folder or roster, or they cannot be read.
    """
    try:
        told = limited(lambda: _told(folder, roster), seconds=SECONDS)
    except Unusable as problem:
        raise Refusal(f"{folder}{f' or {roster}' if roster else ''} {problem}.") from None
    if isinstance(told, str):
        raise Refusal(told)
    return [_person(**one) for one in told]


def _told(folder: Path, roster: Path | None) -> str | list[dict[str, Any]]:
    """Return the people as JSON can have them; or why not."""
    try:
        found = handed_in(folder, roster)
        everyone = found if roster is None else enrolled(read_roster(roster), found)
    except Refusal as refusal:
        return str(refusal)
    return [asdict(one) | {"paths": [(n, str(p)) for n, p in one.paths]} for one in everyone]


def _person(paths: list[list[str]], ids: list[str], notes: list[str], **rest: Any) -> Person:
    given = tuple((name, Path(path)) for name, path in paths)
    return Person(**rest, ids=tuple(ids), notes=tuple(notes), paths=given)


def handed_in(folder: Path, roster: Path | None = None) -> list[Person]:
    """Return everyone who handed in, by name.

    Raises:
        Refusal: there is no such folder, or Gradescope's list in it cannot be read.
    """
    if not folder.is_dir():
        there = "is no folder: unpack it first" if folder.exists() else "does not exist"
        raise Refusal(f"{folder} {there}.")
    home = folder.resolve()
    ours = [home / GRADESCOPE, *([roster.resolve()] if roster else [])]
    names = sorted(p.name for p in folder.iterdir())
    names = [name for name in names if not _is_stray(name)]
    entries = [home / name for name in names if home / name not in ours]
    if (folder / GRADESCOPE).is_file():
        return _gradescope(folder / GRADESCOPE, entries)
    return _by_names(entries)


def _is_stray(name: str) -> bool:
    """Whether a program left it behind; a hidden module or archive may be a submission."""
    hidden = name.startswith("._") or (name[0] == "." and not _ENDINGS.search(name))
    return hidden or name.casefold() in _STRAY


@dataclass(frozen=True)
class _Said:
    """What the name of a file of Canvas's or Moodle's says.

    Fields:
        name: of the student, as raw as the file's; number: the program's own.
        file: as the student called it, "" where that is not said; upload: its number, 0 for none.
    """

    program: str
    name: str
    number: str
    file: str
    upload: int = 0
    late: bool = False


def _said(name: str) -> _Said | None:
    """Take a name apart at the first place where a program may have written it."""
    tries = ((program, pattern.fullmatch(name)) for program, pattern in _FORMS.items())
    found = [(len(match["name"]), program, match) for program, match in tries if match]
    if not found:
        return None
    _, program, match = min(found)
    if program == CANVAS and _NO_NUMBER.fullmatch(match["name"]):
        return None
    parts = match.groupdict()
    file = parts["file"] or parts.get("text") or ""
    if parts.get("upload"):  # a second upload of hw.py is called hw-1.py
        file = re.sub(r"-\d+(\.\w+)$", r"\1", file)
    upload = int((parts.get("upload") or "0")[:18])
    return _Said(program, parts["name"], parts["id"], file, upload, bool(parts.get("late")))


def _by_names(entries: Sequence[Path]) -> list[Person]:
    """Return who handed in, by the names of files and folders."""
    said = {path: _said(path.name) for path in entries}
    files: dict[object, set[str]] = {}
    for one in said.values():
        if one:
            files.setdefault((one.name, one.number, one.upload), set()).add(one.file)
    for path, one in said.items():
        # Two files of one number: no program wrote that, but hw_1_2_ann.py and hw_1_2_bob.py.
        if one and one.upload and len(files[one.name, one.number, one.upload]) > 1:
            said[path] = None
    marked = [_one(path, said[path]) for path in sorted(entries, key=lambda p: _order(p, said[p]))]
    return distinct(sorted(_merged(marked), key=lambda one: (one.name.casefold(), one.key)))


def _order(path: Path, said: _Said | None) -> tuple[int, int, str]:
    """Return a key that sorts later uploads to Canvas last, and hw-10.py behind hw-9.py."""
    version = re.search(r"-(\d{1,9})\.\w+$", path.name) if said and said.upload else None
    return said.upload if said else 0, int(version[1]) if version else 0, path.name


def _one(path: Path, said: _Said | None) -> tuple[object, Person]:
    """Return what tells whose a file or folder is, and who that is as far as its name says."""
    shown = path.name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if said is None:
        key, label = _label(_ENDINGS.sub("", path.name))
        return key, Person(key, label, (), ((shown, path),))
    _, label = _label(said.name)
    given = ((printable(said.file, 255) or shown, path),)
    name, ids = label or f"no name ({said.number})", (said.program + said.number,)
    mark = (said.program, said.number, said.name)
    return mark, Person(said.number, name, ids, given, said.late)


def _label(name: str) -> tuple[str, str]:
    """Return a key and a name that can be printed."""
    label = printable(name, 200)
    # Two names may look alike once they can be printed: old Windows' Müller and Möller do.
    mark = hashlib.sha256(os.fsencode(name)).hexdigest()[:8]
    return label if label == name else f"{label} #{mark}", label


def _merged(found: Iterable[tuple[object, Person]]) -> list[Person]:
    """Return one person for all with the same mark."""
    out: dict[object, Person] = {}
    for mark, one in found:
        seen = out.get(mark, replace(one, paths=(), notes=()))
        notes = tuple(dict.fromkeys([*seen.notes, *one.notes]))
        late = seen.late or one.late
        out[mark] = replace(seen, paths=seen.paths + one.paths, late=late, notes=notes)
    return list(out.values())


def _gradescope(metadata: Path, entries: Sequence[Path]) -> list[Person]:
    """Return the students of each folder, and those that Gradescope lists without a folder.

    Raises:
        Refusal: Gradescope's list cannot be read, or is none.
    """
    yaml = extra("yaml")
    # Texts only: else 0123 would be another number, and "no" no name.
    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        about = yaml.load(text_of(read_regular(metadata, METADATA)), Loader=loader)
    except (Unusable, yaml.YAMLError, RecursionError) as error:
        raise Refusal(f"{metadata} cannot be read: {str(error).splitlines()[0]}.") from None
    if not isinstance(about, Mapping):
        raise Refusal(f"{metadata} holds no list of submissions: export them once more.")
    left = dict(about)
    found: list[tuple[object, Person]] = []
    for path in entries:
        who = list(_submitters(left.pop(path.name, None)))
        found += [(_account(one), replace(one, paths=((path.name, path),))) for one in who]
        if not who:
            found.append(_one(path, None))
    for folder, one in left.items():
        note = f"in Gradescope's list, but there is no folder {printable(folder)!r}"
        found += [(_account(who), replace(who, notes=(note,))) for who in _submitters(one)]
    return distinct(map(_settled, _merged(found)))


def _account(one: Person) -> object:
    """Return what is the same in two submissions of one student; a name alone is not."""
    return (one.name, one.ids) if one.ids else object()


def _settled(one: Person) -> Person:
    """Note several submissions; drop a note on a missing folder where there is another."""
    if not one.paths:
        return one
    names = ", ".join(repr(printable(name)) for name, _ in one.paths)
    note = (f"is in several submissions: {names}",) if len(one.paths) > 1 else ()
    return replace(one, notes=note)


def _submitters(about: object) -> Iterator[Person]:
    """Yield everyone of a group; Gradescope's keys begin with a colon."""
    if not isinstance(about, Mapping):
        return
    team = about.get(":submitters", about.get("submitters"))
    for one in team if isinstance(team, list) else []:
        if isinstance(one, Mapping):
            texts = {key: tidy(text) for key, text in one.items() if isinstance(text, str)}
            parts = {str(key).lstrip(":"): text for key, text in texts.items()}
            ids = tuple(i for key in ("sid", "email") if (i := parts.get(key, "")) not in _NONE)
            if name := parts.get("name") or next(iter(ids), ""):
                yield Person(ids[0] if ids else name, name, ids)
