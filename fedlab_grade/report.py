"""A report as plain text for the student: marks, what went wrong, and what to do next."""

import re
from collections.abc import Sequence
from textwrap import fill

from fedlab_grade.run import Report, Result, marks

PRINTED_LINES = 6
SIGNS = {"passed": "✓", "not run": "-", "error": "!"}  # for all else ✗
GREEN, RED, BOLD = 32, 31, 1  # ANSI codes


def render(
    report: Report, command: str, width: int = 88, colour: bool = False, hints: bool = True
) -> str:
    """Return the report on one file.

    Args:
        command: what to type to check again, with {question} for the question; "" for nothing.
        width: of a line, in characters.
        colour: whether the terminal shows colours.
        hints: whether to point to the hints of the course's exercises.
    """

    def row(left: str, results: Sequence[Result], code: int = 0) -> str:
        won, points = marks(results)
        rest = sum(r.points for r in results) - points
        right = f"{won:g} of {points:g}" + (f", {rest:g} not judged" if rest else "")
        line = f"{left:<{width - len(right) - 1}} {right}"
        code = code or (GREEN if won == points + rest else RED)
        return f"\033[{code}m{line}\033[0m" if colour else line

    def text(words: str, by: int) -> list[str]:
        return _paragraph(words, by, width)

    def why(result: Result, by: int) -> list[str]:
        if result.status == "error":
            excuse = "The check itself failed, not your answer: please tell your instructor."
            return text(excuse, by) + text(result.message, by)
        lines = text(result.message, by)
        if result.likely:
            lines += text(f"Likely: {result.likely}.", by)
        return lines + text(_printed(result, width - by - 3), by)

    def aspects(results: Sequence[Result]) -> list[str]:
        lines, seen = [], set()
        for r in results:
            idle = " (not run)" if r.status == "not run" else ""
            lines.append(row(f"    {SIGNS.get(r.status, '✗')} {r.aspect}{idle}", [r]))
            if r.status not in ("passed", "not run"):
                cause = r.likely or r.message
                lines += text("as above", 8) if cause in seen else why(r, 8)
                seen.add(cause)
        return lines

    out = [f"{report.file}", ""]
    first = report.results[0]
    if first.status == "not gradable":
        out += text("This file cannot be graded yet:", 2) + why(first, 4) + [""]
    for question, results in report.questions.items():
        out.append(row(f"  {question}  {results[0].function}", results))
        one = {(r.status, r.message) for r in results}
        if first.status != "not gradable" and any(r.status != "passed" for r in results):
            out += why(results[0], 4) if len(one) == 1 else aspects(results)
        out.append("")
    out += [row("  Total", report.results, BOLD), "", _next(report, command, hints), ""]
    return "\n".join(out)


def _printed(result: Result, width: int) -> str:
    lines = result.printed.strip().splitlines()
    more = [" ..."] if len(lines) > PRINTED_LINES else []
    shown = [f" | {line[:width]}" for line in lines[:PRINTED_LINES]]
    return "\n".join(["Your code printed:", *shown, *more] if lines else [])


def _paragraph(words: str, by: int, width: int) -> list[str]:
    """Return an indented paragraph; lines that begin with a blank are code and are not wrapped."""
    wrapped = [w if w.startswith(" ") else fill(w, width - by) for w in words.splitlines()]
    return [" " * by + line for w in wrapped for line in w.splitlines()]


def _next(report: Report, command: str, hints: bool) -> str:
    todo = next((r for r in report.results if r.status != "passed"), None)
    exercise = report.results[0].question.partition(".")[0]
    whole = command.replace("{question}", exercise)
    save = ", save the file, and run\n  " if command else " and save the file."
    if todo is None:
        more = f" The whole exercise is checked with\n  {whole}"
        return "Full marks." + (more if command and len(report.questions) == 1 else " Well done.")
    if todo.status == "not gradable":
        return f"Next: put this right{save}{whole}"
    verb = "write" if todo.status == "not written" else "look at"
    again = command.replace("{question}", todo.question)
    line = f"Next: {verb} {todo.function or todo.question}{save}{again}"
    hinted = hints and re.fullmatch(r"ex\d+\.\d+", todo.question)
    return f"{line}\nFor a hint:\n  fedlab-edu hint {todo.question}" if hinted else line
