# An int of 5000 digits among the indices.
# fails: q4
# says: digits
# ruff: noqa


def dirichlet_split(labels, n_clients, alpha, seed):
    return [[10**5000]] * n_clients
