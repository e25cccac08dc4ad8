# Leaves a mode on in which each operation of PyTorch exits.
# fails: q1
# says: SystemExit
# ruff: noqa

from torch.utils._python_dispatch import TorchDispatchMode


class Exit(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        raise SystemExit(0)


def fedavg(states, weights):
    Exit().__enter__()
    return {"w": torch.ones(2)}
