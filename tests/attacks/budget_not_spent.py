# Guesses the best configuration from what the function says of none.
# fails: q3
# says: budget|best
# ruff: noqa


def successive_halving(objective, configs, min_budget, eta):
    return configs[0]
