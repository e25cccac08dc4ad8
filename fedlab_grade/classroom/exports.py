"""Write grades for Gradescope, which does not know "not gradable yet" or "ungraded"."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fedlab_grade.classroom.pages import told
from fedlab_grade.classroom.records import (
    MISSING,
    NOT_GRADABLE,
    UNCLEAR,
    UNGRADED,
    Outcome,
    Record,
)
from fedlab_grade.classroom.store import file_name
from fedlab_grade.escape import line, plain


def gradescope(records: Iterable[Record], folder: Path, show_hidden: bool = False) -> list[str]:
    """Write ``results.json`` of each student in a folder of their own.

    Its format asks for a score, of the whole or of each test. A file that is not gradable yet has
    0 as a whole, and the reason above everything else. A student who is ungraded has no file,
    nor has a submission that belongs to no student.

    Returns: the names of those without a mark.
    """
    unsure = []
    for record in records:
        if record.mark is None or not record.matched:
            unsure.append(record.name)
        if record.state in (UNGRADED, UNCLEAR) or not record.matched:
            continue
        result: dict[str, Any] = {
            "score": record.mark or 0,
            "output": plain(_output(record)),
            "output_format": "text",
            "visibility": "visible",
            "execution_time": round(sum(t.seconds for t in record.tests), 3),
            "tests": [_gradescope(test, record, show_hidden) for test in record.tests],
        }
        _write(folder / file_name(record.student) / "results.json", result)
    return unsure


def _gradescope(test: Outcome, record: Record, show_hidden: bool) -> dict[str, Any]:
    out: dict[str, Any] = {
        "name": line(f"{test.question} {test.aspect}"),
        "number": test.question,
        "max_score": test.max,
        "output": plain("\n".join(told(test, record.tests, show_hidden))),
        "output_format": "text",
        "visibility": "visible",
    }
    if test.points is not None and record.mark is not None:
        out |= {"score": test.points, "status": "passed" if test.status == "passed" else "failed"}
    return out


def _output(record: Record) -> str:
    """Return the text above the tests."""
    said = {
        NOT_GRADABLE: f"Not gradable yet, which counts as 0 here until it is: {record.problem}",
        MISSING: "Nothing was handed in.",
    }
    return "\n".join([said.get(record.state, ""), *record.notes]).strip()


def _write(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
