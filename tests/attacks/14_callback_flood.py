# Successive_halving calls the given objective for ever.
# fails: q3
# says: more than 2,000 times
# ruff: noqa


def successive_halving(objective, configs, min_budget, eta):
    while True:
        objective(configs[0], 1)
