"""Make harmless what students wrote, for the place where it is shown.

A file may print HTML, a formula for a spreadsheet, codes for a terminal or commands for a CI
service, and all of it ends up in a report that the instructor opens.
"""

import codecs
import re

_ANSI = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?|[@-_])")
# Letters that turn the direction of writing show a text in another order than it has.
_ODD = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff"
    r"\ufeff\ufffe\uffff]"
)
# Some services take "::name" at the beginning of a line for a command, and "##[name]" anywhere.
_COMMAND = re.compile(r"(?m)^([^\S\n]*:)(?=:)|(##)(?=\[)")
_FORMULA = "=+-@|%\uff1d\uff0b\uff0d\uff20"  # the last four are the wide ones
# Marks, what begins a list, and what some readers make a link of.
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#|~$&<>@!]|^[-+]|(?<=www)\.|:(?=//)|(?<=^\d)[.)])")


def plain(text: str) -> str:
    """Return a text for a terminal, a log or XML: without control codes and CI commands."""
    text = _ODD.sub("", _ANSI.sub("", text.replace("\r\n", "\n").replace("\r", "\n")))
    return _COMMAND.sub(r"\g<0> ", text)


def line(text: str) -> str:
    """Return a text as `plain` does, on one line."""
    return " ".join(plain(text).split())


def markdown(text: str) -> str:
    """Return a text for Markdown, within a line."""
    return _MARKDOWN.sub(r"\\\1", line(text))


def fenced(text: str) -> str:
    """Return a text for Markdown, as a block of code that it cannot close."""
    text = plain(text).strip("\n")
    longest = max(map(len, re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def cell(text: str) -> str:
    """Return a text for CSV that a spreadsheet takes for a text, not for a formula.

    Some split the line at semicolons, also within quotes; what follows one could be a formula.
    """
    text = line(text).replace(";", ",")
    return f"'{text}" if text[:1] and text[0] in _FORMULA else text


def _for_console(error: UnicodeError) -> tuple[str, int]:
    """Return what stands for the letters that a console lacks, and where they end."""
    assert isinstance(error, UnicodeEncodeError)
    lost = error.object[error.start : error.end]
    return "".join({"✓": "+", "✗": "x"}.get(letter, "?") for letter in lost), error.end


codecs.register_error("console", _for_console)
