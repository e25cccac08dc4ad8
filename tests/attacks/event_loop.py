# The right answer, from an event loop.
# fails: nothing
# says:
# ruff: noqa


def fedavg(states, weights, _right=fedavg):
    import asyncio

    async def average():
        await asyncio.sleep(0)
        return _right(states, weights)

    return asyncio.run(average())
