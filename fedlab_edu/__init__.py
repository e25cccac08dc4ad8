"""Federated learning and the tuning of its hyperparameters, each algorithm beside its paper."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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
    from fedlab_edu.search.space import PerClient, SearchSpace, Spaces
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

# The module of each public name. It is imported when the name is first used, so that the command
# line answers before PyTorch is loaded.
_MODULE = {
    "data": "Clients Federation digits genres sensors shakespeare",
    "methods": "Ditto FedAvg FedDyn FedPA FedProx MAML Reptile Scaffold",
    "methods.fedavg": "server_sgd weighted_average",
    "models.model": "Model",
    "models.module": "from_module",
    "models.networks": "char_lstm cnn_cifar cnn_femnist lenet5 linear mlp",
    "models.resnet": "resnet18",
    "rounds.checkpoint": "load_run save_run",
    "rounds.communicate": "StopTraining communicate communicate_all train",
    "rounds.objectives": "evaluate personalise",
    "rounds.run": "Run start",
    "search.baselines": "hyperband random_search successive_halving",
    "search.bayes": "bayesian_search",
    "search.distributions": "Choice Integer LogUniform PowerOfTwo Uniform",
    "search.estimate": "Estimate",
    "search.oneof": "OneOf Option",
    "search.schedules": "schedule",
    "search.space": "PerClient SearchSpace Spaces",
    "search.tune": "tune",
    "training.hparams": "LocalHP ServerHP",
    "training.local": "local_sgd",
    "training.scores": "gradient score",
    "tuners.fedex": "FedEx around",
    "tuners.fedpop": "FedPop fedpop",
    "tuners.fedpop.clock": "clocked",
    "tuners.fedtune": "FedTune fedtune",
    "tuners.weights": "MultiplicativeWeights",
}
_HOME = {name: module for module, names in _MODULE.items() for name in names.split()}

__all__ = [
    "MAML", "Choice", "Clients", "Ditto", "Estimate", "FedAvg", "FedDyn", "FedEx", "FedPA",
    "FedPop", "FedProx", "FedTune", "Federation", "Integer", "LocalHP", "LogUniform", "Model",
    "MultiplicativeWeights", "OneOf", "Option", "PerClient", "PowerOfTwo", "Reptile", "Run",
    "Scaffold", "SearchSpace", "ServerHP", "Spaces", "StopTraining", "Uniform", "around",
    "bayesian_search", "char_lstm", "clocked", "cnn_cifar", "cnn_femnist", "communicate",
    "communicate_all", "digits", "evaluate", "fedpop", "fedtune", "from_module", "genres",
    "gradient", "hyperband", "lenet5", "linear", "load_run", "local_sgd", "mlp",
    "personalise", "random_search", "resnet18", "save_run", "schedule", "score", "sensors",
    "server_sgd", "shakespeare", "start", "successive_halving", "train", "tune", "weighted_average",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
