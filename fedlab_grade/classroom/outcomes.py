"""Turn the results of tests into outcomes of a record."""

import platform
import re
from collections.abc import Iterable
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version

from fedlab_edu import __version__
from fedlab_grade.classroom.records import MISSING, NOT_GRADABLE, TEXT, UNCLEAR, UNGRADED, Outcome
from fedlab_grade.run import Result

AROUND, WIDE = 3, 120  # lines before and after, and characters of one


def versions() -> dict[str, str]:
    """Return the versions of the kit, Python and PyTorch."""
    try:
        torch = version("torch")
    except PackageNotFoundError:
        torch = ""
    return {"fedlab_edu": __version__, "python": platform.python_version(), "torch": torch}


def outcome(result: Result, code: str = "") -> Outcome:
    """Return the outcome of a test.

    Args:
        code: an excerpt of the student's code, as of `excerpt`.
    """
    points = {"passed": result.points, "error": None}.get(result.status, 0.0)
    return Outcome(
        result.test,
        result.question,
        result.function,
        result.aspect,
        points,
        result.points,
        result.status,
        result.message[:TEXT],
        result.likely[:TEXT],
        result.printed[:TEXT],
        round(result.seconds, 3),
        result.hidden,
        code,
    )


def excerpt(source: str, message: str) -> str:
    """Return the lines of a module around the one that a message names last, which is marked."""
    named = re.findall(r"\n  line (\d{1,9}), in ", message)
    lines = source.split("\n")
    at = int(named[-1]) if named else 0
    if not 0 < at <= len(lines):
        return ""
    shown = range(max(1, at - AROUND), min(len(lines), at + AROUND) + 1)
    marked = (f"{'>' if i == at else ' '} {i:>4}  {lines[i - 1][:WIDE]}".rstrip() for i in shown)
    return "\n".join(marked)


def unjudged(tests: Iterable[Outcome], state: str) -> tuple[Outcome, ...]:
    """Return the outcomes of tests that did not judge a submission in this state."""
    status, points = {
        NOT_GRADABLE: ("not gradable", 0.0),
        UNGRADED: ("error", None),
        UNCLEAR: (MISSING, None),
    }.get(state, (state, 0.0))
    return tuple(
        replace(
            t, points=points, status=status, message="", likely="", printed="", seconds=0.0, code=""
        )
        for t in tests
    )
