"""PyTorch's modes around a call change no number; a default device is refused by name."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from fedlab_edu import (
    FedEx,
    LocalHP,
    LogUniform,
    SearchSpace,
    Spaces,
    communicate,
    digits,
    evaluate,
    fedtune,
    from_module,
    gradient,
    local_sgd,
    mlp,
    personalise,
    random_search,
    score,
    start,
    train,
    tune,
)
from fedlab_edu.data import federate, iid
from fedlab_edu.seeds import generator

MODELS = {
    "by hand": lambda: mlp(64, 8, 10),
    "by vmap": lambda: from_module(nn.Sequential(nn.Flatten(), nn.Linear(64, 8), nn.Linear(8, 10))),
}
SPACES = Spaces(SearchSpace({"lr": LogUniform(0.01, 1)}))
C = LocalHP(lr=0.1, batch=16)


def everything(make: Callable[[], Any]) -> list[Any]:
    """What a round, an evaluation, a gradient and two searches give."""
    torch.manual_seed(0)
    model, fed = make(), digits(clients=14)
    run = train(start(model, fed, C), model, fed, 2, 14, progress=False)
    found = tune(random_search(model, fed, SPACES, 4, 2), model, fed, 5)
    credit = fedtune(model, fed, LocalHP(lr=[0.1, 0.3], batch=16), 2).step(model, fed)
    credit = tune(credit, model, fed)
    W = local_sgd(model, run.w, fed.train, C, [*range(14)])
    g, scores = gradient(model, run.w, fed.train), score(model, W, fed.val)
    tested = *evaluate(run, model, fed), *personalise(run, model, fed)
    return [run.w, W, g, *scores, *tested, found.scores, credit.logits]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    "mode",
    [torch.inference_mode, torch.no_grad, lambda: torch.autocast("cpu", torch.bfloat16)],
    ids=["inference", "no grad", "autocast"],
)
def test_a_mode_of_the_calling_thread_changes_no_number(mode, name):
    torch.manual_seed(0)
    net = MODELS[name]()
    plain = everything(lambda: net)
    with mode():
        seen = everything(lambda: net)
    for one, other in zip(seen, plain, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)


def test_a_model_and_a_run_that_were_made_in_inference_mode_train_outside_it():
    with torch.inference_mode():
        torch.manual_seed(0)
        model, fed = MODELS["by vmap"](), digits(clients=14)
        run = communicate(start(model, fed, C), model, fed, 5)
    assert not run.w.is_inference()
    assert communicate(run, model, fed, 5).w.isfinite().all()


def test_a_default_device_other_than_the_cpu_is_refused_in_one_line():
    model, fed, gen = mlp(64, 10), digits(clients=14), generator(0)
    run = start(model, fed)
    acts: list[Callable[[], object]] = [
        lambda: start(model, fed), lambda: communicate(run, model, fed), lambda: model.init(0),
        lambda: start(model, fed, FedEx(LocalHP(lr=[0.1, 0.2]))), lambda: iid(9, 3, gen),
        lambda: federate([[1.0]], [0], [[0]]), lambda: random_search(model, fed, SPACES, 2, 1),
        lambda: SPACES.client.sample(2, gen),
    ]  # fmt: skip
    for act in acts:
        with (
            torch.device("meta"),
            pytest.raises(ValueError, match=r"^PyTorch's default device is 'meta'; allowed: 'cpu'"),
        ):
            act()
