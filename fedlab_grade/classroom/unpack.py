"""Find the files of one student in folders and archives, without unpacking them to the disk.

Nothing is written, no link is followed, and no more is read than an honest student hands in.
"""

import io
import os
import re
import stat
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from gzip import GzipFile
from pathlib import Path
from typing import Any

from fedlab_grade.notebook.module import NOTEBOOK
from fedlab_grade.textfile import Unusable, about, printable, read_regular

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
BROKEN_OFF = "did the upload break off? Hand it in again"

Read = Callable[[], bytes]


@dataclass
class Files:
    """The files of one student, those in archives included once they are needed."""

    notes: list[str]
    found: dict[str, Read] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)  # why some names are of no use
    seen: int = 0  # entries of folders

    def add(self, name: str, path: Path, depth: int = 0) -> None:
        try:
            mode = os.lstat(path).st_mode
        except OSError as error:
            self.refuse(name, f"cannot be opened ({error.strerror})")
            return
        if stat.S_ISREG(mode):
            if name in self.found:
                self.notes.append(f"{printable(name)!r} is there twice: the last one counts")
            self.found[name] = partial(read_regular, path, ARCHIVE, LESS)
        elif not stat.S_ISDIR(mode):
            kind = "a link" if stat.S_ISLNK(mode) else "not an ordinary file"
            self.refuse(name, f"is {kind}")
        elif depth and name.lower().endswith(SOURCES):
            self.refuse(name, "is a folder, not a file")
        elif depth >= DEPTH:
            self.refuse(name, "lies in too many folders")
        else:
            try:
                inside = [
                    entry
                    for entry in sorted(os.listdir(path))
                    if not _JUNK.search(f"{entry}/" if (path / entry).is_dir() else entry)
                ]
            except OSError as error:
                self.refuse(name, f"cannot be opened ({error.strerror})")
                return
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

    def unpacked(self, rank: Callable[[str], int | None]) -> dict[str, Read]:
        """Return modules and notebooks: the loose ones, and those in the only archive if need be.

        Args:
            rank: of a name; 0 or 1 for one that was asked for, None for one that is never meant.
        """
        plain = {n: read for n, read in self.found.items() if n.lower().endswith(SOURCES)}
        packed = [n for n in self.found if n.lower().endswith(ZIPS + TARS)]
        best = min((r for r in map(rank, plain) if r is not None), default=None)
        if best is None:
            return plain | self._only_archive(packed)
        if best > 1 and len(packed) == 1:  # the answer may be in it, and these its helpers
            told = len(self.notes), len(self.refused)
            try:
                inside = self._open(packed[0])
            except Unusable as problem:
                self.notes.append(f"what you handed in {problem}: ignored")
                return plain
            if any(rank(n) in (0, 1) for n in inside):
                return inside | plain
            del self.notes[told[0] :], self.refused[told[1] :]
        self.notes += [f"{printable(n)!r} was not opened" for n in packed]
        return plain

    def _only_archive(self, packed: list[str]) -> dict[str, Read]:
        if len(packed) > 1:
            names = ", ".join(repr(printable(n)) for n in packed[:4])
            raise Unusable(f"holds {len(packed)} archives ({names}): hand in one")
        if packed:
            return self._open(packed[0])
        if other := [n for n in self.found if n.lower().endswith(OTHER_ARCHIVES)]:
            raise Unusable(f"holds {printable(other[0])!r}: pack it as .zip or .tar.gz")
        return {}

    def _open(self, name: str) -> dict[str, Read]:
        unpack = _zip if name.lower().endswith(ZIPS) else _tar
        with about(name):
            return unpack(self.found[name](), self)


def _zip(data: bytes, files: Files) -> dict[str, Read]:
    out: dict[str, Read] = {}
    if not data.startswith(b"PK"):
        raise Unusable("is no zip file, whatever its name says: hand in your file as it is")
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        entries = archive.infolist()
    except Exception:  # a hostile file makes the library raise whatever there is
        raise Unusable(f"is not a readable zip file: {BROKEN_OFF}") from None
    named = [(entry, entry.filename.replace("\\", "/")) for entry in entries]
    named = [(entry, name) for entry, name in named if not _JUNK.search(name)]
    if len(named) > ENTRIES:
        raise Unusable(f"is a zip with {len(named)} entries; at most {ENTRIES} are read: {ALONE}")
    for entry, name in named:
        link = stat.S_ISLNK(entry.external_attr >> 16)
        if _of_use(name, "a link" if link else "", files):
            if entry.flag_bits & 1:
                raise Unusable("is a zip with a password: hand it in without")
            if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                files.refuse(name, "is packed in a way that is not read")
                continue
            _twice(name, out, files)
            out[name] = partial(_from_zip, archive, entry)
    return out


def _from_zip(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    try:
        with archive.open(entry) as file:
            return _limited(file)
    except Unusable:
        raise
    except Exception:
        raise Unusable("is damaged in its zip: pack it again") from None


def _tar(data: bytes, files: Files) -> dict[str, Read]:
    out: dict[str, Read] = {}
    packed = io.BytesIO(data)
    stream = GzipFile(fileobj=packed) if data[:2] == b"\x1f\x8b" else packed
    tap: Any = _Tap(stream)
    try:
        with tarfile.open(fileobj=tap, mode="r|") as archive:
            number = 0
            for entry in archive:
                if _JUNK.search(entry.name):
                    continue
                number += 1
                if number > ENTRIES:
                    raise Unusable(f"is a tar with more than {ENTRIES} entries: {ALONE}")
                plain = entry.isreg() and not entry.issparse()
                odd = "" if plain else "a link, a device or a file with holes"
                if not entry.isdir() and _of_use(entry.name, odd, files):
                    file = archive.extractfile(entry)
                    assert file is not None
                    with about(entry.name):
                        content = _limited(file)
                    _twice(entry.name, out, files)
                    out[entry.name] = partial(bytes, content)
    except Unusable:
        raise
    except Exception:  # as in `_zip`
        raise Unusable(f"is not a readable tar file: {BROKEN_OFF}") from None
    return out


class _Tap:
    """A stream that raises once more comes out than any honest archive holds."""

    def __init__(self, stream: GzipFile | io.BytesIO) -> None:
        self.stream, self.left = stream, ARCHIVE

    def read(self, size: int) -> bytes:
        data = self.stream.read(size)  # `tarfile` asks for a block at a time
        self.left -= len(data)
        if self.left < 0:
            raise Unusable(f"is larger than {ARCHIVE >> 20} MB when it is unpacked: {ALONE}")
        return data


def _of_use(name: str, odd: str, files: Files) -> bool:
    """Whether an entry of an archive is a module or a notebook; notes why not, unless it is plain.

    Args:
        odd: what it is, unless it is an ordinary file.
    """
    if name.startswith("/") or ".." in name.split("/") or re.match(r"[A-Za-z]:", name):
        files.refuse(name, "points out of its folder")
        return False
    if odd:
        files.refuse(name, f"is {odd}")
        return False
    if name.lower().endswith(ZIPS + TARS):
        files.refused.append("an archive is in the archive: unpack it once more")
    return name.lower().endswith(SOURCES)


def _twice(name: str, out: Mapping[str, Read], files: Files) -> None:
    if name in out:
        files.notes.append(f"{printable(name)!r} is there twice: the last one counts")


def _limited(file: Any) -> bytes:
    data: bytes = file.read(NOTEBOOK + 1)
    if len(data) > NOTEBOOK:
        raise Unusable(f"is larger than {NOTEBOOK >> 20} MB{LESS}")
    return data
