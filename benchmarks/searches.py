"""Whole searches, each beside what it adds to: seconds of both, and their ratio.

A first round is played before the clock starts, because it also makes what later ones find made.
"""

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import torch

from benchmarks.speed import seconds
from benchmarks.workloads import GREY, noise
from fedlab_edu import FedProx, LocalHP, Model, communicate, fedpop, mlp, start, train, tune
from fedlab_edu.data import Federation, digits, dirichlet, federate
from fedlab_edu.features.selection import sweep
from fedlab_edu.features.share import share
from fedlab_edu.papers.features import FOURIER
from fedlab_edu.rounds.run import Run
from fedlab_edu.search.baselines import random_search, successive_halving
from fedlab_edu.search.race import Race
from fedlab_edu.search.schedules import survivors
from fedlab_edu.search.space import FEDEX, FEDPOP, FEDTUNE
from fedlab_edu.seeds import generator
from fedlab_edu.tuners.fedex import FedEx, around
from fedlab_edu.tuners.fedtune import fedtune

BUDGETS = ((4000, 800), (2000, 200))


def one_by_one(race: Race, model: Model, fed: Federation) -> tuple[list[Run], list[int | None]]:
    """Race in a loop over arms, without a batch; return the runs, and when each was eliminated."""
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


def raced(budget: tuple[int, int], device: torch.device) -> dict[str, Any]:
    """Time successive halving over FedEx's space, arms one by one and together.

    10 of 42 clients take part in a round. The difference is between the winners' weights.
    """
    fed, model = digits().to(device), mlp(64, 32, 10)
    race = successive_halving(model, fed, FEDEX, *budget, method=FedProx())
    race.step(model, fed)
    together, done = seconds(lambda: tune(race, model, fed), device)
    alone, (runs, out) = seconds(lambda: one_by_one(race, model, fed), device)
    difference = (runs[done.best].w - done.winner.w).abs().max().item()
    return {
        "one by one (s)": alone, "together (s)": together, "ratio": alone / together,
        "rounds": done.used, "same arms stay": tuple(out) == done.out,
        "largest difference": difference,
    }  # fmt: skip


def fedex_rounds(epochs: int, device: torch.device, count: int = 200) -> dict[str, Any]:
    """Time rounds of FedAvg and of FedEx in turn, with 27 equal configurations; return medians.

    The difference is the time to draw rows and to move theta.
    """
    fed, model, c = digits().to(device), mlp(64, 32, 10), LocalHP(lr=0.1, epochs=epochs)
    runs = [start(model, fed, one) for one in (c, FedEx(LocalHP.concat([c] * 27), cutoff=0.0))]
    times: tuple[list[float], list[float]] = [], []
    for _ in range(count + 5):
        for a, spent in enumerate(times):
            began = perf_counter()
            runs[a] = communicate(runs[a], model, fed)
            spent.append(perf_counter() - began)
    plain, fedex = (median(spent[5:]) for spent in times)
    return {"without (s)": plain, "with (s)": fedex, "ratio": fedex / plain}


def fedex_races(budget: tuple[int, int], device: torch.device) -> dict[str, Any]:
    """Time successive halving alone and around FedEx.

    The work differs: neighbours of an arm's configuration have other numbers of epochs and
    minibatches, and other arms survive.
    """
    fed, model = digits().to(device), mlp(64, 32, 10)
    spent = []
    for how in ({}, {"tuner": around(FEDEX.client)}):
        race = successive_halving(model, fed, FEDEX, *budget, method=FedProx(), **how)
        race.step(model, fed)
        spent.append(seconds(lambda race=race: tune(race, model, fed), device)[0])
    plain, fedex = spent
    return {"without (s)": plain, "with (s)": fedex, "ratio": fedex / plain}


def fedpop_search(budget: tuple[int, int], device: torch.device) -> dict[str, Any]:
    """Time FedPop and its members without evolution: FedProx in the paper's space.

    The work differs: copies train with other settings than those they replace.
    """
    fed, model = digits().to(device), mlp(64, 32, 10)
    members, search = (
        fedpop(model, fed, FEDPOP, *budget, G=evolves, L=evolves, method=FedProx())
        for evolves in (False, True)
    )
    search.step(model, fed)
    plain, _ = seconds(lambda: tune(members, model, fed), device)
    took, done = seconds(lambda: tune(search, model, fed), device)
    return {
        "members (s)": plain, "search (s)": took, "ratio": took / plain, "tried": done.tried
    }  # fmt: skip


def ten_clients() -> Federation:
    """Return ten clients with 6,000 images of noise for training and 1,500 for validation.

    They are skewed by Dirichlet(0.1), as in FedTune's paper: the largest has fifteen times as many
    as the smallest.
    """
    images = noise(GREY, 10, [7_500])
    rows = dirichlet(images.y, 10, 0.1, generator(0), minimum=10)
    return federate(images.x, images.y, rows, 10, (0.8, 0.2, 0.0), generator(1))


def fedtune_search(rounds: int, device: torch.device) -> dict[str, Any]:
    """Time FedTune and as many rounds of FedAvg with all clients: batches of 32, one epoch.

    All of the 30 rows are the same work.
    """
    fed, model, table = ten_clients().to(device), mlp(784, 128, 10), FEDTUNE.client.grid()
    begun, run = fedtune(model, fed, table, rounds), start(model, fed, LocalHP(lr=0.1))
    begun.step(model, fed)
    plain, _ = seconds(lambda: train(run, model, fed, rounds, len(fed)), device)
    took, done = seconds(lambda: tune(begun, model, fed), device)
    buffer = sum(w.nbytes for w in done.models.values())
    return {
        "FedAvg (s)": plain, "search (s)": took, "ratio": took / plain,
        "buffer (MiB)": buffer / 2**20,
    }  # fmt: skip


def feature_search(n: int, device: torch.device) -> dict[str, Any]:
    """Time the choice of one of 64 feature maps by shared fits and by a full sweep, in turn.

    The best of three times, on 1,197 digits and 300 for validation. The rank is that of the picked
    map by its error.
    """
    problem, rng = FOURIER.settings["book"]["digits"].problem(0, None), np.random.default_rng(0)
    place = None if device.type == "cpu" else str(device)
    maps, data = problem.maps(rng, 64, n, True, place), problem.data
    alone, shared = [], []
    for _ in range(3):
        took, error = seconds(lambda: sweep(maps, data, "error"), device)
        alone.append(took)
        took, history = seconds(lambda: share(maps, data, np.random.default_rng(1)), device)
        shared.append(took)
    rank = 1 + int((error < error[history.pick]).sum())
    return {
        "64 fits (s)": min(alone), "6 shared (s)": min(shared), "ratio": min(alone) / min(shared),
        "rank of the pick": rank,
    }  # fmt: skip


def in_processes(size: tuple[int, int], device: torch.device) -> dict[str, Any]:
    """Time random search with 8 arms in two processes and in this one, 10 of 42 clients a round."""
    hidden, rounds = size
    fed, model = digits(), mlp(64, hidden, 10)
    first, search = (
        random_search(model, fed, FEDEX, 8 * n, n, method=FedProx()) for n in (1, rounds)
    )
    tune(first, model, fed)
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        times = [perf_counter()]
        for what in (first, search):
            tune(what, model, fed, executor=pool)
            times.append(perf_counter())
    begun, apart = np.diff(times).tolist()
    here, _ = seconds(lambda: tune(search, model, fed), device)
    return {
        "here (s)": here, "processes (s)": apart, "ratio": here / apart, "their start (s)": begun
    }  # fmt: skip


Search = Callable[[Any, torch.device], dict[str, Any]]
#: Title -> name of a row -> the function that measures it, and its setting.
TABLES: dict[str, dict[str, tuple[Search, Any]]] = {
    "races of arms": {f"digits, SHA of 27 arms, {b[0]} / {b[1]}": (raced, b) for b in BUDGETS},
    "FedEx, k = 27": {
        "digits, a round, 1 epoch of 32": (fedex_rounds, 1),
        "digits, a round, 3 epochs of 32": (fedex_rounds, 3),
        **{f"digits, in SHA of 27 arms, {b[0]} / {b[1]}": (fedex_races, b) for b in BUDGETS},
    },
    "FedPop, 10 clients of 42": {"digits MLP 64-32-10, (4000, 800)": (fedpop_search, BUDGETS[0])},
    "FedTune, 30 candidates each": {"MLP 784-128-10, 10 clients, budget 30": (fedtune_search, 30)},
    "choosing a feature map": {
        f"digits, 64 maps of {n:,} features": (feature_search, n) for n in (300, 1000)
    },
    "8 arms in two processes": {
        f"processes, MLP 64-{hidden}-10, {rounds} rounds": (in_processes, (hidden, rounds))
        for hidden, rounds in ((32, 50), (32, 200), (512, 50))
    },
}
