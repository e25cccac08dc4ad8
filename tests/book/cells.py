"""Live cells: press a button, wait for the end of the run, and read what they show."""

from playwright.sync_api import Locator

# What the cell says once it has run so often. It is told of the end, for to ask again and again
# takes time of the processor.
AFTER = """(cell, runs) => new Promise((done) => {
    const look = () => Number(cell.dataset.runs ?? 0) >= runs
        && done(cell.querySelector(".live-status").innerText);
    new MutationObserver(look).observe(cell, { attributeFilter: ["data-runs"] });
    setTimeout(() => done("no end after 25 seconds"), 25_000);
    look();
})"""


def run(cell: Locator, button: str = "Run") -> str:
    """Press a button, wait for the end of the run, and return what the cell says."""
    before = runs(cell)
    cell.get_by_role("button", name=button).press("Enter")
    return after(cell, before + 1)


def runs(cell: Locator) -> int:
    return int(cell.get_attribute("data-runs") or 0)


def after(cell: Locator, runs: int) -> str:
    return cell.evaluate(AFTER, runs)


def drawn(cell: Locator) -> tuple[str, str]:
    """The cell's picture, and what it has printed."""
    return tuple(
        cell.evaluate(
            """(cell) => [cell.querySelector(".live-picture").innerHTML,
                          cell.querySelector(".live-printed").innerText.trim()]"""
        )
    )
