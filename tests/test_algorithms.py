"""The pages of algorithms: their examples run, as they are printed."""

import re
from pathlib import Path

import pytest

PAGES = sorted(Path(__file__).parents[1].glob("book/algorithms/*.md"))


@pytest.mark.filterwarnings("ignore:.*has diverged")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_examples_of_a_page_run_in_order(page: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S)
    assert blocks
    names: dict[str, object] = {"__name__": "page"}
    for block in blocks:
        exec(block, names)
