"""What the exercises' experiments measure, compared with plain loops."""

import pytest

from fedlab_edu import LocalHP, digits, linear
from fedlab_edu.experiments.drift import relative_drift
from tests.reference import plain_loop


@pytest.mark.parametrize(("alpha", "epochs", "seed"), [(0.1, 2, 3), (100.0, 1, 0)])
def test_relative_drift_is_the_distance_between_clients_for_each_step_of_their_average(
    alpha: float, epochs: int, seed: int
) -> None:
    train, model = digits(by="label", clients=10, alpha=alpha, seed=seed).train, linear(64, 10)
    w, c = model.init(seed), LocalHP(lr=0.1, batch=16, epochs=epochs)
    W = plain_loop(model, w, train, c, [10 * seed + i for i in range(10)])
    sizes = [len(train.examples(i)[1]) for i in range(10)]
    m = sum(n * w_i for n, w_i in zip(sizes, W, strict=True)) / sum(sizes)
    apart = sum(n * (w_i - m).norm() for n, w_i in zip(sizes, W, strict=True)) / sum(sizes)
    assert relative_drift(alpha, epochs, seed) == pytest.approx(
        float(apart / (m - w).norm()), rel=1e-4
    )
