# An output that exits when it is flushed.
# fails: q1
# says: exit status 70
# ruff: noqa


class Output:
    def write(self, text):
        return len(text)

    def flush(self):
        raise SystemExit(0)


def fedavg(states, weights):
    import sys

    sys.stdout = Output()
    return None
