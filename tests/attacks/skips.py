# Skips the test from inside.
# fails: q1
# says: Skipped|Module
# ruff: noqa


def fedavg(states, weights):
    import pytest

    pytest.skip("nothing to see here")
