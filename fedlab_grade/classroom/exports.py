"""Grades for Gradescope, Classroom 50 and whatever reads JUnit's XML.

None of them knows "not gradable yet" or "ungraded". Where a file would give somebody a mark that
is none, there is no file, or it begins with the reason; `gradescope` and `classroom50` return whom
this concerns, so that nobody gets a silent 0. Gradebooks have files of their own.
"""

import json
import os
from collections.abc import Iterable
from datetime import UTC, datetime
from math import isclose
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from fedlab_grade.assignment import Refusal
from fedlab_grade.classroom.pages import told
from fedlab_grade.classroom.records import MISSING, NOT_GRADABLE, UNGRADED, Outcome, Record
from fedlab_grade.classroom.store import file_name
from fedlab_grade.escape import line, plain


def gradescope(records: Iterable[Record], folder: Path, show_hidden: bool = False) -> list[str]:
    """``results.json`` of each student in a folder of their own.

    Its format asks for a score, of the whole or of each test. A file that is not gradable yet has
    0 as a whole, and the reason above everything else. Who is ungraded has no file: any score would
    be untrue, and it is not documented what becomes of a file without one.

    Returns: those who have no mark, with a file or without.
    """
    unsure = []
    for record in records:
        if record.mark is None:
            unsure.append(record.name)
        if record.state == UNGRADED:
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


def classroom50(records: Iterable[Record], folder: Path) -> list[str]:
    """``result.json`` of each student for Classroom 50; points become whole numbers.

    Its runner names the classroom and the commit in the environment; elsewhere they are "local".

    Returns: who has no file, since the format knows no "ungraded".

    Raises:
        Refusal: points with more than three decimals.
    """
    everyone = list(records)
    scale = _scale(t.max for r in everyone for t in r.tests)
    unsure = []
    for record in everyone:
        if record.mark is None:
            unsure.append(record.name)
            continue
        tests = [
            {
                "test-name": line(f"{t.question} {t.aspect or t.test}"),
                "passed": t.status == "passed",
                "score": round(scale * (t.points or 0)),
                "max-score": round(scale * t.max),
            }
            for t in record.tests
        ]
        run = {
            key: os.environ.get(name) or "local"
            for key, name in {
                "classroom": "CLASSROOM",
                "submission": "SUBMISSION_TAG",
                "commit": "COMMIT_URL",
                "release": "RELEASE_URL",
                "review": "REVIEW_URL",
            }.items()
        }
        result = {
            "schema": "classroom50/result/v1",
            "assignment": os.environ.get("ASSIGNMENT") or record.assignment,
            **run,
            "datetime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "score": sum(t["score"] for t in tests),  # type: ignore[misc]
            "max-score": sum(t["max-score"] for t in tests),  # type: ignore[misc]
            "tests": tests,
        }
        _write(folder / file_name(record.student) / "result.json", result)
    return unsure


def _scale(points: Iterable[float]) -> int:
    values = list(points)
    for scale in (1, 2, 4, 5, 10, 100, 1000):
        if all(isclose(scale * p, round(scale * p), abs_tol=1e-9) for p in values):
            return scale
    raise Refusal("Classroom 50 takes whole points, and these have more than three decimals.")


def junit(records: Iterable[Record], out: Path) -> None:
    """One file of JUnit's XML: a suite for each student, with all tests."""
    root = ElementTree.Element("testsuites")
    for record in records:
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=line(record.name),
            tests=str(len(record.tests)),
            failures=str(sum(t.points == 0 and t.status in _FAILED for t in record.tests)),
            errors=str(sum(t.status == "error" for t in record.tests)),
            skipped=str(sum(t.status in _SKIPPED for t in record.tests)),
        )
        for test in record.tests:
            case = ElementTree.SubElement(
                suite,
                "testcase",
                classname=line(f"{record.assignment}.{test.question}"),
                name=line(test.aspect or test.test),
                time=f"{test.seconds:.3f}",
            )
            kind = "failure" if test.status in _FAILED else "error"
            kind = "skipped" if test.status in _SKIPPED else kind
            if test.status != "passed":
                about = ElementTree.SubElement(case, kind, message=line(test.likely or test.status))
                about.text = plain(test.message or record.problem)
    ElementTree.indent(root)
    out.write_text(
        ElementTree.tostring(root, encoding="unicode", xml_declaration=False) + "\n", "utf-8"
    )


_FAILED = ("failed", "raised", "not written", "stopped")
_SKIPPED = ("not run", "not gradable", "not handed in")


def _output(record: Record) -> str:
    """What stands above the tests."""
    said = {
        NOT_GRADABLE: f"Not gradable yet, which counts as 0 here until it is: {record.problem}",
        MISSING: "Nothing was handed in.",
    }
    return "\n".join([said.get(record.state, ""), *record.notes]).strip()


def _write(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
