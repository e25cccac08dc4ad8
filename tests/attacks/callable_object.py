# The right answers, from an object with __call__, a cached function and a partial.
# fails: nothing
# says:
# ruff: noqa

import functools


class FedAvg:
    def __call__(self, states, weights, _right=fedavg):
        return _right(states, weights)


fedavg = FedAvg()
log_uniform = functools.cache(log_uniform)
successive_halving = functools.partial(successive_halving)
