"""The class at a glance: everyone's marks, and how hard each question was."""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from fedlab_grade.classroom.records import GRADED, Outcome, Record
from fedlab_grade.escape import cell, line

WIDE = 60  # letters of a text in a terminal's table


@dataclass(frozen=True)
class Row:
    """A student in the table of the class.

    Fields:
        points: of each question; total: None where there is no mark.
        remark: why it is not graded, lateness, and notes for the instructor.
        page: where the student's page is, seen from the table's.
    """

    student: str
    name: str
    state: str
    points: tuple[float | None, ...]
    total: float | None
    remark: str
    page: str

    @property
    def shown(self) -> str:
        """The name, and the key where that is another."""
        return self.name if self.name == self.student else f"{self.name} ({self.student})"


@dataclass(frozen=True)
class Difficulty:
    """How a question went, over those submissions that were graded.

    Fields:
        full: share of them with full marks; mean: of the points, as a share of the maximum.
        mistake: the most frequent one, "" where there was none; often: how often.
    """

    question: str
    function: str
    max: float
    graded: int
    full: float
    mean: float
    mistake: str
    often: int

    @property
    def shown(self) -> tuple[str, str, str, str]:
        """Question, share of full marks, mean and mistake, as people read them."""
        mistake = f"{self.mistake} ({self.often})" if self.mistake else ""
        full = f"{self.full:.0%} of {self.graded}"
        return f"{self.question} {self.function}", full, f"{self.mean:.0%}", mistake


class Table:
    """The table of the class, which keeps one row of each record.

    Args:
        questions: with the points of each, in order.
    """

    def __init__(self, questions: dict[str, float]) -> None:
        self.questions = questions
        self.rows: list[Row] = []
        self._won: dict[str, list[float]] = {q: [] for q in questions}
        self._likely: dict[str, Counter[str]] = {q: Counter() for q in questions}
        self._function: dict[str, str] = {}

    def add(self, record: Record, page: str = "", notes: Iterable[str] = ()) -> None:
        """Add the row of a record; the notes about the student are for the instructor."""
        for question in self.questions:
            tests = record.questions.get(question, ())
            self._function.setdefault(question, tests[0].function if tests else "")
            if record.state == GRADED and tests:
                self._won[question].append(record.points(question) or 0.0)
                mistakes = dict.fromkeys(map(_mistake, tests))  # a set would settle ties by chance
                self._likely[question].update(filter(None, mistakes))
        points = (None if record.mark is None else record.points(q) for q in self.questions)
        late = f"late, {record.penalty:.0%} taken off" if record.penalty else "late" * record.late
        parts = (late, "changed by hand" if record.changed else "", *notes, record.problem)
        remark = line("; ".join(filter(None, parts)))[:200]
        self.rows.append(
            Row(record.student, record.name, record.state, tuple(points), record.mark, remark, page)
        )

    def difficulty(self) -> list[Difficulty]:
        """Return one entry for each question, in their order."""
        out = []
        for question, most in self.questions.items():
            won, function = self._won[question] or [0.0], self._function.get(question, "")
            mistake, often = next(iter(self._likely[question].most_common(1)), ("", 0))
            graded, full = len(self._won[question]), fmean(w >= most > 0 for w in won)
            mean = fmean(won) / most if most else 0.0
            out.append(Difficulty(question, function, most, graded, full, mean, mistake, often))
        return out

    def states(self) -> str:
        """Say how many submissions are in each state."""
        return ", ".join(f"{n} {state}" for state, n in Counter(r.state for r in self.rows).items())


def class_text(table: Table) -> str:
    """Return the table of the class for a terminal."""
    most = number(sum(table.questions.values()))
    body = (
        [r.shown, *map(number, r.points), number(r.total), most, r.state, r.remark]
        for r in table.rows
    )
    return aligned([["student", *table.questions, "total", "of", "state", ""], *body])


def difficulty_text(table: Table) -> str:
    """Return the table of the questions for a terminal."""
    head = ["question", "full marks", "mean", "most frequent mistake"]
    return aligned([head, *(d.shown for d in table.difficulty())])


def class_csv(table: Table) -> str:
    """Return the table of the class for a spreadsheet, without formulas."""
    most = number(sum(table.questions.values()))
    head = ["student", "name", "state", *table.questions, "total", "max", "remark", "page"]
    body = (
        [r.student, r.name, r.state, *map(number, (*r.points, r.total)), most, r.remark, r.page]
        for r in table.rows
    )
    return as_csv([head, *body])


def difficulty_csv(table: Table) -> str:
    """Return the table of the questions for a spreadsheet, without formulas."""
    head = ["question", "function", "max", "graded", "full_marks", "mean", "mistake", "times"]
    body = (
        [d.question, d.function, number(d.max), str(d.graded), f"{d.full:.3f}", f"{d.mean:.3f}",
         d.mistake, str(d.often)]
        for d in table.difficulty()
    )  # fmt: skip
    return as_csv([head, *body])


def as_csv(rows: Iterable[Sequence[str]]) -> str:
    """Return rows as CSV, in which no cell is a formula."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(map(cell, row) for row in rows)
    return out.getvalue()


def number(value: float | None) -> str:
    """Return points as people write them, and nothing for None."""
    return "" if value is None else f"{round(value, 4):g}"


def aligned(rows: Iterable[Sequence[str]]) -> str:
    """Return rows as aligned columns of one-line texts, cut to WIDE; numbers to the right."""
    shown = [[_short(line(text)) for text in row] for row in rows]
    columns = [
        [text.rjust(width) if right else text.ljust(width) for text in column]
        for column in zip(*shown, strict=True)
        for width in [max(map(len, column))]
        for right in [all(text[:1].isdigit() for text in column[1:] if text)]
    ]
    return "\n".join("  ".join(row).rstrip() for row in zip(*columns, strict=True))


def _mistake(test: Outcome) -> str:
    """Return the likely mistake; where the test names none, the first line of its message."""
    if test.status in ("passed", "error", "not run", "not written"):
        return ""
    return test.likely or next(iter(test.message.splitlines()), "")[:200]


def _short(text: str) -> str:
    return text if len(text) <= WIDE else f"{text[: WIDE - 3]}..."
