"""Random rounds over Flower, and random answers of nodes that may lie."""

import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedlab_edu import mlp, start, train
from fedlab_edu.rounds.tuner import Fixed
from tests.fuzz import fuzz
from tests.one_process import OneProcess, over_flower
from tests.test_random_rounds import METHODS, cases, made

from flwr.app import ArrayRecord, MetricRecord, RecordDict  # isort: skip  # after one_process
from fedlab_edu.flower import client_app  # isort: skip
from fedlab_edu.flower.messages import read_answer  # isort: skip


@fuzz(6, 500)
@given(cases(), st.integers(1, 2))
@pytest.mark.filterwarnings("ignore::UserWarning")  # some runs diverge
def test_a_run_over_flower_is_the_run_in_one_process(drawn, rounds):
    case = made(**{**drawn, "replacement": False})
    model, method, fed = mlp(*case.sizes), METHODS[case.name], case.fed
    tuner = Fixed(case.c) if len(case.c) == 1 else Fixed(case.c, torch.arange(len(fed)))
    run = start(model, fed, tuner, case.b, case.seed, method)

    def node(i: int) -> Any:
        return client_app(model, lambda context: fed[[i]], method)

    got = over_flower(run, fed, rounds, OneProcess(node, range(len(fed))), case.clients)[-1]
    plain = train(run, model, fed, rounds, case.clients, progress=False)
    torch.testing.assert_close(got.server, plain.server, rtol=1e-9, atol=1e-11)
    for one, other in zip(got.history, plain.history, strict=True):
        for name in ("client", "row", "size", "before", "after", "diverged"):
            pair = getattr(one, name), getattr(other, name)
            torch.testing.assert_close(*pair, rtol=1e-9, atol=1e-11)


W = torch.tensor([0.5, -1.0, 2.0])
odd = st.sampled_from([math.nan, math.inf, -math.inf, -1.0, 2.0, 1e6]) | st.floats(0, 1)
numbers = st.lists(odd, min_size=2, max_size=2) | st.lists(odd, max_size=3) | odd
vectors = st.one_of(
    st.lists(st.floats(-3, 3, width=32), min_size=3, max_size=3).map(lambda v: W + torch.tensor(v)),
    st.lists(st.floats(width=32), min_size=3, max_size=3).map(torch.tensor),
    st.lists(st.floats(-9, 9), max_size=4).map(lambda x: torch.tensor(x, dtype=torch.float64)),
    st.just(torch.zeros(1, 3)), st.just(torch.zeros(3, dtype=torch.int32)),
)  # fmt: skip
metrics = st.fixed_dictionaries(
    {},
    optional={"num-examples": st.sampled_from([7, 7, 7, 8, 7.0]), "before": numbers,
              "after": numbers, "finite": st.sampled_from([1, 1, 0, 2]), "weight": odd},
)  # fmt: skip
honest = st.just({"num-examples": 7, "before": [0.5, 0.25], "after": [0.5, 0.25], "finite": 1})


@fuzz(150)
@given(
    metrics, honest, st.booleans(), vectors, st.none() | vectors, st.sampled_from([3.0, math.inf])
)
def test_an_answer_is_read_as_it_was_packed_or_refused_by_name(
    lies, truth, fair, vector, delta, most
):
    metric = {**truth, **lies} if fair else lies
    content = RecordDict({"metrics": MetricRecord(metric), "arrays": ArrayRecord([vector.numpy()])})
    if delta is not None:
        content["state_delta"] = ArrayRecord([delta.numpy()])
    answer, refused = None, ""
    try:
        answer = read_answer(content, W, 7, 3, most)
    except ValueError as error:
        refused = str(error)
    assert (answer is None) == ("; allowed: " in refused)
    if answer is None:
        return
    assert metric["num-examples"] == 7
    for got, wanted in ((answer.update.model, vector), (answer.update.state_delta, delta)):
        if wanted is None:
            assert got is None
            continue
        assert got.dtype == torch.float32
        torch.testing.assert_close(got, wanted[None], rtol=0, atol=0, equal_nan=True)
    for name, got in (("before", answer.before), ("after", answer.after)):
        assert torch.cat(got).tolist() == pytest.approx(metric[name], nan_ok=True, rel=1e-15)
    assert answer.finite.tolist() == [bool(metric["finite"])]
    if answer.finite:
        assert vector.isfinite().all()
        assert all(map(math.isfinite, metric["after"]))
        assert 0 <= metric["after"][1] <= 1
        changes = [vector - W, *([] if delta is None else [delta])]
        assert max(float(change.double().norm()) for change in changes) <= most
        assert 0 <= metric.get("weight", 0) < math.inf


def test_more_or_fewer_arrays_than_one_are_refused():
    metric = {"num-examples": 7, "finite": 1, "before": [0.5, 0.5], "after": [0.5, 0.5]}
    content = RecordDict({"metrics": MetricRecord(metric)})
    for arrays in ([], [W.numpy()] * 2):
        content["arrays"] = ArrayRecord(arrays)
        with pytest.raises(ValueError, match=r"arrays in arrays is \d; allowed: 1"):
            read_answer(content, W, 7, 3)
