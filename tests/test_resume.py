"""Random searches and runs: stopped and resumed they have the numbers of ones that never stopped,
and a file is refused wherever one thing that decides the numbers has changed."""

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional as F

from fedlab_edu import (
    Choice,
    Clients,
    Estimate,
    FedAvg,
    Federation,
    FedProx,
    LocalHP,
    LogUniform,
    Model,
    Scaffold,
    SearchSpace,
    ServerHP,
    Spaces,
    Uniform,
    around,
    fedpop,
    fedtune,
    from_module,
    hyperband,
    load_run,
    random_search,
    save_run,
    start,
    successive_halving,
    train,
    tune,
)
from fedlab_edu.methods.fedopt import FedAdam
from fedlab_edu.rounds.communicate import StopTraining
from tests.fuzz import fuzz

pytestmark = pytest.mark.long
N, INPUTS, CLASSES = 6, 4, 3
SPACES = Spaces(
    SearchSpace({"lr": LogUniform(0.01, 0.5), "momentum": Uniform(0, 0.5)}),
    SearchSpace({"lr": Choice((0.5, 1.0))}, ServerHP),
)
METHODS = {"FedAvg": FedAvg, "FedProx": FedProx, "SCAFFOLD": Scaffold, "FedAdam": FedAdam}
SEARCHES = ("random", "halving", "hyperband", "fedpop", "fedtune")


@dataclass(frozen=True)
class Case:
    """All that decides the numbers of a search or a run."""

    kind: str
    method: str = "FedAvg"
    tuner: str = "fixed"
    target: Any = "personalised"
    score: Any = "error"
    select: Any = "survivor"
    seed: int = 0
    clients: int = 3
    frozen: float = 1.0
    buffer: float = 1.0
    closure: float = 1.0
    constant: int = 1
    scale: float = 1.0
    x: float = 0.0
    y: int = 0
    val: int = 0
    rows: int = 0


#: What may change, and a changed value.
CHANGES: dict[str, Callable[[Any], Any]] = {
    "method": lambda m: "FedProx" if m == "FedAvg" else "FedAvg",
    "seed": lambda s: s + 1,
    "clients": lambda B: B + 1,
    **dict.fromkeys(("frozen", "buffer", "closure", "scale", "x"), lambda v: v + 0.5),
    "constant": lambda c: 3 - c,
    **dict.fromkeys(("y", "val", "rows"), lambda v: 1 - v),
}


class Body(nn.Module):
    """A frozen layer, a buffer, and a function with a closure and a constant."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        torch.manual_seed(case.seed)
        self.frozen = nn.Linear(INPUTS, 5).requires_grad_(False)
        with torch.no_grad():
            self.frozen.weight.fill_(case.frozen)
        self.register_buffer("buffer", torch.tensor(case.buffer))
        self.head = nn.Linear(5, CLASSES)
        by = case.closure
        self.act = (
            (lambda x: torch.tanh(x) * by * 1) if case.constant == 1
            else (lambda x: torch.tanh(x) * by * 2)
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.act(self.frozen(x) * self.buffer))


def network(case: Case) -> Model:
    scale = case.scale

    def loss(outputs: Tensor, y: Tensor) -> Tensor:
        return scale * F.cross_entropy(outputs, y, reduction="none")

    return from_module(Body(case), loss)


def federation(case: Case) -> Federation:
    gen = torch.Generator().manual_seed(1)
    x = torch.randn(60, INPUTS, generator=gen) + case.x
    y = torch.randint(CLASSES, (60,), generator=gen)
    rows = [torch.arange(10 * i, 10 * i + 6) for i in range(N)]
    if case.rows:
        rows[0], rows[1] = rows[1], rows[0]
    val = tuple(torch.arange(10 * i + 6, 10 * i + 9) for i in range(N))
    test = tuple(torch.arange(10 * i + 9, 10 * i + 10) for i in range(N))
    return Federation(
        Clients(x, (y + case.y) % CLASSES, tuple(rows)), Clients(x, (y + case.val) % CLASSES, val),
        Clients(x, y, test), tuple("abcdef"), CLASSES,
    )  # fmt: skip


def search(case: Case, model: Model, fed: Federation) -> Any:
    how: dict[str, Any] = {"seed": case.seed, "method": METHODS[case.method]()}
    if case.kind == "fedpop":
        return fedpop(model, fed, SPACES, 6, 3, T_g=1, **how)
    if case.kind == "fedtune":
        return fedtune(model, fed, LocalHP(lr=[0.1, 0.3]), 3, lr=3.0, **how)
    how["estimate"] = Estimate(case.target, case.score, 0.5)
    how["select"] = case.select
    if case.tuner == "fedex":
        how["tuner"] = around(SPACES.client, 3)
    if case.kind == "halving":
        return successive_halving(model, fed, SPACES, 7, 3, 2, 2, **how)
    if case.kind == "hyperband":
        return hyperband(model, fed, SPACES, 7, 2, 2, **how)
    return random_search(model, fed, SPACES, 4, 2, **how)


def same(one: Any, other: Any) -> None:
    """All that two values hold is equal, bit by bit; NaN equals NaN."""
    assert type(one) is type(other)
    if isinstance(one, Tensor):
        torch.testing.assert_close(one, other, rtol=0, atol=0, equal_nan=True)
    elif is_dataclass(one):
        for f in fields(one):
            same(getattr(one, f.name), getattr(other, f.name))
    elif isinstance(one, dict):
        assert [*one] == [*other]
        same([*one.values()], [*other.values()])
    elif isinstance(one, list | tuple):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            same(a, b)
    elif isinstance(one, float):
        assert one == pytest.approx(other, rel=0, abs=0, nan_ok=True)
    else:
        assert one == other or repr(one) == repr(other)


def methods(kind: str) -> st.SearchStrategy[str]:
    stateless = kind in ("fedtune",)
    return st.sampled_from(["FedAvg", "FedProx"] if stateless else [*METHODS])


@st.composite
def cases(draw: st.DrawFn, kinds: tuple[str, ...] = SEARCHES) -> Case:
    kind = draw(st.sampled_from(kinds))
    return Case(
        kind,
        draw(methods(kind)),
        draw(st.sampled_from(["fixed", "fedex"])),
        draw(st.sampled_from(["global", "personalised", "averaged"])),
        draw(st.sampled_from(["error", "loss"])),
        draw(st.sampled_from(["survivor", "best_seen"])),
        draw(st.integers(0, 9)),
        draw(st.integers(1, N - 1)),
        constant=draw(st.sampled_from([1, 2])),
        **{name: draw(st.sampled_from([0.5, 1.0])) for name in ("frozen", "closure", "scale")},
    )


def built(case: Case) -> tuple[Any, Model, Federation]:
    """A search, its model and its data, all made anew."""
    model, fed = network(case), federation(case)
    return search(case, model, fed), model, fed


@pytest.mark.filterwarnings("ignore::UserWarning")  # tiny searches need not find anything
@given(cases(), st.data())
@fuzz(25, 500)
def test_a_search_that_is_stopped_has_the_numbers_of_one_that_is_not(case, data):
    steps: list[int] = []
    begun, model, fed = built(case)
    whole = tune(begun, model, fed, case.clients, callback=lambda s: steps.append(s.used))
    stops = data.draw(st.lists(st.sampled_from(steps), unique=True, max_size=3))
    error = data.draw(st.sampled_from([StopTraining, KeyboardInterrupt, MemoryError]))
    every = data.draw(st.integers(1, 9))

    def stop(search: Any) -> None:
        if search.used in stops:
            stops.remove(search.used)
            raise error

    with TemporaryDirectory() as folder:
        path = Path(folder) / "search"
        while True:
            try:
                begun, model, fed = built(case)
                done = tune(begun, model, fed, case.clients, path=path, every=every, callback=stop)
            except (KeyboardInterrupt, MemoryError):
                continue
            if done.done and not stops:
                break
        same(done, whole)
        before = path.read_bytes()
        name = data.draw(st.sampled_from([*CHANGES]))
        if case.kind == "fedtune" and name == "clients":
            return  # all clients take part in every round
        other = replace(case, **{name: CHANGES[name](getattr(case, name))})
        begun, model, fed = built(other)
        with pytest.raises(ValueError, match=r"^path is .*; that search has another "):
            tune(begun, model, fed, other.clients, path=path)
        assert path.read_bytes() == before


@pytest.mark.filterwarnings("ignore::UserWarning")
@given(cases(("run",)), st.integers(0, 3), st.integers(0, 3), st.data())
@fuzz(25, 500)
def test_a_run_that_is_saved_has_the_numbers_of_one_that_is_not(case, before, after, data):
    def begun() -> tuple[Any, Model, Federation]:
        model, fed = network(case), federation(case)
        gen, c = torch.Generator().manual_seed(case.seed), LocalHP(lr=0.1, momentum=0.2)
        tuner = c if case.tuner == "fixed" else around(SPACES.client, 3)(c, gen)
        return start(model, fed, tuner, seed=case.seed, method=METHODS[case.method]()), model, fed

    def trained(run: Any, model: Model, fed: Federation, rounds: int) -> Any:
        return train(run, model, fed, rounds, case.clients, progress=False)

    run, model, fed = begun()
    whole = trained(trained(run, model, fed, before), model, fed, after)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        run, model, fed = begun()
        save_run(trained(run, model, fed, before), path, model, fed)
        _, model, fed = begun()
        same(trained(load_run(path, model=model, fed=fed), model, fed, after), whole)
        names = [n for n in CHANGES if n not in ("method", "seed", "clients")]
        name = data.draw(st.sampled_from(names))
        other = replace(case, **{name: CHANGES[name](getattr(case, name))})
        with pytest.raises(ValueError, match=r"^path is .*; that run has another "):
            load_run(path, model=network(other), fed=federation(other))
