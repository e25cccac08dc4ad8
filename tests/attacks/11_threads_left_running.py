# Right answer, but leaves busy non-daemon threads behind.
# fails: nothing
# says:
# ruff: noqa


def fedavg(states, weights):
    import threading, time

    def spin():
        t = time.time()
        while time.time() - t < 30:
            pass

    for _ in range(2):
        threading.Thread(target=spin).start()
    total = float(sum(weights))
    return {k: sum(s[k] * (w / total) for s, w in zip(states, weights)) for k in states[0]}
