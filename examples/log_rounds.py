"""Log each round of a run to a CSV file, or to TensorBoard.

    python examples/log_rounds.py rounds.csv

``train(..., watch=log)`` calls ``log`` with the run before the first round and after each. For
TensorBoard (``pip install tensorboard``) replace the line that writes the row by

    writer.add_scalar("error/before", row["error"], run.round)

where ``writer`` is a ``torch.utils.tensorboard.SummaryWriter()``; ``tensorboard --logdir runs``
shows the curves. A search calls ``tune(..., callback=log)`` with itself after each step: log its
``used`` and ``best_score``.
"""

import csv
import sys
import time

from fedlab_edu import LocalHP, digits, mlp, start, train

COLUMNS = ["round", "seconds", "loss", "error", "personal_error", "diverged"]


def logger(file):
    """Return a function of a run that writes a row about its last round to a file."""
    rows, began = csv.DictWriter(file, COLUMNS), time.perf_counter()
    rows.writeheader()

    def log(run):
        if not run.history:  # before the first round
            return
        last = run.history[-1]  # scores on the validation data of the round's clients
        share = last.size.double() / last.size.sum()
        row = {
            "round": run.round,
            "seconds": round(time.perf_counter() - began, 3),
            "loss": float(share @ last.before.loss),  # of the global model
            "error": float(share @ last.before.error),
            "personal_error": float(share @ last.after.error),  # after local training
            "diverged": int(last.diverged.sum()),  # clients that the server left out
        }
        rows.writerow(row)
        file.flush()  # so that `tail -f` shows it at once

    return log


if __name__ == "__main__":
    fed, model = digits(), mlp(64, 32, 10)
    run = start(model, fed, LocalHP(lr=0.1, batch=8, epochs=2))
    path = sys.argv[1] if len(sys.argv) > 1 else "rounds.csv"
    with open(path, "w", newline="") as file:
        train(run, model, fed, rounds=20, watch=logger(file))
