# An async function, which nobody awaits.
# fails: q1
# says: `async def` makes it so
# ruff: noqa


async def fedavg(states, weights, _right=fedavg):
    return _right(states, weights)
