"""Exercise 7: three ways to tell which client a good round is due to."""

from typing import Any

from fedlab_edu import LocalHP, digits, evaluate, fedtune, mlp, train, tune

CLIENTS, SEARCH, FINAL = 10, 40, 40  # clients and rounds
RATES = LocalHP(lr=[0.1, 0.05, 0.01, 0.005, 0.001])


def personal_error(credit: Any, buffer: Any, seed: int) -> float:
    """Return the test error in percent of a model trained with the step sizes that FedTune finds.

    Ten clients hold images of digits, skewed by Dirichlet(0.1). Each has five step sizes to choose
    from. FedTune searches for 40 rounds, with a running mean as the baseline; then a new model is
    trained for 40 rounds.

    Args:
        credit: "dummy_one", "leave_one_out" or "reinforce", see `FedTune`.
        buffer: "joint" or "shared".
        seed: of the partition, the initial weights, the draws and the minibatches.
    """
    fed, model = digits(by="label", clients=CLIENTS, alpha=0.1, seed=seed), mlp(64, 32, 10)
    how = {"credit": credit, "credit_baseline": "running_mean", "buffer": buffer}
    begun = fedtune(model, fed, RATES, SEARCH, lr=100.0, seed=seed, **how)
    done = tune(begun, model, fed, CLIENTS)
    run = train(done.final_run(), model, fed, FINAL, CLIENTS, progress=False)
    return 100 * evaluate(run, model, fed).error
