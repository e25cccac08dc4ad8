"""The files of one student, in folders and archives: what there is, without unpacking it.

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
from typing import Any, BinaryIO

NOTEBOOK = 8 << 20  # pictures in the output included
ARCHIVE = 20 << 20  # of an archive, and of all that is unpacked from a tar
ENTRIES = 2000  # files in a folder or an archive
LISTING = 1 << 20  # bytes of the list of a zip, which Python would read in full at once
DEPTH = 6  # of folders in folders

SOURCES = (".py", ".ipynb")
ZIPS, TARS = (".zip",), (".tar", ".tar.gz", ".tgz")
OTHER_ARCHIVES = (".rar", ".7z", ".tar.bz2", ".tar.xz", ".gz", ".xz", ".bz2")

# Hidden folders (.git, .venv) and what programs put into folders of their own.
_JUNK = re.compile(
    r"(^|/)(__MACOSX|__pycache__|venv|site-packages|node_modules|\.[^./][^/]*)/|(^|/)\.[^/]*$"
)

Read = Callable[[], bytes]


class Unusable(Exception):
    """Why nothing can be graded, to follow "what you handed in"."""


@dataclass
class Files:
    """The files of one student: those of use, and those in archives once they are needed."""

    notes: list[str]
    found: dict[str, Read] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)  # why some names are of no use

    def add(self, name: str, path: Path, depth: int = 0) -> None:
        try:
            mode = os.lstat(path).st_mode
        except OSError as error:
            self.refuse(name, f"cannot be opened ({error.strerror})")
            return
        if stat.S_ISREG(mode):
            if name in self.found:
                self.notes.append(f"{printable(name)!r} is there twice: the last one counts")
            self.found[name] = partial(read_regular, path, ARCHIVE)
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
            if len(inside) + len(self.found) > ENTRIES:
                raise Unusable(f"has more than {ENTRIES} files")
            for entry in inside:
                self.add(f"{name}/{entry}" if depth else entry, path / entry, depth + 1)

    def refuse(self, name: str, why: str) -> None:
        self.refused.append(f"{printable(name)!r} {why}")
        self.notes.append(f"{printable(name)!r} {why}: ignored")

    def unpacked(self) -> dict[str, Read]:
        """Modules and notebooks: those that lie open, else those in the one archive."""
        plain = {n: read for n, read in self.found.items() if n.lower().endswith(SOURCES)}
        packed = [n for n in self.found if n.lower().endswith(ZIPS + TARS)]
        if plain:
            self.notes += [f"{printable(n)!r} was not opened" for n in packed]
            return plain
        if len(packed) > 1:
            names = ", ".join(repr(printable(n)) for n in packed[:4])
            raise Unusable(f"holds {len(packed)} archives ({names}): hand in one")
        if packed:
            unpack = _zip if packed[0].lower().endswith(ZIPS) else _tar
            return unpack(self.found[packed[0]](), self)
        if other := [n for n in self.found if n.lower().endswith(OTHER_ARCHIVES)]:
            raise Unusable(f"holds {printable(other[0])!r}: pack it as .zip or .tar.gz")
        return {}


def read_regular(path: Path, limit: int) -> bytes:
    """The bytes of an ordinary file, which is opened only if it is one.

    Raises:
        Unusable: it is a link, a pipe, a device, a folder or too large.
    """
    with _opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > limit:
            raise Unusable(f"is larger than {limit >> 20} MB")
        return file.read(size)  # it would set aside as much memory as it is told to read


def printable(name: str, most: int = 80) -> str:
    """A name that a student chose, as it may be shown: one line, cut, without control codes."""
    text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in name)
    return text if len(text) <= most else f"{text[: most - 3]}..."


def text_of(data: bytes) -> str:
    """The text of a file, with plain line ends.

    Raises:
        Unusable: it is no UTF-8.
    """
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise Unusable("is UTF-16 text: save it as UTF-8")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Unusable(f"is not UTF-8 text (line {line}): save it as UTF-8") from None
    if "\0" in text:
        raise Unusable("holds NUL bytes, so it is not Python text")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _zip(data: bytes, files: Files) -> dict[str, Read]:
    out: dict[str, Read] = {}
    end = data.rfind(b"PK\x05\x06")
    long = int.from_bytes(data[end + 12 : end + 16], "little") > LISTING
    if end >= 0 and (long or data[end - 20 : end - 16] == b"PK\x06\x07"):  # zip64 has it elsewhere
        raise Unusable("is a zip with a very long list of entries")
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        entries = archive.infolist()
    except Exception:  # a hostile file makes the library raise whatever there is
        raise Unusable("is not a readable zip file: did the upload break off?") from None
    named = [(entry, entry.filename.replace("\\", "/")) for entry in entries]
    named = [(entry, name) for entry, name in named if not _JUNK.search(name)]
    if len(named) > ENTRIES:
        raise Unusable(f"is a zip with {len(named)} entries; at most {ENTRIES} are read")
    for entry, name in named:
        link = stat.S_ISLNK(entry.external_attr >> 16)
        if not name.endswith("/") and _of_use(name, "a link" if link else "", files):
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
            return _limited(file, NOTEBOOK, entry.filename)
    except Unusable:
        raise
    except Exception:
        name = printable(entry.filename)
        raise Unusable(f"is a zip in which {name!r} is damaged: pack it again") from None


def _tar(data: bytes, files: Files) -> dict[str, Read]:
    out: dict[str, Read] = {}
    packed = io.BytesIO(data)
    stream = GzipFile(fileobj=packed) if data[:2] == b"\x1f\x8b" else packed
    tap: Any = _Tap(stream)
    try:
        with tarfile.open(fileobj=tap, mode="r|") as archive:
            number = 0
            for entry in archive:
                number += not _JUNK.search(f"{entry.name}/" if entry.isdir() else entry.name)
                if number > ENTRIES:
                    raise Unusable(f"is a tar with more than {ENTRIES} entries")
                plain = entry.isreg() and not entry.issparse()
                odd = "" if plain else "a link, a device or a file with holes"
                if not entry.isdir() and _of_use(entry.name, odd, files):
                    file = archive.extractfile(entry)
                    assert file is not None
                    content = _limited(file, NOTEBOOK, entry.name)
                    _twice(entry.name, out, files)
                    out[entry.name] = partial(bytes, content)
    except Unusable:
        raise
    except Exception:  # as in `_zip`
        raise Unusable("is not a readable tar file: did the upload break off?") from None
    return out


class _Tap:
    """A stream that ends in a refusal where more comes out than any honest archive holds."""

    def __init__(self, stream: GzipFile | io.BytesIO) -> None:
        self.stream, self.left = stream, ARCHIVE

    def read(self, size: int) -> bytes:
        data = self.stream.read(min(size, self.left + 1))
        self.left -= len(data)
        if self.left < 0:
            raise Unusable(f"is larger than {ARCHIVE >> 20} MB when it is unpacked")
        return data


def _of_use(name: str, odd: str, files: Files) -> bool:
    """Whether an entry of an archive is a module or a notebook; notes why not, unless it is plain.

    Args:
        odd: what it is, unless it is an ordinary file.
    """
    if _JUNK.search(name):
        return False
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


def _opened(path: Path) -> BinaryIO:
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        number = os.open(path, flags | getattr(os, "O_BINARY", 0))
    except OSError as error:
        link = path.is_symlink()
        why = "is a link, not a file" if link else f"cannot be opened ({error.strerror})"
        raise Unusable(why) from None
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise Unusable("is not an ordinary file")
    return os.fdopen(number, "rb")


def _limited(file: Any, limit: int, name: str) -> bytes:
    data: bytes = file.read(limit + 1)
    if len(data) > limit:
        what = f"holds {printable(name)!r}, which is" if name else "is"
        raise Unusable(f"{what} larger than {limit >> 20} MB")
    return data
