"""Seconds of a race whose arms train together, beside the same race one arm after the other."""

from typing import Any

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

TITLE = "races of arms"
BUDGETS = {
    "digits, SHA of 27 arms, 4000 / 800": (4000, 800),
    "digits, SHA of 27 arms, 2000 / 200": (2000, 200),
}


def raced(budget: tuple[int, int], device: torch.device) -> dict[str, Any]:
    """Successive halving over FedEx's search space, 10 of 42 clients a round, once each way.

    The difference is between the winners' weights.
    """
    fed, model = digits().to(device), mlp(64, 32, 10)
    race = successive_halving(model, fed, FEDEX, *budget, method=FedProx())
    race.step(model, fed)  # a first round also makes what later ones find made
    together, done = seconds(lambda: tune(race, model, fed), device)
    alone, (runs, out) = seconds(lambda: one_by_one(race, model, fed), device)
    difference = (runs[done.best].w - done.winner.w).abs().max().item()
    return {
        "one by one (s)": alone, "together (s)": together, "ratio": alone / together,
        "rounds": done.used, "same arms stay": tuple(out) == done.out,
        "largest difference": difference,
    }  # fmt: skip


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
