"""A line about a search, in place of all its numbers."""

from math import isnan
from typing import Any


def summary(search: Any) -> str:
    """Return the class of a search, its arms, rounds and best score, for its ``repr``."""
    best = "no score yet" if isnan(search.best_score) else f"best score {search.best_score:.4g}"
    parts = [f"{search.used:,} of {search.total:,} rounds", best]
    if hasattr(search, "alive"):
        parts.insert(0, f"{len(search.alive)} of {len(search.runs)} arms alive")
    return f"{type(search).__name__}({', '.join(parts)})"
