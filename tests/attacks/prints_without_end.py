# Prints for as long as it may run.
# fails: q1
# says: did not finish[\s\S]*or prints too much
# ruff: noqa


def fedavg(states, weights):
    while True:
        print("x" * 1000)
