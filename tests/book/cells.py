"""Live cells: press a button, wait for the end of the run, and read what they show."""

from playwright.sync_api import Locator, expect


def run(cell: Locator, button: str = "Run") -> str:
    """Press a button, wait for the end of the run, and return what the cell says."""
    before = runs(cell)
    cell.get_by_role("button", name=button).click()
    return after(cell, before + 1)


def runs(cell: Locator) -> int:
    return int(cell.get_attribute("data-runs") or 0)


def after(cell: Locator, runs: int) -> str:
    expect(cell).to_have_attribute("data-runs", str(runs), timeout=20_000)
    return cell.locator(".live-status").inner_text()


def drawn(cell: Locator) -> tuple[str, str]:
    picture, printed = cell.locator(".live-picture"), cell.locator(".live-printed")
    return picture.inner_html(), printed.inner_text().strip()
