# A range that would take a day to count.
# fails: q4
# says: 200,000 parts
# ruff: noqa


def dirichlet_split(labels, n_clients, alpha, seed):
    return [range(10**12)] * n_clients
