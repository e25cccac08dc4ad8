# Parameters that are not initialised.
# fails: q1
# says: UninitializedParameter
# ruff: noqa


def fedavg(states, weights):
    return {k: torch.nn.UninitializedParameter() for k in states[0]}
