"""Random data seen through random feature maps: a selection is that of plain loops and solves."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedlab_edu.features.linear import Linear
from fedlab_edu.features.maps import KERNELS, PREPROCESSINGS, RandomFourier, fourier_maps
from fedlab_edu.features.selection import Data
from fedlab_edu.features.share import share, share_softly
from tests.fuzz import fuzz

configurations = st.lists(
    st.tuples(st.sampled_from(KERNELS), st.floats(1e-3, 3), st.sampled_from(PREPROCESSINGS)),
    min_size=1, max_size=5,
)  # fmt: skip


def plain_scaled(train: list[list[float]], row: list[float], how: str | None) -> list[float]:
    if how is None:
        return row
    if how == "normalize":
        length = math.sqrt(sum(v * v for v in row))
        return [v / length if length else v for v in row]
    out = []
    for column, v in zip(zip(*train, strict=True), row, strict=True):
        low, high, mean = min(column), max(column), math.fsum(column) / len(column)
        deviation = math.sqrt(math.fsum((c - mean) ** 2 for c in column) / len(column))
        if low == high:
            out.append(v - low)
        else:
            out.append((v - low) / (high - low) if how == "minmax" else (v - mean) / deviation)
    return out


def plain_features(x: Any, train: Any, c: tuple[Any, ...], omega: Any, offset: Any) -> np.ndarray:
    kernel, gamma, how = c
    scale = math.sqrt(2 * gamma) if kernel == "gaussian" else gamma
    n, out = len(offset), []
    for row in x.tolist():
        scaled = plain_scaled(train.tolist(), row, how)
        waves = [scale * math.fsum(v * omega[k][j] for k, v in enumerate(scaled)) + offset[j]
                 for j in range(n)]  # fmt: skip
        out.append([math.sqrt(2 / n) * math.cos(wave) for wave in waves])
    return np.array(out)


def plain_ridge(X: Any, y: Any, classes: int, lam: float, intercept: bool) -> Any:
    """W and b by the normal equations, of which the intercept has no penalty."""
    A = np.hstack([X, np.ones((len(X), 1))]) if intercept else X
    Y = np.array([[1.0 if label == k else -1.0 for k in range(classes)] for label in y])
    penalty = lam * np.eye(A.shape[1])
    if intercept:
        penalty[-1, -1] = 0
    W = np.linalg.solve(A.T @ A + penalty, A.T @ Y)
    return (W[:-1], W[-1]) if intercept else (W, np.zeros(classes))


def plain_score(F: Any, y: Any, fit: Any, score: str) -> float:
    outputs, total = F @ fit[0] + fit[1], 0.0
    for row, label in zip(outputs.tolist(), y, strict=True):
        if score == "loss":
            total += sum((v - (1 if k == label else -1)) ** 2 for k, v in enumerate(row))
        else:
            total += row.index(max(row)) != label
    return total if score == "loss" else total / len(y)


@fuzz(25)
@given(
    configurations, st.integers(0, 2**32), st.integers(2, 14), st.integers(1, 8),
    st.integers(1, 3), st.integers(2, 3), st.integers(1, 9), st.floats(0.05, 5), st.booleans(),
    st.sampled_from(["loss", "error"]), st.booleans(), st.booleans(),
)  # fmt: skip
def test_weight_sharing_over_fourier_features_is_a_plain_loop(
    chosen: Any, seed: int, M: int, V: int, d: int, classes: int, n: int, lam: float,
    intercept: bool, score: Any, tensors: bool, constant: bool,
) -> None:  # fmt: skip
    rng, k = np.random.default_rng(seed), len(chosen)
    x, x_val = rng.normal(size=(M, d)), rng.normal(size=(V, d))
    if constant:
        x[:, 0], x[0] = 2.5, 0
    y, y_val = rng.integers(classes, size=M), rng.integers(classes, size=V)
    data = Data(x, y, x_val, y_val, classes)
    maps = fourier_maps([RandomFourier(*c) for c in chosen], x, n, np.random.default_rng(seed),
                        held=data.x_val, device="cpu" if tensors else None)  # fmt: skip
    again, waves = np.random.default_rng(seed), {}
    for kernel, draw in (("gaussian", again.standard_normal), ("laplacian", again.standard_cauchy)):
        waves[kernel] = draw(size=(d, n)).tolist(), again.uniform(0, 2 * math.pi, size=n).tolist()
    seen = [plain_features(x, x, c, *waves[c[0]]) for c in chosen]
    held = [plain_features(x_val, x, c, *waves[c[0]]) for c in chosen]
    for see, F, G in zip(maps, seen, held, strict=True):
        for rows, plain in ((x, F), (data.x_val, G)):
            np.testing.assert_allclose(np.asarray(see(rows)), plain, rtol=1e-6, atol=1e-6)
    rounds = math.ceil(math.log2(k)) if k > 1 else 0
    drawn = rng.integers(k, size=(rounds, M))
    found = share(maps, data, drawn, score, Linear("squares", lam, intercept)) if rounds else None
    alive = [*range(k)]
    for t in range(rounds):
        X = np.array([seen[i][j] for j, i in enumerate(drawn[t])])
        fit = plain_ridge(X, y, classes, lam, intercept)
        scores = [plain_score(held[i], y_val, fit, score) for i in alive]
        ours = found.scores[t][alive]
        assert ours == pytest.approx(scores, rel=1e-5, abs=1e-6 if score == "loss" else 1.01 / V)
        if len(set(np.round(scores, 5))) < len(scores) or ours.tolist() != pytest.approx(scores):
            return  # a tie, or an output at a tie, may fall to either side
        rank = sorted(alive, key=lambda i: scores[alive.index(i)])
        alive = sorted(rank[: (len(alive) + 1) // 2])
        assert found.survivors[t] == alive
        assert found.p[t][alive] == pytest.approx([1 / len(alive)] * len(alive))
    assert found is None or [found.pick] == alive


@fuzz(25)
@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(2, 9), st.floats(0, 20))
def test_soft_sharing_is_exponentiated_gradient_on_the_errors_of_plain_fits(seed, k, M, eta):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(M, 3)), rng.integers(2, size=M)
    turns = [rng.normal(size=(3, 4)) for _ in range(k)]
    maps = [lambda rows, turn=turn: rows @ turn for turn in turns]
    found = share_softly(maps, Data(x, y, x, y, 2), np.random.default_rng(seed), 3, eta)
    again, p = np.random.default_rng(seed), np.full(k, 1 / k)
    for t in range(3):
        drawn = again.choice(k, M, p=p)
        X = np.array([x[j] @ turns[i] for j, i in enumerate(drawn)])
        fit = plain_ridge(X, y, 2, 0.5, True)
        errors = [plain_score(x @ turn, y, fit, "error") for turn in turns]
        assert found.scores[t] == pytest.approx(errors)
        weights = [q * math.exp(-eta * e) for q, e in zip(p, errors, strict=True)]
        assert found.p[t] == pytest.approx([w / sum(weights) for w in weights], rel=1e-9)
        p = found.p[t]


@fuzz(40)
@given(
    st.integers(0, 2**32), st.integers(1, 12), st.integers(1, 12), st.integers(1, 3),
    st.floats(1e-3, 100), st.booleans(), st.sampled_from([1e-3, 1.0, 1e3]), st.booleans(),
)  # fmt: skip
def test_both_solvers_of_ridge_regression_solve_the_normal_equations(
    seed, N, n, C, lam, intercept, scale, copies
):
    gen = torch.Generator().manual_seed(seed)
    X = scale * torch.randn(N, n, generator=gen, dtype=torch.float64)
    X = torch.cat([X, X], 1) if copies else X
    y = torch.randint(C + 1, (N,), generator=gen)
    linear = Linear("squares", lam, intercept)
    W, b = plain_ridge(X.numpy(), y.numpy(), C + 1, lam, intercept)
    for features in (X, X.numpy()):
        ours = linear.fit(features, y.numpy(), C + 1)
        for seen, plain in zip(ours, (W, b), strict=True):
            np.testing.assert_allclose(np.asarray(seen), plain, rtol=1e-4, atol=1e-6)
