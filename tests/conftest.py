"""Settings of all tests: shapes are checked, one thread computes, random numbers are the same.

Shapes in signatures are checked under test: a wrong one is an error here, and free elsewhere. A
function is checked in its first 10 calls of each test. To check the first 100 takes a seventh more
of the time of test_fedtune.py and test_aggregation.py.
"""

import gc
import os
import sys
from collections.abc import Iterator

# One thread: threads inside an operation spin, and crawl where other programs want the cores too.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when NumPy and SciPy are imported

import jaxtyping
import pytest
import torch
from jaxtyping import config, install_import_hook

from fedlab_grade import process
from tests import typecheck, warm

jaxtyping.jaxtyped = typecheck.jaxtyped
install_import_hook("fedlab_edu", f"{typecheck.__name__}.typechecker")
torch.set_num_threads(1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest, so that no process is left with them at the end."""
    long = {item.path for item in items for name in ("processes", "book") if name in item.keywords}
    items.sort(key=lambda item: item.path not in long)


def pytest_collection_finish() -> None:
    """Make forks cheap: in a process that has collected all tests, three times as cheap."""
    if sys.platform == "linux":
        from fedlab_grade.sandbox.zygote import ready_to_fork

        gc.collect()
        ready_to_fork()


def pytest_runtest_setup() -> None:
    """Check the first calls of each function again, whatever a test has switched off."""
    config.update("jaxtyping_disable", False)
    typecheck.calls.clear()


@pytest.fixture(autouse=True)
def same_random_numbers() -> None:
    """A test that draws from PyTorch's own generator draws the same, whatever ran before it."""
    torch.manual_seed(0)


@pytest.fixture
def unchecked() -> None:
    """No checks of types, which users do not have; the next test has them again."""
    config.update("jaxtyping_disable", True)


@pytest.fixture(scope="module")
def forked() -> Iterator[None]:
    """Checks start in a fork of a process that has loaded PyTorch; in test_cli.py, in a new one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(process.Child, "start", warm.Process)
        yield
