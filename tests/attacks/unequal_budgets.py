# Spends the right budget, but all that is left of it on one configuration.
# fails: q3
# says: all 27 get 1
# ruff: noqa


def successive_halving(objective, configs, min_budget, eta):
    losses = [objective(c, 1) for c in configs]
    objective(configs[0], 54)
    return configs[losses.index(min(losses))]
