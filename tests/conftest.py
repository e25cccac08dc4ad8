"""What holds for all tests: shapes are checked, one thread computes, random numbers are the same.

Shapes in signatures are checked under test: a wrong one is an error here, and free elsewhere.
"""

import os

# One thread: threads inside an operation spin, and crawl where other programs want the cores too.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when NumPy and SciPy are imported

import pytest
import torch
from jaxtyping import install_import_hook

from tests import typecheck

install_import_hook("fedlab_edu", f"{typecheck.__name__}.typechecker")
torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def same_random_numbers() -> None:
    """A test that draws from PyTorch's own generator draws the same, whatever ran before it."""
    torch.manual_seed(0)
