"""The toy assignment: tests as an instructor may write them, with plain values and assert."""

# ruff: noqa
import math, random, os
import pytest, torch

q = pytest.mark.q
rng = random.Random(os.environ.get("FG_SEED", "local"))  # hidden inputs differ per run


def tensor_like(got, want, what, hint=""):
    assert type(got) is torch.Tensor, (
        f"{what} must be a torch.Tensor, you returned {type(got).__name__}. {hint}"
    )
    assert got.dtype == want.dtype, f"{what} has dtype {got.dtype}, expected {want.dtype}. {hint}"
    assert got.shape == want.shape, (
        f"{what} has shape {tuple(got.shape)}, expected {tuple(want.shape)}. {hint}"
    )
    assert not torch.isnan(got).any(), f"{what} has NaN. {hint}"


def states(n, seed):
    g = torch.Generator().manual_seed(seed)
    return [
        {"w": torch.randn(3, 2, generator=g), "b": torch.randn(3, generator=g)} for _ in range(n)
    ]


def close(got, want, what, hint, wrong={}):
    if got is None:
        raise AssertionError(f"{what} returned None: did you forget `return`?")
    assert type(got) is dict, f"{what} must return a dict, you returned {type(got).__name__}"
    for k in want:
        assert k in got, f"{what} lost the key {k!r}"
        tensor_like(got[k], want[k], f"{what}[{k!r}]")
    if all(torch.allclose(got[k], want[k], atol=1e-6) for k in want):
        return
    for why, w in wrong.items():
        if all(torch.allclose(got[k], w[k], atol=1e-6) for k in w):
            raise AssertionError(f"{what}: {why}")
    raise AssertionError(f"{what} is wrong. {hint}")


@q("q1", 1)
def test_fedavg_public(student):
    s = [{"w": torch.tensor([1.0, 2.0])}, {"w": torch.tensor([3.0, 6.0])}]
    close(
        student.call("fedavg", s, [1.0, 1.0]),
        {"w": torch.tensor([2.0, 4.0])},
        "fedavg",
        "equal weights give the plain mean",
    )


@q("q1", 2, hidden=True)
def test_fedavg_weights(student):
    s = states(4, rng.randrange(10**6))
    w = [rng.uniform(0.1, 5) for _ in s]
    before = [{k: v.clone() for k, v in d.items()} for d in s]
    W = sum(w)
    want = {k: sum(d[k] * (x / W) for d, x in zip(s, w)) for k in s[0]}
    mean = {k: sum(d[k] for d in s) / len(s) for k in s[0]}
    unn = {k: sum(d[k] * x for d, x in zip(s, w)) for k in s[0]}
    student.call(
        "fedavg", states(2, 1), [1.0, 2.0]
    )  # an earlier call must not change a later answer
    got, args = student.call("fedavg", s, w, echo=True)
    close(
        got,
        want,
        "fedavg",
        "check the weights",
        {
            "this is the plain mean: you ignored the weights": mean,
            "you did not divide by the sum of the weights": unn,
        },
    )
    same = len(args[0]) == len(before) and all(
        torch.equal(a[k], b[k]) for a, b in zip(args[0], before) for k in b
    )
    assert same, "fedavg changed its inputs: client models must stay as they were"


@q("q2", 2, hidden=True)
def test_log_uniform(student):
    sd = rng.randrange(10**6)
    a = student.call("log_uniform", 1e-4, 1.0, 4000, sd, seed=1)
    b = student.call("log_uniform", 1e-4, 1.0, 4000, sd, seed=2)
    tensor_like(a, torch.zeros(4000, dtype=torch.float64), "log_uniform")
    assert torch.equal(a, b), (
        "same seed, different draws: use your own torch.Generator, not the global one"
    )
    assert not torch.equal(a, student.call("log_uniform", 1e-4, 1.0, 4000, sd + 1)), (
        "another seed gives the same draws"
    )
    assert (a >= 1e-4).all() and (a <= 1).all(), "draws outside [lo, hi]"
    f = (a < 1e-2).double().mean().item()
    assert abs(f - 0.5) < 0.05, (
        f"half of the draws should lie below the geometric middle, {f:.0%} do"
        + (": are you uniform in lr instead of log(lr)?" if f < 0.1 else "")
    )


@q("q3", 3, hidden=True)
def test_halving(student):
    best = {"lr": rng.uniform(0.01, 1)}
    spent = {}  # configuration -> the budgets that were spent on it
    cfgs = [{"lr": best["lr"] * (1 + i)} for i in range(27)]
    rng.shuffle(cfgs)

    def objective(c, budget):
        spent.setdefault(c["lr"], []).append(budget)
        return abs(math.log(c["lr"] / best["lr"])) + 0.1 / budget

    got = student.call("successive_halving", objective, cfgs, 1, 3)
    assert type(got) is dict and got.get("lr") == best["lr"], "not the best config"
    total = sum(map(sum, spent.values()))
    assert total == 27 + 27 + 27, (
        f"you spent a budget of {total}, successive halving with eta=3 spends 81"
    )
    rungs = sorted((tuple(budgets) for budgets in spent.values()), key=len)
    assert rungs == [(1,)] * 18 + [(1, 3)] * 6 + [(1, 3, 9)] * 3, (
        "the budget is right, but not how the configurations share it: all 27 get 1, the best 9 "
        "get 3, and the best 3 of these get 9"
    )


@q("q4", 2, hidden=True)
def test_dirichlet(student):
    y = torch.arange(300) % 5
    parts = student.call("dirichlet_split", y, 6, 0.3, rng.randrange(10**6))
    assert type(parts) is list and len(parts) == 6, "one list of indices per client"
    flat = [i for p in parts for i in p]
    assert all(type(i) is int for i in flat), "indices must be Python ints"
    assert sorted(flat) == list(range(300)), "every sample must go to exactly one client"
