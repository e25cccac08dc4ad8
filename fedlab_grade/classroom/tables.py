"""The class at a glance: everyone's marks, and how hard each question was."""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fedlab_grade.classroom.records import GRADED, Outcome, Record
from fedlab_grade.escape import cell, line

WIDE = 60  # letters of a text in a terminal's table


@dataclass(frozen=True)
class Row:
    """A student in the table of the class.

    Fields:
        points: of each question; None where it was not judged.
        total: None where the submission is not gradable yet or ungraded.
        remark: why it is not graded, lateness, and notes for the instructor.
        page: where the student's page is, seen from the table's.
    """

    student: str
    name: str
    state: str
    points: tuple[float | None, ...]
    total: float | None
    remark: str
    page: str = ""

    @property
    def shown(self) -> str:
        """The name, and the key where that is another."""
        return self.name if self.name == self.student else f"{self.name} ({self.student})"


@dataclass(frozen=True)
class Difficulty:
    """How a question went, over those submissions that were graded.

    Fields:
        graded: number of submissions.
        full: share of them with full marks; mean: of the points, as a share of the maximum.
        mistake: the most frequent mistake, "" where there was none; often: how often.
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
    def full_marks(self) -> str:
        return f"{self.full:.0%} of {self.graded}"

    @property
    def average(self) -> str:
        return f"{self.mean:.0%}"

    @property
    def told(self) -> str:
        return f"{self.mistake} ({self.often})" if self.mistake else ""


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
        """Add the row of a record.

        Args:
            notes: about the student, for the instructor.
        """
        points: list[float | None] = []
        for question in self.questions:
            tests = record.questions.get(question, ())
            self._function.setdefault(question, tests[0].function if tests else "")
            points.append(None if record.mark is None else record.points(question))
            if record.state == GRADED and tests:
                self._won[question].append(record.points(question) or 0.0)
                mistakes = dict.fromkeys(map(_mistake, tests))  # a set would settle ties by chance
                self._likely[question].update(m for m in mistakes if m)
        late = f"late, {record.penalty:.0%} taken off" if record.penalty else "late"
        hand = "changed by hand" if record.changed else ""
        parts = [late if record.late or record.penalty else "", hand, *notes, record.problem]
        remark = "; ".join(filter(None, parts))
        self.rows.append(
            Row(
                record.student,
                record.name,
                record.state,
                tuple(points),
                record.mark,
                line(remark)[:200],
                page,
            )
        )

    def difficulty(self) -> list[Difficulty]:
        """Return one entry for each question, in their order."""
        out = []
        for question, most in self.questions.items():
            won = self._won[question]
            mistake, often = next(iter(self._likely[question].most_common(1)), ("", 0))
            full = sum(w >= most for w in won) / len(won) if won else 0.0
            mean = sum(won) / len(won) / most if won and most else 0.0
            function = self._function.get(question, "")
            out.append(Difficulty(question, function, most, len(won), full, mean, mistake, often))
        return out

    def states(self) -> Counter[str]:
        """Return how many submissions are in each state."""
        return Counter(row.state for row in self.rows)


def class_text(table: Table) -> str:
    """Return the table of the class for a terminal."""
    most = number(sum(table.questions.values()))
    head = ["student", *table.questions, "total", "of", "state", ""]
    body = [
        [r.shown, *map(number, r.points), number(r.total), most, r.state, r.remark]
        for r in table.rows
    ]
    return aligned([head, *body], right=range(1, len(table.questions) + 3))


def difficulty_text(table: Table) -> str:
    """Return the table of the questions for a terminal."""
    body = [
        [f"{d.question} {d.function}", d.full_marks, d.average, d.told] for d in table.difficulty()
    ]
    return aligned([["question", "full marks", "mean", "most frequent mistake"], *body], (1, 2))


def class_csv(table: Table) -> str:
    """Return the table of the class for a spreadsheet, without formulas."""
    most = number(sum(table.questions.values()))
    head = ["student", "name", "state", *table.questions, "total", "max", "remark", "page"]
    body = [
        [r.student, r.name, r.state, *map(number, r.points), number(r.total), most, r.remark,
         r.page]
        for r in table.rows
    ]  # fmt: skip
    return as_csv([head, *body])


def difficulty_csv(table: Table) -> str:
    """Return the table of the questions for a spreadsheet, without formulas."""
    head = ["question", "function", "max", "graded", "full_marks", "mean", "mistake", "times"]
    body = [
        [d.question, d.function, number(d.max), str(d.graded), f"{d.full:.3f}", f"{d.mean:.3f}",
         d.mistake, str(d.often)]
        for d in table.difficulty()
    ]  # fmt: skip
    return as_csv([head, *body])


def as_csv(rows: Iterable[Sequence[str]]) -> str:
    """Return rows as CSV, in which no cell is a formula."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(map(cell, row) for row in rows)
    return out.getvalue()


def number(value: float | None) -> str:
    """Return points as people write them, and nothing for None."""
    return "" if value is None else f"{round(value, 4):g}"


def aligned(rows: Iterable[Sequence[str]], right: Iterable[int] = ()) -> str:
    """Return rows of cells as aligned columns of one-line texts, cut to WIDE characters."""
    shown = [[_short(line(text)) for text in row] for row in rows]
    widths = [max(len(row[i]) for row in shown) for i in range(len(shown[0]))]
    flush = set(right)
    return "\n".join(
        "  ".join(
            text.rjust(width) if i in flush else text.ljust(width)
            for i, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in shown
    )


def _mistake(test: Outcome) -> str:
    """Return the likely mistake; where the test names none, the first line of its message."""
    if test.status in ("passed", "error", "not run", "not written"):
        return ""
    return test.likely or next(iter(test.message.splitlines()), "")[:200]


def _short(text: str) -> str:
    return text if len(text) <= WIDE else f"{text[: WIDE - 3]}..."
