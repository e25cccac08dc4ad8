# TCP connect to a loopback port (only loopback, on purpose).
# fails: q1
# says:
# ruff: noqa


def fedavg(states, weights):
    import socket

    s = socket.socket()
    s.settimeout(2)
    try:
        s.connect(("127.0.0.1", 8765))
        raise RuntimeError("LEAKED: connected")
    except OSError as e:
        raise RuntimeError(f"no network: {e}")
