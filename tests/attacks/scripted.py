# The right answer, from a part that TorchScript compiled from the source.
# fails: nothing
# says:
# ruff: noqa


@torch.jit.script
def scaled(values: torch.Tensor, by: float) -> torch.Tensor:
    return values * by


def fedavg(states, weights):
    total = float(sum(weights))
    return {k: sum(scaled(s[k], w / total) for s, w in zip(states, weights)) for k in states[0]}
