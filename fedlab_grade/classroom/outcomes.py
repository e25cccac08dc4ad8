"""Turn the results of tests into outcomes of a record."""

import platform
from collections.abc import Iterable
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version

from fedlab_edu import __version__
from fedlab_grade.classroom.records import MISSING, NOT_GRADABLE, TEXT, UNCLEAR, UNGRADED, Outcome
from fedlab_grade.run import Result


def versions() -> dict[str, str]:
    """Return the versions of the kit, Python and PyTorch."""
    try:
        torch = version("torch")
    except PackageNotFoundError:
        torch = ""
    return {"fedlab_edu": __version__, "python": platform.python_version(), "torch": torch}


def outcome(result: Result) -> Outcome:
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
        result.hint,
        result.printed[:TEXT],
        round(result.seconds, 3),
        result.hidden,
    )


def unjudged(tests: Iterable[Outcome], state: str) -> tuple[Outcome, ...]:
    """Return the outcomes of tests that did not judge a submission in this state."""
    status, points = {
        NOT_GRADABLE: ("not gradable", 0.0),
        UNGRADED: ("error", None),
        UNCLEAR: (MISSING, None),
    }.get(state, (state, 0.0))
    return tuple(
        replace(t, points=points, status=status, message="", likely="", printed="", seconds=0.0)
        for t in tests
    )
