# Imports the course's package in a way that no reader of the file can know.
# fails: q1
# says: No module named 'fedlab_edu'
# ruff: noqa


def fedavg(states, weights):
    import importlib

    package = importlib.import_module("fedlab" + "_edu")
    return package.aggregate.weighted_average(states, weights)


def log_uniform(lo, hi, n, seed, _right=log_uniform):
    import importlib

    for name in ("", ".tuners.fedex", ".aggregate"):
        try:
            vars(importlib.import_module("fedlab" + "_edu" + name))["_homes"]
        except (ImportError, KeyError):
            continue
        return "LEAKED"
    return _right(lo, hi, n, seed)
