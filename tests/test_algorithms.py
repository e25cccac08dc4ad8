"""The pages of algorithms: their examples run, as they are printed."""

import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest
import yaml

PAGES = sorted(Path(__file__).parents[1].glob("book/algorithms/*.md"))


@pytest.mark.filterwarnings("ignore:.*has diverged")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_examples_of_a_page_run_in_order(page):
    blocks = re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S)
    assert blocks
    names: dict[str, object] = {"__name__": "page"}
    for block in blocks:
        exec(block, names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_says_of_each_option_what_it_is_in_the_paper(page):
    """The build of the book refuses the page otherwise; this is the same test, and quick."""
    blocks = re.findall(
        r"^```{options} (\S+)\.(\w+)\n(?::without: ([^\n]*)\n)?(.*?)^```$",
        page.read_text(encoding="utf-8"),
        re.M | re.S,
    )
    for module, name, left_out, text in blocks:
        parameters = inspect.signature(getattr(import_module(module), name)).parameters.values()
        options = {one.name for one in parameters if one.default is not one.empty}
        assert set(yaml.safe_load(text)) == options - set(left_out.split())
