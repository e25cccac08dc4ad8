"""The hints: all questions have three, they are short, and they give no answer away."""

import re
from pathlib import Path

import pytest

from fedlab_edu import cli
from fedlab_grade.home import hints, progress
from fedlab_grade.release import secret

pytestmark = pytest.mark.grader

ROOT = Path(__file__).parents[1]
EXERCISES = ROOT / "tests" / "exercises"
SOLUTIONS = sorted((ROOT / "solutions").glob("ex*.py"))
ALL = {path.stem: hints.read(path) for path in sorted((EXERCISES / "hints").glob("*.toml"))}
TEXTS = [
    pytest.param(question, text, id=f"{question}-{level}")
    for questions in ALL.values()
    for question, three in questions.items()
    for level, text in zip(hints.LEVELS, three, strict=True)
]


def squeezed(text: str) -> str:
    return "".join(text.split())


@pytest.mark.parametrize("solution", SOLUTIONS, ids=lambda p: p.stem)
def test_each_question_of_an_exercise_has_hints_in_its_order(solution):
    exercise = solution.stem[:4]
    asked = re.findall(r'"""Exercise (\d+)\.(\d+): ', solution.read_text())
    assert [f"ex{int(e):02}.{q}" for e, q in asked] == list(ALL[exercise])


@pytest.mark.parametrize(("question", "text"), TEXTS)
def test_a_hint_is_of_three_sentences_at_most(question, text):
    sentences = re.findall(r"[.?!](?=\s|$)", text.strip())
    assert 1 <= len(sentences) <= 3
    assert text.strip()[-1] in ".?"


@pytest.mark.parametrize(("question", "text"), TEXTS)
def test_no_hint_holds_a_line_of_a_solution_or_code_to_paste(question, text):
    (source,) = (p for p in SOLUTIONS if p.stem.startswith(question[:4]))
    lines = [line for block in secret(source.read_text()) for line in block]
    assert len(lines) > 10
    for line in lines:
        told = squeezed(line.removeprefix("return ").partition(" = ")[2] or line)
        assert len(told) < 8 or told not in squeezed(text), line
    assert not re.search(r"\breturn \w+\(|\w\(\w*\)\.|\w\[\w|np\.|torch\.|==|:=|lambda x", text)


@pytest.mark.parametrize("width", [40, 88])
@pytest.mark.parametrize("level", [1, 2, 3])
def test_a_hint_fits_the_terminal_and_tells_which_are_left(width, level):
    for questions in ALL.values():
        for question, three in questions.items():
            lines = hints.render(question, three, level, width).splitlines()
            words = lines[2 : lines.index("", 2)]
            assert max(map(len, words)) <= width
            assert " ".join(" ".join(words).split()) == " ".join(three[level - 1].split())
            left = [int(n) for n in re.findall(r"(\d) \(", lines[-2])]
            assert left == list(range(level + 1, 4))
            assert width < 88 or max(map(len, lines)) <= width
            assert len(lines) <= 24  # so that all of it is seen at once


@pytest.mark.parametrize("text", ['["a"]\nwhat = ""\nhow = ""\nwhere = ""', '["a"]\nwhat = ""'])
def test_a_file_of_hints_with_other_levels_is_refused(text, tmp_path):
    (tmp_path / "ex01.toml").write_text(text)
    with pytest.raises(ValueError, match=r"a has .*; allowed: \['what', 'where', 'how'\]"):
        hints.read(tmp_path / "ex01.toml")


@pytest.fixture
def course(tmp_path, monkeypatch):
    (tmp_path / "exercises").mkdir()
    folder = tmp_path / "tests/exercises/hints"
    folder.mkdir(parents=True)
    text = '["ex01.1"]\nwhat = "A"\nwhere = "B"\nhow = "C"\n'
    (folder / "ex01.toml").write_text(text + text.replace("01.1", "01.2"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def asked(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert cli.main(["hint", *arguments]) == 0
    return capsys.readouterr().out.splitlines()[2].strip()


def test_the_same_command_gives_the_next_hint_until_the_last(course, capsys):
    assert [asked(capsys, "ex01.1") for _ in range(4)] == ["A", "B", "C", "C"]
    assert asked(capsys, "ex01.2") == "A"  # each question counts by itself


def test_a_level_is_given_when_it_is_named_and_the_next_one_follows_it(course, capsys):
    assert asked(capsys, "ex01.1", "--level", "2") == "B"
    assert asked(capsys, "ex01.1") == "C"
    assert asked(capsys, "ex01.1", "--level", "1") == "A"
    assert asked(capsys, "ex01.1") == "B"


@pytest.mark.parametrize("level", [-3, 99])
def test_a_level_in_a_broken_state_file_does_no_harm(level, course, capsys):
    progress.save(course, progress.State(hints={"ex01.1": level}))
    assert asked(capsys, "ex01.1") == ("A" if level < 0 else "C")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ex01"], "name a question: ex01.1, ex01.2."),
        (["ex01.7"], "there is no question 'ex01.7'; there are: ex01.1, ex01.2."),
        (["ex09.1"], "there are no hints to 'ex09'; there are some to: ex01."),
        (["../ex01.1"], "there are no hints to '../ex01'"),
        (["ex01.1", "--level", "4"], "there is no hint 4; there are hints 1 to 3."),
        (["ex01.1", "--level", "0"], "there is no hint 0; there are hints 1 to 3."),
    ],
)
def test_what_there_is_no_hint_to_is_said_in_one_sentence(arguments, message, course, capsys):
    assert cli.main(["hint", *arguments]) == 2
    out, error = capsys.readouterr()
    assert out == ""
    assert len(error.splitlines()) == 1
    assert (message in error) or ".." in arguments[0]
    assert not (course / progress.NAME).exists()
