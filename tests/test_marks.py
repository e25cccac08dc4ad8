"""The marks of the exercises follow the minutes that their questions take."""

import re
from pathlib import Path

import pytest

from fedlab_grade.home.progress import exercise_of

pytestmark = pytest.mark.grader

EXERCISES = Path(__file__).parent / "exercises"
BOOK = Path(__file__).parents[1] / "book"
PER_MINUTE = 0.2  # a point for five minutes
FACTOR = 1.6  # that a question may be away from it


class Markers:
    """A pytest plugin that keeps the markers ``q`` of the tests."""

    def __init__(self) -> None:
        self.found: list[tuple[str, float, float]] = []

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        if marker := item.get_closest_marker("q"):
            given = marker.kwargs
            self.found.append((marker.args[0], given["points"], given.get("minutes", 0)))


def test_the_marks_of_a_question_follow_its_minutes(capsys):
    markers = Markers()
    options = ["--collect-only", "-qq", "-p", "no:cacheprovider", "-p", "no:randomly"]
    assert pytest.main([str(EXERCISES), *options], plugins=[markers]) == 0
    capsys.readouterr()
    points: dict[str, float] = {}
    minutes: dict[str, float] = {}
    for question, most, long in markers.found:
        points[question] = points.get(question, 0) + most
        minutes[question] = long
    for question, most in points.items():
        print(f"{question}  {most:g} points  {minutes[question]:g} minutes")
    for exercise in sorted(EXERCISES.glob("test_ex*.py")):
        about = exercise_of(exercise)
        (page,) = BOOK.glob(f"ch{about.name[2:]}_[!m]*.md")
        told = re.findall(r"- \*\*\w+\*\* \((\d+) minutes, (\d+) points\)", page.read_text("utf-8"))
        mine = [q for q in points if q.startswith(about.name)]
        core, experiment = mine[:-1], mine[-1:]
        for part, (time, most) in zip((core, experiment), told, strict=True):
            assert int(time) == sum(minutes[q] for q in part), about.name
            assert int(most) == sum(points[q] for q in part), about.name
        assert about.points == sum(m for q, m in points.items() if q.startswith(about.name))
    away = {q: m for q, m in points.items() if not _fits(m, minutes[q])}
    assert away == {}


def _fits(points: float, minutes: float) -> bool:
    return 1 / FACTOR <= points / (PER_MINUTE * max(minutes, 1)) <= FACTOR
