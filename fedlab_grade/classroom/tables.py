"""The class at a glance: everyone's marks, and how hard each question was."""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean
from typing import NamedTuple

from fedlab_grade.classroom.records import Record, State
from fedlab_grade.classroom.store import file_name
from fedlab_grade.escape import cell, line
from fedlab_grade.run import Result
from fedlab_grade.textfile import printable

WIDE = 60  # letters of a text in a terminal's table


class Difficulty(NamedTuple):
    """How a question went, over those submissions that were graded.

    Fields:
        full_marks: share of them with full marks; mean: of the points, as a share of the maximum.
        mistake: the most frequent one, "" where there was none; times: how often.
    """

    question: str
    function: str
    max: float
    graded: int
    full_marks: float
    mean: float
    mistake: str
    times: int

    def told(self) -> tuple[str, str, str, str]:
        """Return question, share of full marks, mean and mistake, as people read them."""
        mistake = f"{self.mistake} ({self.times})" if self.mistake else ""
        full = f"{self.full_marks:.0%} of {self.graded}"
        return f"{self.question} {self.function}", full, f"{self.mean:.0%}", mistake


@dataclass(frozen=True)
class Table:
    """The class at a glance.

    Fields:
        questions: with the points of each, in order.
        notes: student -> what the instructor should see to.
    """

    questions: Mapping[str, float]
    records: Sequence[Record]
    notes: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def most(self) -> float:
        return sum(self.questions.values())

    @property
    def totals(self) -> list[float]:
        """The marks of the students who have one."""
        return [one.mark for one in self.records if one.mark is not None]

    @property
    def head(self) -> list[str]:
        return ["student", "name", "state", *self.questions, "total", "max", "remark", "page"]

    @cached_property
    def rows(self) -> list[list[str]]:
        """A row of cells for each student, in the order of `head`."""
        return [self._row(one) for one in self.records]

    def _row(self, one: Record) -> list[str]:
        won = [None if one.mark is None else one.points(q) for q in self.questions]
        late = f"late, {one.penalty:.0%} taken off" if one.penalty else "late" * one.late
        above = any(points > self.questions.get(q, self.most) for q, points in one.changed.items())
        by_hand = f"changed by hand{', above the maximum' * above}" if one.changed else ""
        parts = (late, by_hand, *self.notes.get(one.student, ()), one.why)
        remark = line("; ".join(filter(None, parts)))[:200]
        points = map(number, (*won, one.mark, self.most))
        return [one.student, one.name, one.state, *points, remark, page_of(one.student)]

    @cached_property
    def difficulty(self) -> list[Difficulty]:
        """One entry for each question, in their order."""
        graded = [one for one in self.records if one.state == State.GRADED]
        out = []
        for question, most in self.questions.items():
            won = [one.points(question) or 0.0 for one in graded]
            tests = [one.questions.get(question, ()) for one in graded]
            likely = Counter(m for own in tests for m in dict.fromkeys(map(_mistake, own)) if m)
            mistake, times = next(iter(likely.most_common(1)), ("", 0))
            names = (t.function for one in self.records for t in one.questions.get(question, ()))
            full = fmean([w >= most for w in won] or [0])
            mean = fmean(won or [0]) / most if most else 0.0
            about = (question, next(names, ""), most, len(won))
            out.append(Difficulty(*about, full, mean, mistake, times))
        return out


def page_of(student: str) -> str:
    """Return the address of a student's page, as seen from the page of the class."""
    return f"students/{file_name(student)}.html"


def class_text(table: Table) -> str:
    """Return both tables of the class for a terminal."""
    body = ([called(row), *row[3:-2], row[2], row[-2]] for row in table.rows)
    students = aligned([["student", *table.questions, "total", "of", "state", ""], *body])
    head = ("question", "full marks", "mean", "most frequent mistake")
    return f"{students}\n\n{aligned([head, *(d.told() for d in table.difficulty)])}"


def called(row: Sequence[str]) -> str:
    """Return a student's name, and the key where that is another."""
    return row[1] if row[0] == row[1] else f"{row[1]} ({row[0]})"


def as_csv(rows: Iterable[Sequence[str | float]]) -> str:
    """Return rows as CSV, in which no cell is a formula."""
    out = io.StringIO()
    cells = (
        [cell(c) if isinstance(c, str) else f"{round(c, 3):.15g}" for c in row] for row in rows
    )
    csv.writer(out, lineterminator="\n").writerows(cells)
    return out.getvalue()


def number(value: float | None) -> str:
    """Return points as people write them, and nothing for None."""
    return "" if value is None else f"{round(value, 4):.15g}"


def aligned(rows: Iterable[Sequence[str]]) -> str:
    """Return rows as aligned columns of one-line texts, cut to WIDE; numbers to the right."""
    shown = [[printable(line(text), WIDE) for text in row] for row in rows]
    columns = [
        [text.rjust(width) if right else text.ljust(width) for text in column]
        for column in zip(*shown, strict=True)
        for width in [max(map(len, column))]
        for right in [all(text[:1].isdigit() for text in column[1:] if text)]
    ]
    return "\n".join("  ".join(row).rstrip() for row in zip(*columns, strict=True))


def _mistake(test: Result) -> str:
    """Return the likely mistake; where the test names none, the first line of its message."""
    if test.status in ("passed", "error", "not run", "not written"):
        return ""
    return test.likely or next(iter(test.message.splitlines()), "")[:200]
