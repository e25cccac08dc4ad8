# Opens /proc/<parent>/mem and lists other processes.
# fails: q1
# says:
# ruff: noqa


def fedavg(states, weights):
    import os

    n = [p for p in os.listdir("/proc") if p.isdigit()]
    try:
        open(f"/proc/{os.getppid()}/mem", "rb")
        raise RuntimeError("LEAKED: parent memory readable")
    except OSError as e:
        raise RuntimeError(f"{len(n)} processes visible; {e}")
