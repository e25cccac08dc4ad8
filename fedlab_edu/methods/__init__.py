"""Federated methods, one file each, as pairs of Loc and Agg."""

from fedlab_edu.methods.ditto import Ditto
from fedlab_edu.methods.fedavg import FedAvg
from fedlab_edu.methods.feddyn import FedDyn
from fedlab_edu.methods.fedpa import FedPA
from fedlab_edu.methods.fedprox import FedProx
from fedlab_edu.methods.maml import MAML
from fedlab_edu.methods.method import Answer, Given, Method, Server
from fedlab_edu.methods.reptile import Reptile
from fedlab_edu.methods.scaffold import Scaffold

__all__ = [
    "MAML", "Answer", "Ditto", "FedAvg", "FedDyn", "FedPA", "FedProx", "Given", "Method", "Reptile",
    "Scaffold", "Server",
]  # fmt: skip
