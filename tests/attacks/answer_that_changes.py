# An answer that a thread goes on changing.
# fails: q1
# says: is wrong|RuntimeError|keys
# ruff: noqa

import threading


def fedavg(states, weights):
    out = {key: torch.zeros_like(value) for key, value in states[0].items()}

    def change():
        for i in range(10**6):
            out["w"].add_(0.5)
            out[f"{i % 90}"] = out["w"]

    threading.Thread(target=change, daemon=True).start()
    return out
