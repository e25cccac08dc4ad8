# The stub as released.
# fails: q1 q2 q3 q4
# says: NotImplemented
# ruff: noqa


def fedavg(states, weights):
    raise NotImplementedError


def log_uniform(lo, hi, n, seed):
    raise NotImplementedError


def successive_halving(objective, configs, min_budget, eta):
    raise NotImplementedError


def dirichlet_split(labels, n_clients, alpha, seed):
    raise NotImplementedError
