# Iterators that never end.
# fails: q4
# says: count
# ruff: noqa

import itertools


def dirichlet_split(labels, n_clients, alpha, seed):
    return itertools.count()
