# Indices that are NumPy's.
# fails: q4
# says: Python ints
# ruff: noqa

import numpy as np


def dirichlet_split(labels, n_clients, alpha, seed):
    return [list(np.arange(i, len(labels), n_clients)) for i in range(n_clients)]
