# Calls the given function with what it does not expect.
# fails: q3
# says: raised
# ruff: noqa


def successive_halving(objective, configs, min_budget, eta):
    return objective(objective, [{}])
