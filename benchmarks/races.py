"""Seconds of a race whose arms train together, beside the same race one arm after the other."""

from typing import NamedTuple

import torch

from benchmarks.speed import seconds
from fedlab_edu import (
    Federation,
    FedProx,
    Model,
    communicate,
    digits,
    mlp,
    successive_halving,
    tune,
)
from fedlab_edu.rounds.run import Run
from fedlab_edu.search.race import Race
from fedlab_edu.search.schedules import survivors
from fedlab_edu.search.space import FEDEX

HEAD = (
    f"{'races of arms':38}{'one by one':>11}{'together':>10}{'ratio':>8}{'rounds':>10}"
    f"{'same arms stay':>18}{'largest difference':>21}"
)
BUDGETS = {
    "digits, SHA of 27 arms, 4000 / 800": (4000, 800),
    "digits, SHA of 27 arms, 2000 / 200": (2000, 200),
}


class Raced(NamedTuple):
    """Seconds of both, the rounds spent, whether the same arms survive each stop, and the largest
    difference between the winners' weights."""

    alone: float
    together: float
    rounds: int
    same: bool
    difference: float

    def row(self) -> str:
        return (
            f"{self.alone:9.1f} s{self.together:8.1f} s{self.alone / self.together:7.1f}x"
            f"{self.rounds:10}{'yes' if self.same else 'no':>18}{self.difference:21.1e}"
        )


def raced(budget: tuple[int, int], device: torch.device) -> Raced:
    """Successive halving over FedEx's search space, 10 of 42 clients a round, once each way."""
    fed, model = digits().to(device), mlp(64, 32, 10)
    race = successive_halving(model, fed, FEDEX, *budget, method=FedProx())
    race.step(model, fed)  # a first round also makes what later ones find made
    together, done = seconds(lambda: tune(race, model, fed), device)
    alone, (runs, out) = seconds(lambda: one_by_one(race, model, fed), device)
    same, a = tuple(out) == done.out, done.best
    difference = (runs[a].w - done.winner.w).abs().max().item()
    return Raced(alone, together, done.used, same, difference)


def one_by_one(race: Race, model: Model, fed: Federation) -> tuple[list[Run], list[int | None]]:
    """The race with a loop over arms in place of a batch; its runs, and when each is out."""
    (bracket,), judge = race.brackets, race.estimate
    runs, alive = list(race.runs), list(range(bracket.arms))
    out: list[int | None] = [None] * bracket.arms
    for stop in bracket.stops:
        for a in alive:
            for _ in range(stop - runs[a].round):
                runs[a] = communicate(runs[a], model, fed)
        if stop < bracket.stops[-1]:
            scores = [judge.of_round(runs[a].history[-1]) for a in alive]  # its gamma is 0
            stay = [alive[place] for place in survivors(scores, bracket.eta)]
            for a in set(alive) - set(stay):
                out[a] = stop
            alive = stay
    return runs, out
