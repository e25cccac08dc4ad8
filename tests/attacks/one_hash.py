# A dict of keys with one hash, which takes long to build.
# fails: q1
# says: keys
# ruff: noqa


def fedavg(states, weights):
    return (
        {i * (2**61 - 1): 0.0 for i in range(12_000)}
        if len(states) > 9
        else dict.fromkeys(range(10**5))
    )
