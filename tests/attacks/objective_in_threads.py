# The right answer, with the given function called from threads.
# fails: nothing
# says:
# ruff: noqa


def successive_halving(objective, configs, min_budget, eta):
    from concurrent.futures import ThreadPoolExecutor

    budget = min_budget
    while len(configs) > 1:
        with ThreadPoolExecutor(4) as pool:
            losses = list(pool.map(lambda c: objective(c, budget), configs))
        order = sorted(range(len(configs)), key=losses.__getitem__)
        configs = [configs[i] for i in order[: max(1, len(configs) // eta)]]
        budget *= eta
    return configs[0]
