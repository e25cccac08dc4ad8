# The right answer, with a wrapper around the given function that counts its calls.
# fails: nothing
# says:
# ruff: noqa


def successive_halving(objective, configs, min_budget, eta, _right=successive_halving):
    import functools

    calls = []

    @functools.wraps(objective)
    def counted(*arguments):
        calls.append(arguments)
        return objective(*arguments)

    best = _right(counted, configs, min_budget, eta)
    assert len(calls) == 27 + 9 + 3
    return best
