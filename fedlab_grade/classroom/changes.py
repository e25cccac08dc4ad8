"""Marks that the instructor changes by hand, and comments for students.

They stand in ``changes.csv`` beside the grades. No command writes it once it is there, so that they
survive grading again. A row names a student, perhaps a question, and the new points, a comment, or
both. Points without a question are the mark of the whole.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from fedlab_grade.classroom.people import Person, letters, matcher
from fedlab_grade.classroom.roster import read_table
from fedlab_grade.disk import write_text
from fedlab_grade.escape import line
from fedlab_grade.options import Refusal

NAME = "changes.csv"
HEAD = ("student", "question", "points", "comment")

Changes = dict[str, tuple[dict[str, float], tuple[str, ...]]]  # student -> points, comments


def begin(folder: Path) -> None:
    """Write an empty file of changes, unless there is one."""
    path = folder / NAME
    if not path.exists():
        write_text(path, f"{','.join(HEAD)}\n", "utf-8-sig")


def read(folder: Path, people: Sequence[Person], questions: Sequence[str]) -> Changes:
    """Return the changes: student -> new points by question ("" for all), and comments."""
    path = folder / NAME
    if not path.exists():
        return {}
    (_, head), *rows = read_table(path)[0]
    titles = [letters(title) for title in head]
    if not {"student"} <= set(titles) <= set(HEAD):
        raise Refusal(f"{path} has the columns {', '.join(head)}; allowed: {', '.join(HEAD)}.")
    fits = matcher(people)
    out: Changes = {}
    for number, row in rows:
        cells = dict.fromkeys(HEAD, "") | dict(zip(titles, map(str.strip, row), strict=True))
        label, question, points, comment = (cells[title] for title in HEAD)
        found = [one for one in people if one.key == label] or fits(Person("", label))[0]
        wanted = re.fullmatch(r"(\d{1,6}([.,]\d{1,6})?)?", points)
        for ok, what, seen, allowed in (
            (len(found) == 1, "student", label, "a name or an id of one student of the class"),
            (question in ("", *questions), "question", question, ", ".join(questions)),
            (wanted and (points or comment), "points", points, "a number, or a comment"),
        ):
            if not ok:
                said = f"the {what} is {seen!r}; allowed: {allowed}"
                raise Refusal(f"{path}, line {number}: {said}.")
        marks, comments = out.setdefault(found[0].key, ({}, ()))
        if points:
            marks[question] = float(points.replace(",", "."))
        if comment:
            told = line(f"{question}: {comment}" if question else comment)
            out[found[0].key] = marks, (*comments, told)
    return out
