"""Federated learning and the tuning of its hyperparameters, each algorithm beside its paper."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fedlab_edu.aggregate import server_sgd, weighted_average
    from fedlab_edu.data import Clients, Federation, digits, load, shakespeare
    from fedlab_edu.hparams import LocalHP, ServerHP
    from fedlab_edu.local import local_sgd, score
    from fedlab_edu.model import Model, char_lstm, from_module, lenet5, linear, mlp
    from fedlab_edu.run import (
        Run,
        communicate,
        communicate_all,
        evaluate,
        personalise,
        play,
        start,
    )

__version__ = "0.1.0"

# The module of each public name. It is imported when the name is first used, so that the command
# line answers before PyTorch is loaded.
_MODULE = {
    "aggregate": ("server_sgd", "weighted_average"),
    "data": ("Clients", "Federation", "digits", "load", "shakespeare"),
    "hparams": ("LocalHP", "ServerHP"),
    "local": ("local_sgd", "score"),
    "model": ("Model", "char_lstm", "from_module", "lenet5", "linear", "mlp"),
    "run": ("Run", "communicate", "communicate_all", "evaluate", "personalise", "play", "start"),
}
_HOME = {name: module for module, names in _MODULE.items() for name in names}

__all__ = [
    "Clients", "Federation", "LocalHP", "Model", "Run", "ServerHP",
    "char_lstm", "communicate", "communicate_all", "digits", "evaluate", "from_module", "lenet5",
    "linear", "load", "local_sgd", "mlp", "personalise", "play", "score", "server_sgd",
    "shakespeare", "start", "weighted_average",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
