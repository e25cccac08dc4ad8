"""The experiment of exercise 2, compared with a plain loop."""

import pytest

from fedlab_edu import LocalHP, digits, mlp, start
from fedlab_edu.experiments import skew
from fedlab_edu.seeds import generator, seed_for
from tests.reference import plain_loop


@pytest.mark.parametrize(("alpha", "seed"), [(0.1, 1), (100.0, 2)])
def test_the_error_of_plain_averaging_is_that_of_a_plain_loop(alpha, seed, monkeypatch):
    monkeypatch.setattr(skew, "ROUNDS", 3)
    fed, model = digits(by="label", clients=10, alpha=alpha, seed=seed), mlp(64, 32, 10)
    c = LocalHP(lr=0.2, batch=16, epochs=5)
    w = start(model, fed, seed=seed).w
    for t in range(3):
        who = fed.sample(5, generator(seed, t))
        seeds = [seed_for(seed, t, i) for i in who.tolist()]
        w = plain_loop(model, w, fed.train[who], c, seeds).mean(0)
    wrong = total = 0
    for i in range(10):
        x, y = fed.test.examples(i)
        wrong += int((model(w, x).argmax(1) != y).sum())
        total += len(y)
    assert skew.error("plain", alpha, seed) == pytest.approx(100 * wrong / total, abs=100 / total)


def test_in_the_first_round_scaffold_is_plain_averaging_and_other_methods_are_refused(monkeypatch):
    monkeypatch.setattr(skew, "ROUNDS", 1)  # before the second round all control variates are 0
    assert skew.error("scaffold", 0.1, 0) == skew.error("plain", 0.1, 0)
    with pytest.raises(ValueError, match="method is 'fedavg'; allowed: one of"):
        skew.error("fedavg", 0.1, 0)
