# Caches the first answer and returns it for ever (e.g. mutable default).
# fails: q1h
# says:
# ruff: noqa


def fedavg(states, weights, _cache=[]):
    if not _cache:
        total = float(sum(weights))
        _cache.append(
            {k: sum(s[k] * (w / total) for s, w in zip(states, weights)) for k in states[0]}
        )
    return _cache[0]
