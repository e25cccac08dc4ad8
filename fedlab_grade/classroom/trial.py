"""Try an assignment's tests on its solution, on the untouched file and on its typical answers."""

import re
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fedlab_grade.assignment import Assignment, find
from fedlab_grade.mutants import Mutant
from fedlab_grade.options import Refusal
from fedlab_grade.run import CheckBroken, Report, Result, grade, marks

SOLUTION, UNTOUCHED = "the solution", "the untouched file"
WORKERS = 2  # processes that grade side by side; each keeps a core busy


def try_out(assignment: str) -> int:
    """Print how the tests judge each answer; return 1 where one is judged otherwise than marked."""
    chosen = find(assignment)
    if chosen.source is None:
        raise Refusal(f"there is no solution beside {chosen.tests}.")
    tried = answers(chosen)
    try:
        reports = grade_answers(chosen.tests, tried)
    except CheckBroken as error:
        raise Refusal(f"the tests cannot be run: {error}") from None
    wrong = {answer.name: complaint(answer, reports[answer.name]) for answer in tried}
    for answer in tried:
        report, kind = reports[answer.name], "wrong " if answer.question else ""
        won, points = marks(report.results)
        print(f"{'✗' if wrong[answer.name] else ' '} {won:g} of {points:g}  {kind}{answer.name}")
        if wrong[answer.name]:
            print(f"    {wrong[answer.name]}")
    known = {answer.question for answer in tried}
    for question in reports[SOLUTION].questions:
        if question not in known:
            print(f"  {question} has no wrong answer yet")
    return int(any(wrong.values()))


def answers(assignment: Assignment) -> list[Mutant]:
    """Return all that the tests are tried on."""
    first = [Mutant(SOLUTION, assignment.reference), Mutant(UNTOUCHED, assignment.stub)]
    return [*first, *assignment.typical]


def grade_answers(tests: Path, tried: Sequence[Mutant]) -> dict[str, Report]:
    """Grade answers that are trusted, in child processes; return name -> report.

    Raises:
        CheckBroken: the tests cannot be run.
    """
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(WORKERS) as pool:
        files = {Path(folder, f"answer{i:04}.py"): answer for i, answer in enumerate(tried)}
        for path, answer in files.items():
            path.write_text(answer.text, encoding="utf-8")
        shares = [list(files)[i::WORKERS] for i in range(WORKERS)]
        jobs = [pool.submit(grade, tests, share) for share in shares if share]
        return {files[report.file].name: report for job in jobs for report in job.result()}


def complaint(answer: Mutant, report: Report) -> str:
    """Return how the tests judge an answer otherwise than it is marked; "" where they do not."""
    fails = failed_questions(report)
    failed = ", ".join(fails) or "nothing"
    if answer.name == UNTOUCHED:
        won, _ = marks(report.results)
        return f"should win nothing, and wins {won:g} points" if won else ""
    if not answer.question:
        said = told([r for r in report.results if r.status != "passed"])
        return f"should get full marks, and fails {failed}: {said}" if fails else ""
    if fails != [answer.question]:
        return f"should fail {answer.question} and nothing else, and fails {failed}"
    said = told(report.questions[answer.question])
    return "" if re.search(answer.hint, said) else f"should be told {answer.hint!r}, not: {said}"


def failed_questions(report: Report) -> list[str]:
    questions = report.questions.items()
    return [name for name, results in questions if any(r.status != "passed" for r in results)]


def told(results: Sequence[Result]) -> str:
    """Return all that the student reads about some results."""
    return "\n".join(f"{r.message} {r.likely}" for r in results)
