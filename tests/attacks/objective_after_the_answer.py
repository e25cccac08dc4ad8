# Answers, and goes on calling the given function from a thread.
# fails: q3
# says: best|budget
# ruff: noqa


def successive_halving(objective, configs, min_budget, eta):
    import threading
    import time

    def ask():
        while True:
            objective(configs[0], 1)
            time.sleep(0.001)

    threading.Thread(target=ask, daemon=True).start()
    time.sleep(0.2)
    return configs[0]
