"""Settings of all tests: shapes are checked, one thread computes, random numbers are the same.

Shapes in signatures are checked under test: a wrong one is an error here, and free elsewhere. Long
simulations go without: there the checks take up to two fifths of the time (19 s instead of 11 in
test_resume.py), and find nothing that the short tests of the same functions do not.
"""

import os
from collections.abc import Iterator

# One thread: threads inside an operation spin, and crawl where other programs want the cores too.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when NumPy and SciPy are imported

import jaxtyping
import pytest
import torch
from jaxtyping import config, install_import_hook

from tests import typecheck

jaxtyping.jaxtyped = typecheck.jaxtyped
install_import_hook("fedlab_edu", f"{typecheck.__name__}.typechecker")
torch.set_num_threads(1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest, so that no process is left with them at the end."""
    long = {item.path for item in items for name in ("processes", "book") if name in item.keywords}
    items.sort(key=lambda item: item.path not in long)


@pytest.fixture(autouse=True)
def same_random_numbers() -> None:
    """A test that draws from PyTorch's own generator draws the same, whatever ran before it."""
    torch.manual_seed(0)


@pytest.fixture(autouse=True)
def shapes(request: pytest.FixtureRequest) -> Iterator[None]:
    """Check shapes, but not in long simulations."""
    config.update("jaxtyping_disable", request.node.get_closest_marker("long") is not None)
    yield
    config.update("jaxtyping_disable", False)
