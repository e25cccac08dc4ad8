"""The students' files are made from the solutions, and give nothing of them away."""

import re
from pathlib import Path

import pytest

from fedlab_edu.grading.release import main, release

ROOT = Path(__file__).parents[1]
SOLUTIONS = sorted((ROOT / "solutions").glob("*.py"))


def test_the_exercises_are_in_step_with_the_solutions() -> None:
    released = {p.name: p.read_text() for p in (ROOT / "exercises").glob("*.py")}
    assert released == {p.name: release(p.read_text(), p.name) for p in SOLUTIONS}


def test_no_line_of_a_solution_is_in_any_released_file() -> None:
    texts = [p.read_text() for p in (ROOT / "exercises").rglob("*") if p.suffix != ".pyc"]
    released = {line.strip() for text in texts for line in text.splitlines()}
    secret = []
    for path in SOLUTIONS:
        for block in path.read_text().split("# BEGIN SOLUTION")[1:]:
            secret += [s.strip() for s in block.split("# END SOLUTION")[0].splitlines()]
    assert len(secret) > 15
    assert not {s for s in secret if s} & released


SOURCE = '''\
# %% tags=["exercise", "q1"]
def double(x):
    """Twice x."""
    # BEGIN SOLUTION
    return x + x
    # END SOLUTION
'''


def test_a_release_has_a_stub_in_place_of_the_answer() -> None:
    assert (
        release(SOURCE)
        == '''\
# %% tags=["exercise", "q1"]
def double(x):
    """Twice x."""
    # Your answer goes here: replace the next line.
    raise NotImplementedError("not written yet")
'''
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("    # END SOLUTION\n", "", "line 4: # BEGIN SOLUTION without # END SOLUTION"),
        ("# BEGIN SOLUTION", "# nothing", "line 6: # END SOLUTION without # BEGIN"),
        ("return x + x", "# BEGIN SOLUTION", "line 5: a solution begins inside the one of line 4"),
        ("# END SOLUTION", "#end solution", "line 6: write the marker '#end solution' as"),
        ("    # END SOLUTION", "# %%\n# END SOLUTION", "line 4: # BEGIN SOLUTION without"),
        (SOURCE[29:], "x = 2\n", "line 1: an exercise without # BEGIN SOLUTION"),
        ("def double(x)", "def double(x", "line 2 of the student's file: it is not Python"),
    ],
)
def test_a_release_that_would_give_answers_away_or_not_run_is_refused(
    old: str, new: str, message: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(f"ex09.py, {message}")):
        release(SOURCE.replace(old, new), "ex09.py")


def test_every_solution_is_released_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("ex08_a.py", "ex09_b.py", "notes.py"):
        (tmp_path / name).write_text(SOURCE)
    (tmp_path / "out").mkdir()
    main(str(tmp_path), str(tmp_path / "out"))
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["ex08_a.py", "ex09_b.py"]
    assert (tmp_path / "out/ex09_b.py").read_text() == release(SOURCE)
    assert len(capsys.readouterr().out.splitlines()) == 2
