"""A line about a search, in place of all its numbers."""

from math import isnan
from typing import Any


def summary(search: Any) -> str:
    """Return the class of a search, its arms, rounds and best score, for its ``repr``."""
    inner = getattr(search, "race", search)  # a Bayesian search has its arms in a race
    best = "no score yet" if isnan(search.best_score) else f"best score {search.best_score:.4g}"
    parts = [f"{search.used:,} of {search.total:,} rounds", best]
    if hasattr(inner, "alive"):
        parts.insert(0, f"{len(inner.alive)} of {len(inner.runs)} arms alive")
    return f"{type(search).__name__}({', '.join(parts)})"
