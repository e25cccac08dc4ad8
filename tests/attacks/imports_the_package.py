# Imports the course's package, which can do what the exercises ask for.
# fails: q1 q2 q3 q4
# says: imports the course's package
# ruff: noqa


def fedavg(states, weights):
    from fedlab_edu.methods.fedavg import weighted_average

    return weighted_average(states, weights)
