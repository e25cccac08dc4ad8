# Fedavg is not defined (misspelt fed_avg).
# fails: q1
# says: no function fedavg
# ruff: noqa


def fed_avg(states, weights):
    return states[0]


del fedavg
