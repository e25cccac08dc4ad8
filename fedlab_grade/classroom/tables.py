"""The class at a glance: everyone's marks, and how hard each question was."""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import NamedTuple

from fedlab_grade.classroom.records import GRADED, Outcome, Record
from fedlab_grade.escape import cell, line

WIDE = 60  # letters of a text in a terminal's table


class Difficulty(NamedTuple):
    """How a question went, over those submissions that were graded.

    Fields:
        full: share of them with full marks; mean: of the points, as a share of the maximum.
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


class Table:
    """The table of the class, which keeps one row of cells of each record.

    Args:
        questions: with the points of each, in order.
    """

    def __init__(self, questions: dict[str, float]) -> None:
        self.questions = questions
        self.most = sum(questions.values())
        self.rows: list[list[str]] = []
        self.totals: list[float] = []
        self._graded: list[list[tuple[float, list[str]]]] = []  # points and mistakes by question
        self._function: dict[str, str] = {}

    @property
    def head(self) -> list[str]:
        return ["student", "name", "state", *self.questions, "total", "max", "remark", "page"]

    def add(self, record: Record, page: str = "", notes: Iterable[str] = ()) -> None:
        """Add the row of a record; the notes about the student are for the instructor."""
        won = [record.points(q) for q in self.questions]
        tests = [record.questions.get(q, ()) for q in self.questions]
        for question, own in zip(self.questions, tests, strict=True):
            self._function.setdefault(question, own[0].function if own else "")
        if record.state == GRADED:
            mistakes = [list(dict.fromkeys(filter(None, map(_mistake, own)))) for own in tests]
            self._graded.append([(w or 0.0, m) for w, m in zip(won, mistakes, strict=True)])
        if record.mark is None:
            won = [None] * len(won)
        else:
            self.totals.append(record.mark)
        late = f"late, {record.penalty:.0%} taken off" if record.penalty else "late" * record.late
        parts = (late, "changed by hand" if record.changed else "", *notes, record.problem)
        remark = line("; ".join(filter(None, parts)))[:200]
        points = map(number, (*won, record.mark, self.most))
        self.rows.append([record.student, record.name, record.state, *points, remark, page])

    def difficulty(self) -> list[Difficulty]:
        """Return one entry for each question, in their order."""
        out = []
        for i, (question, most) in enumerate(self.questions.items()):
            won = [graded[i][0] for graded in self._graded]
            likely = Counter(mistake for graded in self._graded for mistake in graded[i][1])
            mistake, times = next(iter(likely.most_common(1)), ("", 0))
            full = fmean([w >= most for w in won] or [0])
            mean = fmean(won or [0]) / most if most else 0.0
            function = self._function.get(question, "")
            out.append(Difficulty(question, function, most, len(won), full, mean, mistake, times))
        return out

    def states(self) -> str:
        """Say how many submissions are in each state."""
        counts = Counter(row[2] for row in self.rows)
        return ", ".join(f"{count} {state}" for state, count in counts.items())


def class_text(table: Table) -> str:
    """Return both tables of the class for a terminal."""
    body = ([called(row), *row[3:-2], row[2], row[-2]] for row in table.rows)
    students = aligned([["student", *table.questions, "total", "of", "state", ""], *body])
    head = ("question", "full marks", "mean", "most frequent mistake")
    return f"{students}\n\n{aligned([head, *(d.told() for d in table.difficulty())])}"


def class_csv(table: Table) -> str:
    """Return the table of the students for a spreadsheet, without formulas."""
    return as_csv([table.head, *table.rows])


def difficulty_csv(table: Table) -> str:
    """Return the table of the questions for a spreadsheet, without formulas."""
    rows = table.difficulty()
    cells = ([c if isinstance(c, str) else f"{round(c, 3):g}" for c in row] for row in rows)
    return as_csv([Difficulty._fields, *cells])


def called(row: Sequence[str]) -> str:
    """Return a student's name, and the key where that is another."""
    return row[1] if row[0] == row[1] else f"{row[1]} ({row[0]})"


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
