"""Python source in fewer columns, for pages that are narrower than the files."""

import ast
import re
import textwrap
import tokenize
from io import StringIO

_BEFORE = {"if", "else", "for", "and", "or", "+", "-", "*", "/"}
_OPERATOR = re.compile(r" ([-+*/=<>^]|[<>]=) ")  # formulas do not break here
_ITEM = re.compile(r"(?:[-*] |\w+(?:, \w+)*: )?")


def fit(source: str, columns: int) -> str:
    """Return equivalent source, with lines of at most ``columns`` columns where they can break.

    Code breaks within brackets, comments and docstrings between words. A comment behind code that
    is too long moves to the line above.
    """
    lines = source.splitlines()
    for place in docstrings(source):
        lines[place] = reflow(lines[place], columns)
    tokens: dict[int, list[tokenize.TokenInfo]] = {}
    for token in tokenize.generate_tokens(StringIO("\n".join(lines)).readline):
        tokens.setdefault(token.start[0], []).append(token)
    out, depth = list[str](), 0
    for number, line in enumerate(lines, 1):
        parts, depth = _broken(line, tokens.get(number, []), depth, columns)
        out += parts
    return "\n".join(out)


def reflow(lines: list[str], columns: int) -> list[str]:
    """Return text in which each paragraph with a line of more columns is filled again.

    A paragraph is a line, which may begin with a bullet or a name and a colon, and the lines of
    equal margin that follow.
    """
    paragraphs: list[list[str]] = []
    for line in lines:
        before = paragraphs[-1] if paragraphs else []
        if before and line.strip() and before[0].strip() and _continues(before, line):
            before.append(line)
        else:
            paragraphs.append([line])
    out = []
    for paragraph in paragraphs:
        if max(map(len, paragraph)) <= columns:
            out += paragraph
            continue
        first, rest = _margin(paragraph[0]), _margin(paragraph[-1])
        if len(paragraph) == 1 and (item := _ITEM.match(paragraph[0].strip())) and item[0]:
            rest = first + (2 if item[0] in ("- ", "* ") else 4)
        text = _OPERATOR.sub(r"\0\1\0", " ".join(line.strip() for line in paragraph))
        filled = textwrap.fill(
            text, columns, initial_indent=" " * first, subsequent_indent=" " * rest,
            break_long_words=False, break_on_hyphens=False,
        )  # fmt: skip
        out += filled.replace("\0", " ").split("\n")
    return out


def docstrings(source: str, alone: bool = True) -> list[slice]:
    """Return the lines of docstrings, the last first.

    Args:
        alone: include docstrings that are the whole body of a function or class.
    """
    found = [
        slice(node.body[0].lineno - 1, node.body[0].end_lineno)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        and ast.get_docstring(node)
        and (alone or len(node.body) > 1)
    ]
    return sorted(found, key=lambda lines: lines.start, reverse=True)


def _margin(line: str) -> int:
    return len(line) - len(line.lstrip())


def _continues(paragraph: list[str], line: str) -> bool:
    """Return whether a line belongs to the paragraph before it."""
    own = _ITEM.match(line.strip())
    if (own and own[0]) or line.strip().startswith('"""'):
        return False
    if len(paragraph) > 1:
        return _margin(line) == _margin(paragraph[1])
    item = _ITEM.match(paragraph[0].strip())
    deeper = _margin(line) - _margin(paragraph[0])
    return deeper in (2, 4) if item and item[0] else deeper == 0


def _broken(
    line: str, tokens: list[tokenize.TokenInfo], depth: int, columns: int
) -> tuple[list[str], int]:
    """Return the parts of a line, and the number of open brackets at its end; depth: before it."""
    breaks, in_target, out = list[tuple[int, int]](), False, list[str]()
    margin, inside = " " * _margin(line), depth > 0
    for token in tokens:
        start, end, text = token.start[1], token.end[1], token.string
        if token.type == tokenize.OP:
            depth += (text in ("(", "[", "{")) - (text in (")", "]", "}"))
        elif token.type == tokenize.COMMENT and len(line) > columns:
            sign, _, words = text.partition(" ")
            first = f"{margin}{sign} "
            out = textwrap.wrap(words, columns, initial_indent=first, subsequent_indent=first)
            line = line[:start].rstrip()
        in_target = text == "for" or (in_target and text != "in")
        if depth and text == "," and not in_target:
            breaks.append((depth, end))
        elif depth and text in _BEFORE and token.line[start - 1] == " ":
            breaks.append((depth, start))
    hanging = margin + " " * (0 if inside else 8 if line.endswith(":") else 4)
    indent, begin = "", 0
    while len(indent + line[begin:]) > columns:
        room = columns - len(indent) + begin
        near = [(brackets, -at) for brackets, at in breaks if begin + 20 < at <= room]
        if not near:
            break
        at = -min(near)[1]
        out.append(indent + line[begin:at].rstrip())
        begin, indent = at + _margin(line[at:]), hanging
    return [*out, indent + line[begin:]] if line or not out else out, depth
