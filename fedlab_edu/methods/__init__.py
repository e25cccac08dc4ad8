"""Federated methods, one file each, as pairs of Loc and Agg."""

from fedlab_edu.methods.ditto import Ditto
from fedlab_edu.methods.fedavg import FedAvg
from fedlab_edu.methods.feddyn import FedDyn
from fedlab_edu.methods.fednova import FedNova
from fedlab_edu.methods.fedopt import FedAdagrad, FedAdam, FedYogi
from fedlab_edu.methods.fedpa import FedPA
from fedlab_edu.methods.fedprox import FedProx
from fedlab_edu.methods.maml import MAML
from fedlab_edu.methods.method import ClientInput, ClientUpdate, Method, RoundUpdate, Server
from fedlab_edu.methods.private import DPFedAvg
from fedlab_edu.methods.qffl import QFedAvg
from fedlab_edu.methods.reptile import Reptile
from fedlab_edu.methods.robust import Krum, Median, TrimmedMean
from fedlab_edu.methods.scaffold import Scaffold

__all__ = [
    "MAML", "ClientInput", "ClientUpdate", "DPFedAvg", "Ditto", "FedAdagrad", "FedAdam", "FedAvg",
    "FedDyn", "FedNova", "FedPA", "FedProx", "FedYogi", "Krum", "Median", "Method", "QFedAvg",
    "Reptile", "RoundUpdate", "Scaffold", "Server", "TrimmedMean",
]  # fmt: skip
