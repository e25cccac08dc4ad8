"""The cost of FedEx: a round beside a round of FedAvg, and a race beside the race without it."""

from statistics import median
from time import perf_counter
from typing import Any

import torch

from benchmarks.speed import seconds
from fedlab_edu import (
    FedEx,
    FedProx,
    LocalHP,
    around,
    communicate,
    digits,
    mlp,
    start,
    successive_halving,
    tune,
)
from fedlab_edu.search.space import FEDEX

TITLE = "FedEx, k = 27"
ROUNDS = {
    "digits, a round, 1 epoch of 32": LocalHP(lr=0.1),
    "digits, a round, 3 epochs of 32": LocalHP(lr=0.1, epochs=3),
}
RACES = {
    "digits, in SHA of 27 arms, 4000 / 800": (4000, 800),
    "digits, in SHA of 27 arms, 2000 / 200": (2000, 200),
}


def rounds(c: LocalHP, device: torch.device, count: int = 200) -> dict[str, Any]:
    """The median of rounds of 10 clients, taken in turn; all 27 configurations are c, so that the
    clients' work is the same. The time between is that of drawing arms and of moving theta."""
    fed, model = digits().to(device), mlp(64, 32, 10)
    tuner = FedEx(LocalHP.concat([c] * 27), cutoff=0.0)
    runs, times = [start(model, fed, one) for one in (c, tuner)], ([], [])
    for _ in range(count + 5):
        for a, spent in enumerate(times):
            began = perf_counter()
            runs[a] = communicate(runs[a], model, fed)
            spent.append(perf_counter() - began)
    return _compared(*(median(spent[5:]) for spent in times))


def races(budget: tuple[int, int], device: torch.device) -> dict[str, Any]:
    """Successive halving alone and around FedEx. Here the work differs: neighbours of an arm's
    configuration have other numbers of epochs and minibatches, and other arms survive."""
    fed, model = digits().to(device), mlp(64, 32, 10)
    spent = []
    for how in ({}, {"tuner": around(FEDEX.client)}):
        race = successive_halving(model, fed, FEDEX, *budget, method=FedProx(), **how)
        race.step(model, fed)  # a first round also makes what later ones find made
        spent.append(seconds(lambda race=race: tune(race, model, fed), device)[0])
    return _compared(*spent)


def _compared(plain: float, fedex: float) -> dict[str, Any]:
    return {"without (s)": plain, "with (s)": fedex, "ratio": fedex / plain}
