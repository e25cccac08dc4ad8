"""Match the files of a folder, or a download of Canvas, Moodle or Gradescope, to students.

A file's name is taken apart only where it begins as the program writes it. The student chose the
rest, which is never looked at.
"""

import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

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

_Listed = tuple[str, str, list[str]]  # folder, name and ids of someone in Gradescope's list


def people(folder: Path, roster: Path | None = None) -> list[Person]:
    """Return the students of the roster, in its order, and everyone else who handed in.

    Args:
        roster: may lie in the folder.
    """
    if not folder.is_dir():
        there = "is no folder: unpack it first" if folder.exists() else "does not exist"
        raise Refusal(f"{folder} {there}.")
    home = folder.resolve()
    ours = [home / GRADESCOPE, *([roster.resolve()] if roster else [])]
    names = sorted(p.name for p in folder.iterdir() if not _is_stray(p.name))
    entries = [home / name for name in names if home / name not in ours]
    metadata = folder / GRADESCOPE
    found = distinct(_gradescope(metadata, entries) if metadata.is_file() else _named(entries))
    return found if roster is None else enrolled(read_roster(roster), found)


def _is_stray(name: str) -> bool:
    """Return whether a program left a file; a hidden module or archive may be a submission."""
    hidden = name.startswith("._") or (name[0] == "." and not _ENDINGS.search(name))
    return hidden or name.casefold() in _STRAY


def _named(entries: Iterable[Path]) -> list[Person]:
    """Return the people whom files and folders are called after, by name."""
    forms = {path: _form(path.name) for path in entries}
    # Two files of one upload: no program wrote that, but hw_1_2_ann.py and hw_1_2_bob.py.
    files = {(_upload(form), form["file"]) for form in forms.values() if form}
    times = Counter(upload for upload, _ in files)
    found: dict[tuple[str, str], Person] = {}
    for path, form in sorted(forms.items(), key=_order):
        if form and not (form["upload"] and times[_upload(form)] > 1):
            number = form["canvas"] or form["moodle"]
            mark = (f"{CANVAS if form['canvas'] else MOODLE}{number}", form["name"])
            called = _label(form["name"])[1] or f"no name ({number})"
            one = Person(number, called, mark[:1], late=bool(form["late"]))
        else:
            form, mark = {}, ("", _ENDINGS.sub("", path.name) or path.name)
            one = Person(*_label(mark[1]))
        file = printable(form.get("file") or path.name, 255)
        seen = found.get(mark, one)
        paths = (*seen.paths, (file, path))
        found[mark] = replace(seen, paths=paths, late=seen.late or one.late)
    return sorted(found.values(), key=lambda one: (one.name.casefold(), one.key))


def _form(name: str) -> dict[str, str]:
    """Take a name apart at the first place where a program may have written it; {} if nowhere."""
    match = _FORM.fullmatch(name)
    if not match or (match["canvas"] and _NO_NUMBER.fullmatch(match["name"])):
        return {}
    parts = match.groupdict("")
    file = parts["file"] or parts["text"] or parts["rest"]
    if parts["upload"]:  # a second upload of hw.py is called hw-1.py
        file = re.sub(r"-\d+(\.\w+)$", r"\1", file)
    return parts | {"file": file}


def _upload(form: dict[str, str]) -> tuple[str, ...]:
    return form["name"], form["canvas"], form["upload"]


def _order(entry: tuple[Path, dict[str, str]]) -> tuple[int, int, str]:
    """Return a key that sorts later uploads to Canvas last, and hw-10.py behind hw-9.py."""
    name, upload = entry[0].name, entry[1].get("upload", "")
    version = re.search(r"-(\d{1,9})\.\w+$", name) if upload else None
    return int(upload[:18] or 0), int(version[1]) if version else 0, name


def _label(name: str) -> tuple[str, str]:
    """Return a key and a name that can be printed."""
    label = printable(name, 200)
    # Two names may look alike once they can be printed: old Windows' Müller and Möller do.
    mark = hashlib.sha256(os.fsencode(name)).hexdigest()[:8]
    return label if label == name else f"{label} #{mark}", label


def _gradescope(metadata: Path, entries: Sequence[Path]) -> list[Person]:
    """Return everyone in Gradescope's list, who may have no folder, and the folders of no one."""
    try:
        listed: list[_Listed] = limited(_submitters, metadata, seconds=SECONDS)
    except Unusable as problem:
        raise Refusal(f"{metadata} {problem}.") from None
    there = {path.name: path for path in entries}
    found: dict[object, Person] = {}
    for folder, name, ids in listed:
        mark = (name, *ids) if ids else object()  # of one name alone there may be several
        one = found.get(mark, Person(ids[0] if ids else name, name, tuple(ids)))
        if folder in there:
            found[mark] = replace(one, paths=(*one.paths, (folder, there[folder])))
        else:
            missing = f"in Gradescope's list, but there is no folder {printable(folder)!r}"
            found[mark] = one.noted(missing)
    out = []
    for one in found.values():
        names = ", ".join(repr(printable(name)) for name, _ in one.paths)
        several = (f"is in several submissions: {names}",) if len(one.paths) > 1 else ()
        out.append(replace(one, notes=several) if one.paths else one)
    known = {folder for folder, _, _ in listed}
    return [*out, *_named(path for path in entries if path.name not in known)]


def _submitters(metadata: Path) -> list[_Listed]:
    """Return everyone in the group of each folder; Gradescope's keys begin with a colon.

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
    out: list[_Listed] = []
    for folder, one in about.items():
        team = one.get(":submitters", one.get("submitters")) if isinstance(one, dict) else None
        for who in team if isinstance(team, list) else []:
            pairs = who.items() if isinstance(who, dict) else ()
            texts = {str(k).lstrip(":"): tidy(v) for k, v in pairs if isinstance(v, str)}
            ids = [i for key in ("sid", "email") if (i := texts.get(key, "")) not in _NONE]
            if name := texts.get("name") or "".join(ids[:1]):
                out.append((folder, name, ids))
    return out
