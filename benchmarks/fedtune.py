"""Seconds of a search with FedTune, beside those of as many rounds of FedAvg with all clients."""

from typing import Any

import torch

from benchmarks.speed import seconds
from benchmarks.workloads import GREY, noise
from fedlab_edu import Federation, LocalHP, mlp, start, train, tune
from fedlab_edu.data.partition import dirichlet, federate
from fedlab_edu.search.space import FEDTUNE
from fedlab_edu.seeds import generator
from fedlab_edu.tuners.fedtune import fedtune

CLIENTS, IMAGES, VALIDATION = 10, 6_000, 0.2
TITLE = "FedTune, 30 candidates each"
BUDGETS = {"MLP 784-128-10, 10 clients, budget 30": 30}


def federation() -> Federation:
    """Ten clients with 6,000 images of noise to train on and 1,500 to validate, their classes
    divided by Dirichlet(0.1) as in the paper: the largest has fifteen times the smallest's."""
    images = noise(GREY, 10, [round(IMAGES / (1 - VALIDATION))])
    rows = dirichlet(images.y, CLIENTS, 0.1, generator(0), minimum=10)
    fractions = (1 - VALIDATION, VALIDATION, 0.0)
    return federate(images.x, images.y, rows, 10, fractions, generator(1))


def searched(rounds: int, device: torch.device) -> dict[str, Any]:
    """Batches of 32, one epoch; 30 candidates, which have the same work whichever is drawn."""
    fed, model, table = federation().to(device), mlp(784, 128, 10), FEDTUNE.client.grid()
    begun, run = fedtune(model, fed, table, rounds), start(model, fed, LocalHP(lr=0.1))
    begun.step(model, fed)  # a first round also makes what later ones find made
    plain, _ = seconds(lambda: train(run, model, fed, rounds, CLIENTS), device)
    took, done = seconds(lambda: tune(begun, model, fed), device)
    buffer = sum(w.nbytes for w in done.models.values())
    return {
        "FedAvg (s)": plain, "search (s)": took, "ratio": took / plain,
        "buffer (MiB)": buffer / 2**20,
    }  # fmt: skip
