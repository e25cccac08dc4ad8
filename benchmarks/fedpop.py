"""Seconds of a whole FedPop search on the digits, beside those of its members alone."""

from typing import NamedTuple

import torch

from benchmarks.speed import seconds
from fedlab_edu import FedPop, FedProx, digits, fedpop, mlp, tune
from fedlab_edu.search.space import FEDPOP

HEAD = f"{'FedPop, 10 clients of 42':38}{'members':>11}{'search':>10}{'ratio':>8}{'tried':>10}"
BUDGETS = {"digits MLP 64-32-10, (4000, 800)": (4000, 800)}


class Searched(NamedTuple):
    """Seconds of as many members who never copy, of the search, and its clients' vectors."""

    members: float
    search: float
    tried: int

    def row(self) -> str:
        times = f"{self.members:9.2f} s{self.search:8.2f} s{self.search / self.members:7.2f}x"
        return f"{times}{self.tried:10,}"


def searched(budget: tuple[int, int], device: torch.device) -> Searched:
    """FedProx in the paper's space. Copies train with other settings than those they replace, so
    that the work is not the same: the ratio is what a search costs, not what evolution does."""
    fed, model = digits().to(device), mlp(64, 32, 10)

    def begun(evolves: bool) -> FedPop:
        return fedpop(model, fed, FEDPOP, *budget, G=evolves, L=evolves, method=FedProx())

    begun(True).step(model, fed)  # a first round also makes what later ones find made
    plain, _ = seconds(lambda: tune(begun(False), model, fed), device)
    took, done = seconds(lambda: tune(begun(True), model, fed), device)
    return Searched(plain, took, done.tried)
