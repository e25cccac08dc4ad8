"""Read a stranger's file with care."""

import ast
import io
import os
import re
import stat
import warnings
from collections.abc import Sequence
from pathlib import Path

TOO_DEEP = "too deeply nested or too large to read"  # Python's words differ by version


class Unusable(Exception):
    """The reason why nothing can be graded, to follow "what you handed in"."""


def read_regular(path: Path, limit: int, advice: str = "") -> bytes:
    """Return the bytes of an ordinary file, which is opened only if it is one.

    Args:
        limit: bytes; advice: for the author of a file that is larger.
    """
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        number = os.open(path, flags | getattr(os, "O_BINARY", 0))
    except OSError as error:
        link = path.is_symlink()
        why = "is a link, not a file" if link else f"cannot be opened ({error.strerror})"
        raise Unusable(why) from None
    about = os.fstat(number)
    if not stat.S_ISREG(about.st_mode):
        os.close(number)
        raise Unusable("is not an ordinary file")
    with os.fdopen(number, "rb") as file:
        if about.st_size > limit:
            raise Unusable(f"is larger than {limit >> 20} MB{advice}")
        return file.read(about.st_size)  # it would set aside as much memory as it is told to read


def printable(name: str, most: int = 80) -> str:
    """Return a name on one line, cut, without control codes."""
    text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in name)
    return text if len(text) <= most else f"{text[: most - 3]}..."


# The first words of the module that a notebook becomes; above each statement stands its place.
HEAD = "# a notebook with:"
_PLACE = re.compile(r"# (cell \d{1,9}), line (\d{1,9})")


def place_of(number: int, lines: Sequence[str]) -> str:
    """Return where a line of a module stands, in the words of a message.

    In the module of a notebook that is its cell and its line there; "" where it is in no cell.
    """
    if not lines[:1] or not lines[0].startswith(HEAD):
        return f"line {number}"
    for above in range(min(number, len(lines)) - 1, -1, -1):
        if place := _PLACE.fullmatch(lines[above].rstrip("\n")):
            return f"{place[1]}, line {int(place[2]) + number - above - 2}"
    return ""


def stopped_at(dump: str, file: str, lines: Sequence[str]) -> str:
    """Return the innermost line of a file in a dump of faulthandler's; "" if there is none."""
    at = re.search(rf'File "{re.escape(file)}", line (\d{{1,8}}) in (\S+)', dump)
    if not at:
        return ""
    line = printable("".join(lines[int(at[1]) - 1 : int(at[1])]).strip(), 200)
    place = place_of(int(at[1]), lines)
    return f"\n  {place}, in {printable(at[2].strip('<>'))}: {line}" if place else ""


def some(names: Sequence[str], most: int) -> str:
    """Return the first of a list of names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


# Files of other programs that were given the name of a module, by how they begin.
_KINDS = {
    b"PK\x03\x04": "a zip file, or a document of a word processor",
    b"\x1f\x8b": "a gzip archive",
    b"BZh91AY&SY": "a bzip2 archive",
    b"\xfd7zXZ": "an xz archive",
    b"7z\xbc\xaf": "a 7-Zip archive",
    b"Rar!": "a RAR archive",
    b"%PDF": "a PDF",
    b"{\\rtf": "a document of a word processor",
    b"\xd0\xcf\x11\xe0": "a document of a word processor",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"\x7fELF": "a program",
}

# What editors wrote before UTF-8: one letter, one byte or two, and nothing that is computed.
_OLD = re.compile(
    r"iso[-_]?8859[-_]\d+|latin[-_]?\d+|cp\d+|windows[-_]\d+|mac[-_]?roman|koi8[-_][rut]|"
    r"gbk|gb2312|gb18030|big5|shift[-_]jis|euc[-_](?:jp|kr)"
)


def text_of(data: bytes, notes: list[str] | None = None) -> str:
    """Return the text of a file, with plain line ends.

    Args:
        notes: gets a note where the file is not UTF-8, but says in which coding it is.
    """
    if kind := next((kind for mark, kind in _KINDS.items() if data.startswith(mark)), ""):
        raise Unusable(f"is {kind}, whatever its name says: hand in the Python file itself")
    if data[:4] in (b"\xff\xfe\0\0", b"\0\0\xfe\xff"):
        raise Unusable("is UTF-32 text: save it as UTF-8")
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise Unusable("is UTF-16 text: save it as UTF-8")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        coding = _coding(data)
        if not coding:
            line = data.count(b"\n", 0, error.start) + 1
            raise Unusable(f"is not UTF-8 text (line {line}): save it as UTF-8") from None
        try:
            text = data.decode(coding)
        except (UnicodeDecodeError, LookupError):
            raise Unusable(f"is no {coding} text, as it says: save it as UTF-8") from None
        if notes is not None:
            notes.append(f"read as {coding}, as it says; better save it as UTF-8")
    if "\0" in text:
        raise Unusable("holds NUL bytes, so it is no text")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _coding(data: bytes) -> str:
    """Return the old coding that a module names in its first two lines; "" if none of _OLD.

    Python's own search would run whatever codec a stranger's file names.
    """
    named = re.match(rb"(?:[ \t\f]*+(?:#.*+)?\r?\n)?[ \t\f]*+#.*?coding[:=][ \t]*+([-\w.]+)", data)
    coding = named[1].decode("ascii", "replace").lower() if named else ""
    return coding if _OLD.fullmatch(coding) else ""


def package_import(text: str) -> str:
    """Return where a file imports `fedlab_edu`, as in a traceback; "" if nowhere."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # running the file will show them
            tree = ast.parse(text.removeprefix("\ufeff"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""  # of which the student is told when it is run
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        else:
            continue
        if any(name.partition(".")[0] == "fedlab_edu" for name in names):
            place = place_of(node.lineno, lines_of(text))
            return f"\n  {place}, in module: {ast.unparse(node)[:200]}"
    return ""


def lines_of(text: str) -> list[str]:
    """Return the lines of a file as Python counts them: a form feed, for example, ends none."""
    return io.StringIO(text, newline=None).readlines()
