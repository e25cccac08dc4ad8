"""Shapes in signatures are checked under test: a wrong one is an error here, and free elsewhere."""

import torch
from jaxtyping import install_import_hook

from tests import typecheck

install_import_hook("fedlab_edu", f"{typecheck.__name__}.typechecker")

# One thread: threads inside an operation spin, and crawl where other programs want the cores too.
torch.set_num_threads(1)
