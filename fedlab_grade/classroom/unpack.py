"""Find the files of one student in folders and archives, without unpacking them to the disk.

Nothing is written, no link is followed, and no more is read than an honest student hands in.
"""

import io
import os
import re
import stat
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from gzip import GzipFile
from pathlib import Path
from typing import IO

from fedlab_grade.notebook import NOTEBOOK
from fedlab_grade.textfile import Unusable, printable, read_regular

ARCHIVE = 20 << 20  # of an archive, and of all that is unpacked from a tar
ENTRIES = 2000  # in all folders, or in an archive
DEPTH = 6  # of folders in folders

SOURCES = (".py", ".ipynb")
ZIPS, TARS = (".zip",), (".tar", ".tar.gz", ".tgz")
OTHER_ARCHIVES = (".rar", ".7z", ".tar.bz2", ".tar.xz", ".gz", ".xz", ".bz2")

# Hidden folders (.git, .venv) and what programs put into folders of their own.
_JUNK = re.compile(
    r"(^|/)(__MACOSX|__pycache__|venv|site-packages|node_modules|\.[^./][^/]*)/|(^|/)\.[^/]*$"
)

LESS = ": leave out data and outputs"
ALONE = "pack your own file alone"
LOCKED = "a zip with a password: hand it in without"
BROKEN_OFF = "did the upload break off? Hand it in again"

Read = Callable[[], bytes]
# An entry of an archive: name, what it is if it is no ordinary file, and what opens it.
_Entry = tuple[str, str, Callable[[], IO[bytes] | None]]


@dataclass
class Files:
    """The files of one student, those in archives included once they are needed."""

    notes: list[str]
    found: dict[str, Read] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)  # why some names are of no use
    seen: int = 0  # entries of folders

    def add(self, name: str, path: Path, depth: int = 0) -> None:
        """Add a file, or the files of a folder.

        Raises:
            Unusable: there are too many.
        """
        try:
            mode = os.lstat(path).st_mode
            inside = sorted(os.listdir(path)) if stat.S_ISDIR(mode) else []
        except OSError as error:
            self.refuse(name, f"cannot be opened ({error.strerror})")
            return
        if stat.S_ISREG(mode):
            self._put(self.found, name, partial(read_regular, path, ARCHIVE, LESS))
        elif not stat.S_ISDIR(mode):
            self.refuse(name, "is a link" if stat.S_ISLNK(mode) else "is not an ordinary file")
        elif depth and name.lower().endswith(SOURCES):
            self.refuse(name, "is a folder, not a file")
        elif depth >= DEPTH:
            self.refuse(name, "lies in too many folders")
        else:
            folders = {entry for entry in inside if (path / entry).is_dir()}
            inside = [e for e in inside if not _JUNK.search(f"{e}/" if e in folders else e)]
            self.seen += len(inside)
            if self.seen > ENTRIES:
                where = f"the folder {printable(name)!r}" if depth else "its folder"
                most = f"has more than {ENTRIES} files, {len(inside)} of them in {where}"
                raise Unusable(f"{most}: hand in your own file alone")
            for entry in inside:
                self.add(f"{name}/{entry}" if depth else entry, path / entry, depth + 1)

    def refuse(self, name: str, why: str) -> None:
        self.refused.append(f"{printable(name)!r} {why}")
        self.notes.append(f"{printable(name)!r} {why}: ignored")

    def _put(self, place: dict[str, Read], name: str, read: Read) -> None:
        if name in place:
            self.notes.append(f"{printable(name)!r} is there twice: the last one counts")
        place[name] = read

    def sources(self, asked: Callable[[str], bool]) -> dict[str, Read]:
        """Return modules and notebooks: the loose ones, and those in archives if need be.

        Args:
            asked: whether a name is one that was asked for.
        """
        out = {n: read for n, read in self.found.items() if n.lower().endswith(SOURCES)}
        packed = [n for n in self.found if n.lower().endswith(ZIPS + TARS)]
        other = [n for n in self.found if n.lower().endswith(OTHER_ARCHIVES) and n not in packed]
        self.refused += [f"{printable(n)!r}: pack it as .zip or .tar.gz" for n in other]
        if any(map(asked, out)):
            self.notes += [f"{printable(n)!r} was not opened" for n in packed]
            return out
        for name in packed:
            try:
                self._open(name, out)
            except Unusable as problem:
                self.refuse(name, str(problem))
        return out

    def _open(self, archive: str, out: dict[str, Read]) -> None:
        """Add the modules and notebooks of an archive, as if it were a folder."""
        kind, read = ("zip", _zip) if archive.lower().endswith(ZIPS) else ("tar", _tar)
        data = self.found[archive]()
        try:
            entries = [entry for entry in read(data) if not _JUNK.search(entry[0])]
        except Unusable:
            raise
        except Exception:  # a hostile file makes the libraries raise whatever there is
            raise Unusable(f"is not a readable {kind} file: {BROKEN_OFF}") from None
        if len(entries) > ENTRIES:
            many = f"{len(entries)} entries; at most {ENTRIES} are read"
            raise Unusable(f"is a {kind} with {many}: {ALONE}")
        for name, odd, opened in entries:
            if name.startswith("/") or ".." in name.split("/") or re.match("[A-Za-z]:", name):
                self.refuse(name, "points out of its folder")
            elif odd:
                self.refuse(name, f"is {odd}")
            elif name.lower().endswith(ZIPS + TARS):
                self.refused.append("an archive is in the archive: unpack it once more")
            elif name.lower().endswith(SOURCES):
                self._put(out, f"{archive}/{name}", partial(_content, opened))


def _zip(data: bytes) -> list[_Entry]:
    if not data.startswith(b"PK"):
        raise Unusable("is no zip file, whatever its name says: hand in your file as it is")
    archive = zipfile.ZipFile(io.BytesIO(data))
    entries = archive.infolist()
    files = [entry for entry in entries if not entry.is_dir()]
    if files and all(entry.flag_bits & 1 for entry in files):
        raise Unusable(f"is {LOCKED}")

    def odd(entry: zipfile.ZipInfo) -> str:
        if stat.S_ISLNK(entry.external_attr >> 16):
            return "a link"
        if entry.flag_bits & 1:
            return f"in {LOCKED}"
        plain = entry.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
        return "" if plain or entry.is_dir() else "packed in a way that is not read"

    return [(e.filename.replace("\\", "/"), odd(e), partial(archive.open, e)) for e in entries]


def _tar(data: bytes) -> list[_Entry]:
    if data[:2] == b"\x1f\x8b":
        data = GzipFile(fileobj=io.BytesIO(data)).read(ARCHIVE + 1)
    if len(data) > ARCHIVE:
        raise Unusable(f"is larger than {ARCHIVE >> 20} MB when it is unpacked: {ALONE}")
    archive = tarfile.TarFile(fileobj=io.BytesIO(data))
    strange = "a link, a device or a file with holes"
    return [
        (e.name, "" if e.isreg() and not e.issparse() else strange, partial(archive.extractfile, e))
        for e in archive
        if not e.isdir()
    ]


def _content(opened: Callable[[], IO[bytes] | None]) -> bytes:
    """Return the content of an entry of an archive."""
    try:
        with opened() or io.BytesIO() as file:
            data = file.read(NOTEBOOK + 1)
    except Exception:  # as in `_open`
        raise Unusable("is damaged in its archive: pack it again") from None
    if len(data) > NOTEBOOK:
        raise Unusable(f"is larger than {NOTEBOOK >> 20} MB{LESS}")
    return data
