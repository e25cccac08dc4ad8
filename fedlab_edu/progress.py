"""Progress bars in terminals and notebooks."""

import os
import sys
from collections.abc import Iterable
from threading import RLock
from typing import Any

from tqdm.auto import tqdm

if hasattr(os, "register_at_fork"):  # a bar's lock may be held by a thread that is not copied
    os.register_at_fork(after_in_child=lambda: tqdm.set_lock(RLock()))


def progress_bar(
    iterable: Iterable[Any] | None = None, *, hidden: bool = False, **options: Any
) -> tqdm:
    """Return tqdm's bar, which also shows the time left.

    It appears in terminals and notebooks only. ``TQDM_DISABLE=1`` in the environment hides it.

    Args:
        options: of `tqdm`, such as ``total`` and ``unit``.
    """
    # as in a service, or without a console
    nowhere = sys.stderr is None or getattr(sys.stderr, "closed", False)
    off = hidden or nowhere or bool(os.environ.get("TQDM_DISABLE"))
    return tqdm(iterable, disable=True if off else None, **options)  # None: unless in a terminal
