"""Find out who handed in what, from a folder or a download of Canvas, Moodle or Gradescope.

A file's name is taken apart only where it begins as the program writes it. The student chose the
rest, which is never looked at.
"""

import hashlib
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fedlab_grade.classroom.people import CANVAS, MOODLE, Person, distinct, enrolled, tidy
from fedlab_grade.classroom.roster import read_roster
from fedlab_grade.limited import limited
from fedlab_grade.options import Refusal, extra
from fedlab_grade.textfile import Unusable, printable, read_regular, text_of

METADATA = 256 << 20  # bytes of Gradescope's, which holds old results too
GRADESCOPE = "submission_metadata.yml"
SECONDS = 120.0

# Canvas: doejane_LATE_12345_67890_hw-1.py (name, number of the student and of the upload, file);
# a text has no upload: doejane_12345_text.html. Moodle: Jane Doe_12345_assignsubmission_file_, a
# folder or the beginning of a file's name.
_FORM = re.compile(
    r"(?P<name>.*?)_(?:(?P<late>LATE_)?(?P<canvas>[0-9]+)_"
    r"(?:(?P<upload>[0-9]+)_(?P<file>.+)|(?P<text>(?:text|link)\.html))"
    r"|(?P<moodle>[0-9]+)_assignsubmission_[a-z]+(?:_(?P<rest>.*))?)",
    re.DOTALL,
)
# In a quiz, or without names, that number is not the student's.
_NO_NUMBER = re.compile(r"(LATE_)?anon|.*_question", re.DOTALL)
# What file managers leave behind.
_STRAY = {"__macosx", "thumbs.db", "ehthumbs.db", "desktop.ini", "icon\r", "$recycle.bin"}
_NONE = ("", "~", "null")  # YAML's
_ENDINGS = re.compile(r"\.(py|ipynb|zip|tar|tar\.gz|tgz)$", re.IGNORECASE)

_Said = dict[str, str]  # the parts of a name, "" for those that are not there


def people(folder: Path, roster: Path | None = None) -> list[Person]:
    """Return everyone who handed in and everyone of the roster, in its order, then by name.

    Args:
        roster: may lie in the folder.
    """
    found = handed_in(folder, roster)
    return found if roster is None else enrolled(read_roster(roster), found)


def handed_in(folder: Path, roster: Path | None = None) -> list[Person]:
    """Return everyone who handed in, by name."""
    if not folder.is_dir():
        there = "is no folder: unpack it first" if folder.exists() else "does not exist"
        raise Refusal(f"{folder} {there}.")
    home = folder.resolve()
    ours = [home / GRADESCOPE, *([roster.resolve()] if roster else [])]
    names = sorted(p.name for p in folder.iterdir())
    entries = [home / n for n in names if not _is_stray(n) and home / n not in ours]
    if (folder / GRADESCOPE).is_file():
        return _gradescope(folder / GRADESCOPE, entries)
    said = {path: _parts(path.name) for path in entries}
    files: dict[object, set[str]] = {}
    for one in said.values():
        files.setdefault(_upload(one), set()).add(one.get("file", ""))
    for path, one in said.items():
        # Two files of one number: no program wrote that, but hw_1_2_ann.py and hw_1_2_bob.py.
        if one.get("upload") and len(files[_upload(one)]) > 1:
            said[path] = {}
    marked = [_one(path, said[path]) for path in sorted(entries, key=lambda p: _order(p, said[p]))]
    return distinct(sorted(_merged(marked), key=lambda one: (one.name.casefold(), one.key)))


def _is_stray(name: str) -> bool:
    """Whether a program left it behind; a hidden module or archive may be a submission."""
    hidden = name.startswith("._") or (name[0] == "." and not _ENDINGS.search(name))
    return hidden or name.casefold() in _STRAY


def _parts(name: str) -> _Said:
    """Take a name apart at the first place where a program may have written it."""
    match = _FORM.fullmatch(name)
    if not match or (match["canvas"] and _NO_NUMBER.fullmatch(match["name"])):
        return {}
    parts = match.groupdict("")
    file = parts["file"] or parts["text"] or parts["rest"]
    if parts["upload"]:  # a second upload of hw.py is called hw-1.py
        file = re.sub(r"-\d+(\.\w+)$", r"\1", file)
    return parts | {"file": file}


def _upload(said: _Said) -> object:
    return tuple(said.get(part) for part in ("name", "canvas", "upload"))


def _order(path: Path, said: _Said) -> tuple[int, int, str]:
    """Return a key that sorts later uploads to Canvas last, and hw-10.py behind hw-9.py."""
    upload = said.get("upload", "")
    version = re.search(r"-(\d{1,9})\.\w+$", path.name) if upload else None
    return int(upload[:18] or 0), int(version[1]) if version else 0, path.name


def _one(path: Path, said: _Said) -> tuple[object, Person]:
    """Return what is the same in all files of one student, and the student of this one."""
    shown = path.name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if not said:
        key, label = _label(_ENDINGS.sub("", path.name))
        return key, Person(key, label, (), ((shown, path),))
    number = said["canvas"] or said["moodle"]
    own = f"{CANVAS if said['canvas'] else MOODLE}{number}"
    name = _label(said["name"])[1] or f"no name ({number})"
    given = ((printable(said["file"], 255) or shown, path),)
    return (own, said["name"]), Person(number, name, (own,), given, bool(said["late"]))


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
    """Return the students of each folder, and those that Gradescope lists without a folder."""
    try:
        left = limited(_submitters, metadata, seconds=SECONDS)
    except Unusable as problem:
        raise Refusal(f"{metadata} {problem}.") from None
    found: list[tuple[object, Person]] = []
    for path in entries:
        team = left.pop(path.name, [])
        found += (_submitter(*who, paths=((path.name, path),)) for who in team)
        found += [] if team else [_one(path, {})]
    for folder, team in left.items():
        note = f"in Gradescope's list, but there is no folder {printable(folder)!r}"
        found += (_submitter(*who, notes=(note,)) for who in team)
    out = []
    for one in _merged(found):
        names = ", ".join(repr(printable(name)) for name, _ in one.paths)
        several = (f"is in several submissions: {names}",) if len(one.paths) > 1 else ()
        out.append(replace(one, notes=several) if one.paths else one)
    return distinct(out)


def _submitters(metadata: Path) -> dict[str, list[tuple[str, list[str]]]]:
    """Return folder -> name and ids of everyone in its group; Gradescope's keys begin with a colon.

    Raises:
        Unusable: it cannot be read, or is no list of submissions.
    """
    yaml = extra("yaml")
    try:  # texts only: else 0123 would be another number, and "no" no name
        loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
        about = yaml.load(text_of(read_regular(metadata, METADATA)), Loader=loader)
    except (yaml.YAMLError, RecursionError) as error:
        raise Unusable(f"cannot be read: {str(error).splitlines()[0]}") from None
    if not isinstance(about, dict):
        raise Unusable("holds no list of submissions: export them once more")
    out: dict[str, list[tuple[str, list[str]]]] = {}
    for folder, one in about.items():
        team = one.get(":submitters", one.get("submitters")) if isinstance(one, dict) else None
        out[folder] = []
        for who in team if isinstance(team, list) else []:
            pairs = who.items() if isinstance(who, dict) else ()
            texts = {str(k).lstrip(":"): tidy(v) for k, v in pairs if isinstance(v, str)}
            ids = [i for key in ("sid", "email") if (i := texts.get(key, "")) not in _NONE]
            if name := texts.get("name") or "".join(ids[:1]):
                out[folder].append((name, ids))
    return out


def _submitter(name: str, ids: Sequence[str], **more: Any) -> tuple[object, Person]:
    """Return what all submissions of one student share, which a name is not, and the student."""
    mark = (name, tuple(ids)) if ids else object()
    return mark, Person(ids[0] if ids else name, name, tuple(ids), **more)
