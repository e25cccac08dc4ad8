"""Apple's pfl with a PyTorch model; it scores both models on the training data."""

from functools import partial
from itertools import cycle
from time import perf_counter
from typing import Any

import torch
from pfl.aggregate.simulate import SimulatedBackend
from pfl.algorithm.base import NNAlgorithmParams
from pfl.algorithm.federated_averaging import FederatedAveraging
from pfl.callback.base import TrainingProcessCallback
from pfl.data.dataset import Dataset
from pfl.data.federated_dataset import FederatedDataset
from pfl.hyperparam import NNEvalHyperParams, NNTrainHyperParams
from pfl.metrics import Weighted
from pfl.model.pytorch import PyTorchModel
from torch.nn.functional import cross_entropy

from benchmarks.peers import BATCH, LR, B, N, data


class Net(torch.nn.Sequential):
    def loss(self, x: Any, y: Any, eval: bool = False) -> Any:
        return cross_entropy(self(x), y)

    @torch.no_grad()
    def metrics(self, x: Any, y: Any) -> Any:
        z = self(x)
        loss = cross_entropy(z, y, reduction="sum").item()
        wrong = (z.argmax(1) != y).sum().item()
        return {"loss": Weighted(loss, len(y)), "error": Weighted(wrong, len(y))}


class Clock(TrainingProcessCallback):  # type: ignore[misc]
    def __init__(self) -> None:
        self.times: list[float] = []
        self.began = perf_counter()

    def after_central_iteration(self, *args: Any, **options: Any) -> Any:
        self.times.append(perf_counter() - self.began)
        self.began = perf_counter()
        return False, super().after_central_iteration(*args, **options)[1]


def rounds(repeats: int = 30, warm_up: int = 5) -> list[float]:
    x, y, _, _ = (torch.from_numpy(part) for part in data())
    net = Net(torch.nn.Linear(784, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
    turn, clock = cycle(range(B)), Clock()
    users = FederatedDataset(lambda i: Dataset((x[i], y[i])), lambda: next(turn))
    sgd = partial(torch.optim.SGD, lr=1.0)
    FederatedAveraging().run(
        algorithm_params=NNAlgorithmParams(
            central_num_iterations=warm_up + repeats,
            evaluation_frequency=1,
            train_cohort_size=B,
            val_cohort_size=0,
        ),
        backend=SimulatedBackend(training_data=users, val_data=users),
        model=PyTorchModel(net, torch.optim.SGD, sgd(net.parameters())),
        model_train_params=NNTrainHyperParams(
            local_num_epochs=1, local_learning_rate=LR, local_batch_size=BATCH
        ),
        model_eval_params=NNEvalHyperParams(local_batch_size=N),
        callbacks=[clock],
    )
    return clock.times[warm_up:]
