"""Federated methods as pairs of Loc and Agg."""

from fedlab_edu.methods.ditto import Ditto
from fedlab_edu.methods.fedavg import FedAvg
from fedlab_edu.methods.feddyn import FedDyn
from fedlab_edu.methods.fednova import FedNova
from fedlab_edu.methods.fedopt import FedAdagrad, FedAdam, FedYogi
from fedlab_edu.methods.fedpa import FedPA
from fedlab_edu.methods.fedprox import FedProx
from fedlab_edu.methods.maml import MAML
from fedlab_edu.methods.method import (
    ClientInput,
    ClientUpdate,
    Method,
    RoundUpdate,
    Server,
    no_pull,
)  # fmt: skip
from fedlab_edu.methods.private import DPFedAvg
from fedlab_edu.methods.qffl import QFedAvg
from fedlab_edu.methods.reptile import Reptile
from fedlab_edu.methods.robust import Krum, Median, TrimmedMean
from fedlab_edu.methods.scaffold import Scaffold
from fedlab_edu.training.hparams import LocalHP, ServerHP
from fedlab_edu.validate import require

__all__ = [
    "MAML", "ClientInput", "ClientUpdate", "DPFedAvg", "Ditto", "FedAdagrad", "FedAdam", "FedAvg",
    "FedDyn", "FedNova", "FedPA", "FedProx", "FedYogi", "Krum", "Median", "Method", "QFedAvg",
    "Reptile", "RoundUpdate", "Scaffold", "Server", "TrimmedMean", "check_control",
    "check_mu",
]  # fmt: skip


def check_mu(method: Method, c: LocalHP) -> None:
    """Refuse a mu that Loc would refuse in the first round, when a run or a search is made."""
    if _ours(method) and not getattr(method, "pulls", True):
        no_pull(c, type(method).__name__)


def check_control(method: Method, b: ServerHP) -> None:
    """Refuse a rate of SCAFFOLD's control variate for a method that has none."""
    if _ours(method) and not isinstance(method, Scaffold):
        allowed = f"1: {type(method).__name__} has no control variate, as SCAFFOLD has"
        for name in ("control_lr", "control_decay"):
            rate = getattr(b, name)
            require((rate == 1).all(), name, rate, allowed)


def _ours(method: Method) -> bool:
    """Return whether the class is of this package; another may use what ours ignore."""
    return type(method).__module__.startswith(__name__)
