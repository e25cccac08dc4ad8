# Returns nothing but leaves a thread that patches the codec and answers the next request.
# fails: q1
# says:
# ruff: noqa


def fedavg(states, weights):
    import sys, threading, time

    def later():
        time.sleep(0.05)
        for m in list(sys.modules.values()):
            if hasattr(m, "dumps") and hasattr(m, "Unsupported"):
                m.dumps = lambda *a, **k: b""

    threading.Thread(target=later, daemon=True).start()
    time.sleep(0.2)
    return {k: v * 0 for k, v in states[0].items()}
