# Right answers in types that Python and PyTorch have beside dict and list.
# fails: nothing
# says:
# ruff: noqa


def fedavg(states, weights, _right=fedavg):
    from collections import OrderedDict

    return OrderedDict(_right(states, weights))


def successive_halving(objective, configs, min_budget, eta, _right=successive_halving):
    from collections import defaultdict

    return defaultdict(float, _right(objective, configs, min_budget, eta))
