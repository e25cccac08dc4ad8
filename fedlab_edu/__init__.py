"""Federated learning and the tuning of its hyperparameters, each algorithm beside its paper.

`start` makes a run from a network (`mlp`, `from_module`), clients (`digits`, `data.federate`) and
hyperparameters or a tuner (`LocalHP`, `FedEx`); `train` plays rounds, and `evaluate` tests. `tune`
runs searches, such as `random_search`. For a method or a tuner of your own see `methods.Method`
and `rounds.tuner.Tuner`.
"""

import ast
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

# A module is imported when a name of it is first used, so that the command line answers before
# PyTorch is loaded.
if TYPE_CHECKING:
    from fedlab_edu.data import Clients, Federation, digits, genres, sensors, shakespeare
    from fedlab_edu.methods import MAML, Ditto, FedAvg, FedDyn, FedPA, FedProx, Reptile, Scaffold
    from fedlab_edu.methods.fedavg import server_sgd, weighted_average
    from fedlab_edu.models.model import Model
    from fedlab_edu.models.module import from_module
    from fedlab_edu.models.networks import char_lstm, cnn_cifar, cnn_femnist, lenet5, linear, mlp
    from fedlab_edu.models.resnet import resnet18
    from fedlab_edu.rounds.checkpoint import load_run, save_run
    from fedlab_edu.rounds.communicate import StopTraining, communicate, communicate_all, train
    from fedlab_edu.rounds.objectives import evaluate, personalise
    from fedlab_edu.rounds.run import Run, start
    from fedlab_edu.search.baselines import hyperband, random_search, successive_halving
    from fedlab_edu.search.bayes import bayesian_search
    from fedlab_edu.search.distributions import Choice, Integer, LogUniform, PowerOfTwo, Uniform
    from fedlab_edu.search.estimate import Estimate
    from fedlab_edu.search.oneof import OneOf, Option
    from fedlab_edu.search.schedules import schedule
    from fedlab_edu.search.space import SearchSpace, Spaces
    from fedlab_edu.search.tune import tune
    from fedlab_edu.training.hparams import LocalHP, ServerHP
    from fedlab_edu.training.local import local_sgd
    from fedlab_edu.training.scores import gradient, score
    from fedlab_edu.tuners.fedex import FedEx, around
    from fedlab_edu.tuners.fedpop import FedPop, fedpop
    from fedlab_edu.tuners.fedpop.clock import clocked
    from fedlab_edu.tuners.fedtune import FedTune, fedtune
    from fedlab_edu.tuners.weights import MultiplicativeWeights

__version__ = "0.1.0"

__all__ = [
    "MAML", "Choice", "Clients", "Ditto", "Estimate", "FedAvg", "FedDyn", "FedEx", "FedPA",
    "FedPop", "FedProx", "FedTune", "Federation", "Integer", "LocalHP", "LogUniform", "Model",
    "MultiplicativeWeights", "OneOf", "Option", "PowerOfTwo", "Reptile", "Run",
    "Scaffold", "SearchSpace", "ServerHP", "Spaces", "StopTraining", "Uniform", "around",
    "bayesian_search", "char_lstm", "clocked", "cnn_cifar", "cnn_femnist", "communicate",
    "communicate_all", "digits", "evaluate", "fedpop", "fedtune", "from_module", "genres",
    "gradient", "hyperband", "lenet5", "linear", "load_run", "local_sgd", "mlp",
    "personalise", "random_search", "resnet18", "save_run", "schedule", "score", "sensors",
    "server_sgd", "shakespeare", "start", "successive_halving", "train", "tune", "weighted_average",
]  # fmt: skip


@cache
def _homes() -> dict[str, str]:
    """Return the module of each public name, as the imports above say."""
    tree = ast.parse(Path(__file__).read_text(encoding="utf-8"))
    found = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {one.name: str(node.module) for node in found for one in node.names}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_homes()[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
