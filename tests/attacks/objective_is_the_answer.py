# Returns the given function.
# fails: q3
# says: function
# ruff: noqa


def successive_halving(objective, configs, min_budget, eta):
    return objective
