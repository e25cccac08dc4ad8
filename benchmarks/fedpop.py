"""Seconds of a whole FedPop search on the digits, beside those of its members alone."""

from typing import Any

import torch

from benchmarks.speed import seconds
from fedlab_edu import FedPop, FedProx, digits, fedpop, mlp, tune
from fedlab_edu.search.space import FEDPOP

TITLE = "FedPop, 10 clients of 42"
BUDGETS = {"digits MLP 64-32-10, (4000, 800)": (4000, 800)}


def searched(budget: tuple[int, int], device: torch.device) -> dict[str, Any]:
    """FedProx in the paper's space. Copies train with other settings than those they replace, so
    that the work is not the same: the ratio is what a search costs, not what evolution does."""
    fed, model = digits().to(device), mlp(64, 32, 10)

    def begun(evolves: bool) -> FedPop:
        return fedpop(model, fed, FEDPOP, *budget, G=evolves, L=evolves, method=FedProx())

    begun(True).step(model, fed)  # a first round also makes what later ones find made
    plain, _ = seconds(lambda: tune(begun(False), model, fed), device)
    took, done = seconds(lambda: tune(begun(True), model, fed), device)
    return {
        "members (s)": plain, "search (s)": took, "ratio": took / plain, "tried": done.tried
    }  # fmt: skip
