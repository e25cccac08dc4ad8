"""Federated learning and the tuning of its hyperparameters, each algorithm beside its paper."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fedlab_edu.aggregate import server_sgd, weighted_average
    from fedlab_edu.checkpoint import load_run, save_run
    from fedlab_edu.data import Clients, Federation, digits, genres, load, sensors, shakespeare
    from fedlab_edu.hparams import LocalHP, ServerHP
    from fedlab_edu.laws import Choice, Integer, LogUniform, PowerOfTwo, Uniform
    from fedlab_edu.local import local_sgd
    from fedlab_edu.methods import (
        MAML,
        Ditto,
        FedAvg,
        FedDyn,
        FedPA,
        FedProx,
        Reptile,
        Scaffold,
    )
    from fedlab_edu.model import (
        Model,
        char_lstm,
        cnn_cifar,
        cnn_femnist,
        lenet5,
        linear,
        mlp,
    )
    from fedlab_edu.module import from_module
    from fedlab_edu.objectives import evaluate, personalise
    from fedlab_edu.resnet import resnet18
    from fedlab_edu.rounds import communicate, communicate_all, play
    from fedlab_edu.run import Run, start
    from fedlab_edu.scores import gradient, score
    from fedlab_edu.space import PerClient, SearchSpace, Spaces
    from fedlab_edu.tuners.arms import around
    from fedlab_edu.tuners.baselines import hyperband, random_search, successive_halving
    from fedlab_edu.tuners.bayes import bayesian_search
    from fedlab_edu.tuners.clock import clocked
    from fedlab_edu.tuners.fedex import FedEx
    from fedlab_edu.tuners.fedpop import FedPop, fedpop
    from fedlab_edu.tuners.fedtune import FedTune, fedtune
    from fedlab_edu.tuners.race import Estimate
    from fedlab_edu.tuners.search import schedule
    from fedlab_edu.tuners.spend import spend
    from fedlab_edu.tuners.weights import MultiplicativeWeights

__version__ = "0.1.0"

# The module of each public name. It is imported when the name is first used, so that the command
# line answers before PyTorch is loaded.
_MODULE = {
    "aggregate": ("server_sgd", "weighted_average"),
    "checkpoint": ("load_run", "save_run"),
    "data": ("Clients", "Federation", "digits", "genres", "load", "sensors", "shakespeare"),
    "objectives": ("evaluate", "personalise"),
    "hparams": ("LocalHP", "ServerHP"),
    "laws": ("Choice", "Integer", "LogUniform", "PowerOfTwo", "Uniform"),
    "local": ("local_sgd",),
    "methods": ("MAML", "Ditto", "FedAvg", "FedDyn", "FedPA", "FedProx", "Reptile", "Scaffold"),
    "model": ("Model", "char_lstm", "cnn_cifar", "cnn_femnist", "lenet5", "linear", "mlp"),
    "module": ("from_module",),
    "resnet": ("resnet18",),
    "rounds": ("communicate", "communicate_all", "play"),
    "run": ("Run", "start"),
    "scores": ("gradient", "score"),
    "space": ("PerClient", "SearchSpace", "Spaces"),
    "tuners.arms": ("around",),
    "tuners.baselines": ("hyperband", "random_search", "successive_halving"),
    "tuners.bayes": ("bayesian_search",),
    "tuners.clock": ("clocked",),
    "tuners.fedex": ("FedEx",),
    "tuners.fedpop": ("FedPop", "fedpop"),
    "tuners.fedtune": ("FedTune", "fedtune"),
    "tuners.race": ("Estimate",),
    "tuners.search": ("schedule",),
    "tuners.spend": ("spend",),
    "tuners.weights": ("MultiplicativeWeights",),
}
_HOME = {name: module for module, names in _MODULE.items() for name in names}

__all__ = [
    "MAML",
    "Choice",
    "Clients",
    "Ditto",
    "Estimate",
    "FedAvg",
    "FedDyn",
    "FedEx",
    "FedPA",
    "FedPop",
    "FedProx",
    "FedTune",
    "Federation",
    "Integer",
    "LocalHP",
    "LogUniform",
    "Model",
    "MultiplicativeWeights",
    "PerClient",
    "PowerOfTwo",
    "Reptile",
    "Run",
    "Scaffold",
    "SearchSpace",
    "ServerHP",
    "Spaces",
    "Uniform",
    "around",
    "bayesian_search",
    "char_lstm",
    "clocked",
    "cnn_cifar",
    "cnn_femnist",
    "communicate",
    "communicate_all",
    "digits",
    "evaluate",
    "fedpop",
    "fedtune",
    "from_module",
    "genres",
    "gradient",
    "hyperband",
    "lenet5",
    "linear",
    "load",
    "load_run",
    "local_sgd",
    "mlp",
    "personalise",
    "play",
    "random_search",
    "resnet18",
    "save_run",
    "schedule",
    "score",
    "sensors",
    "server_sgd",
    "shakespeare",
    "spend",
    "start",
    "successive_halving",
    "weighted_average",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
