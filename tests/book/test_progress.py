"""What a reader answers stays in the browser, and a page of the book shows all of it."""

import re

import pytest
from playwright.sync_api import expect

from tests.book.cells import run
from tests.book.conftest import HTML, SOURCES, Visit, go, watched
from tests.test_live import SOLUTIONS

pytestmark = pytest.mark.book

CHAPTERS = [text for name, text in SOURCES.items() if re.match(r"ch\d\d_", name)]
QUESTIONS = sum(len(re.findall(r"^choice\($", text, re.M)) for text in CHAPTERS)
WARM_UPS = sum(text.count("\n:check: ") for text in CHAPTERS)


# A page with questions and a warm-up that is soon open.
PAGE = "ch09_fleet"


@pytest.fixture
def window(browser):
    """A window whose reader has answered nothing yet."""
    seen = watched(browser)
    yield seen
    seen.page.close()


def score(window: Visit, site: str) -> str:
    page = go(window, f"{site}/progress.html").page
    assert window.errors == []
    return page.locator(".progress-score").inner_text()


def test_the_list_has_every_question_and_every_warm_up_of_the_chapters(window, site):
    page = go(window, f"{site}/progress.html").page
    expect(page.locator(".progress-chapter li")).to_have_count(QUESTIONS + WARM_UPS)
    names = page.locator(".progress-chapter li").evaluate_all("all => all.map(e => e.dataset.name)")
    assert len(set(names)) == len(names)
    said = page.locator(".progress-score").inner_text()
    assert said.startswith(f"0 of {QUESTIONS} questions answered, 0 of them right")
    assert said.endswith(f"0 of {WARM_UPS} warm-ups done.")


def test_formulas_in_answers_are_typeset(window, site):
    page = go(window, f"{site}/progress.html").page
    page.evaluate("""() => {
        const guess = {answer: "It is $c$.", right: false};
        for (const item of document.querySelectorAll(".progress-chapter li"))
            if (!item.dataset.name.startsWith("fedlab_edu."))
                progress.note(item.dataset.name, guess); }""")
    page = go(window, f"{site}/progress.html").page
    said = page.locator(".progress-said")
    expect(said.locator("mjx-container")).to_have_count(QUESTIONS)
    expect(said.filter(has_text="$c$")).to_have_count(0)


SERVED = pytest.param("served", marks=pytest.mark.nightly)


@pytest.mark.parametrize("place", ["from the folder", SERVED])
def test_a_first_guess_is_kept_shown_again_and_forgotten_on_request(window, site, place):
    site = site if place == "served" else f"file://{HTML}"
    page = go(window, f"{site}/{PAGE}.html").page
    quiz = page.locator(".fedlab-quiz").first
    for right in (False, True):  # the answers' own replies say which is which
        for answer in quiz.get_by_role("radio").all():
            answer.check()
            if quiz.locator(".fedlab-reply").inner_text().startswith("Right.") == right:
                break
            page.evaluate("localStorage.clear()")
        if not right:
            first = quiz.locator("label:has(:checked)").inner_text()
    last = quiz.locator("label:has(:checked)").inner_text()

    for _ in range(10):  # on a busy machine the next page may be there before what was stored
        quiz = go(window, f"{site}/{PAGE}.html").page.locator(".fedlab-quiz").first
        if quiz.locator(":checked").count():
            break
    expect(quiz.locator("label:has(:checked)")).to_have_text(last)
    expect(quiz.locator(".fedlab-reply")).to_have_text(re.compile(r"^Right\. "))

    assert score(window, site).startswith(f"1 of {QUESTIONS} questions answered")
    page = go(window, f"{site}/progress.html").page
    assert first
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Forget my answers").click()
    expect(page.locator(".progress-score")).to_have_text(re.compile("^0 of"))
    page = go(window, f"{site}/{PAGE}.html").page
    expect(page.locator(".fedlab-quiz :checked")).to_have_count(0)


def test_a_warm_up_counts_when_all_its_checks_hold(window, site):
    for right in (False, True):
        cell = go(window, f"{site}/{PAGE}.html").page.locator(".live-cell").last
        if right:
            cell.get_by_role("textbox").fill(SOLUTIONS["answered"])
        run(cell, "Check")
        assert score(window, site).endswith(f"{int(right)} of {WARM_UPS} warm-ups done.")
