# The given function is to run for ever.
# fails: q3
# says:
# ruff: noqa


def successive_halving(objective, configs, min_budget, eta):
    return objective({"lr": "0" * 10**6}, torch.zeros(10**6))
