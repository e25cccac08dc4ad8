"""The model, method, tuner and data that the run config chooses. Add yours."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from flwr.app import Context

from fedlab_edu import Federation, FedEx, LocalHP, digits, linear, mlp
from fedlab_edu.data import Clients
from fedlab_edu.methods import FedAdam, FedAvg, Scaffold
from fedlab_edu.rounds.tuner import Fixed

CHOICES: dict[str, dict[str, Callable[..., Any]]] = {
    "data": {"digits": lambda clients: digits("label", clients=clients)},
    "model": {"mlp": lambda: mlp(64, 32, 10), "linear": lambda: linear(64, 10)},
    "method": {"fedavg": FedAvg, "fedadam": FedAdam, "scaffold": Scaffold},
    "tuner": {
        "none": lambda: Fixed(LocalHP(lr=0.1, batch=8)),
        "fedex": lambda: FedEx(LocalHP(lr=[0.01, 0.1, 1.0], batch=8)),
    },
}


def choose(what: str, config: Mapping[str, Any], *arguments: int) -> Any:
    """Return the data, model, method or tuner that the run config names."""
    name, known = config[what], CHOICES[what]
    if name not in known:
        raise ValueError(f"{what} is {name!r}; allowed: {', '.join(known)}")
    return known[name](*arguments)


def load(context: Context) -> Federation:
    """Load this node's client, of the digits or from a file.

    The file is ``data`` of the node config, a .npz with train_x (n, ...),
    train_y (n,), val_x, val_y, test_x and test_y.
    """
    client = int(context.node_config["partition-id"])
    path = context.node_config.get("data")
    if path is None:
        config = context.run_config
        return choose("data", config, int(config["nodes"]))[[client]]
    arrays = np.load(str(path), allow_pickle=False)

    def part(name: str) -> Clients:
        x, y = (torch.from_numpy(arrays[f"{name}_{k}"]) for k in "xy")
        return Clients(x, y, (torch.arange(len(x)),))

    parts = part("train"), part("val"), part("test")
    return Federation(*parts, (str(client),), classes=10)  # of your data
