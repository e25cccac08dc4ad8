"""Federated learning and the tuning of its hyperparameters, each algorithm beside its paper."""

from fedlab_edu.aggregate import server_sgd, weighted_average
from fedlab_edu.data import Clients, Federation, digits, load, shakespeare
from fedlab_edu.hparams import LocalHP, ServerHP
from fedlab_edu.local import local_sgd, score
from fedlab_edu.model import Model, char_lstm, from_module, lenet5, linear, mlp
from fedlab_edu.run import Run, communicate, communicate_all, evaluate, personalise, play, start

__version__ = "0.1.0"

__all__ = [
    "Clients", "Federation", "LocalHP", "Model", "Run", "ServerHP",
    "char_lstm", "communicate", "communicate_all", "digits", "evaluate", "from_module", "lenet5",
    "linear", "load", "local_sgd", "mlp", "personalise", "play", "score", "server_sgd",
    "shakespeare", "start", "weighted_average",
]  # fmt: skip
