# Tries to delete a file beside the tests (only one named CANARY).
# fails: q1
# says:
# ruff: noqa


def fedavg(states, weights):
    import glob, os

    for p in (
        glob.glob("prototypes/grading/tests/CANARY")
        + glob.glob("CANARY")
        + glob.glob("tests/CANARY")
    ):
        os.remove(p)
        raise RuntimeError("LEAKED: deleted " + p)
    raise RuntimeError("no canary")
