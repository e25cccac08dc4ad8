# Successive_halving calls the given objective for ever.
# fails: q3
# says:
# ruff: noqa


def successive_halving(objective, configs, min_budget, eta):
    while True:
        objective(configs[0], 1)
