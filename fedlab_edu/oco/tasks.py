"""Streams of tasks with adjustable similarity: synthetic tasks, and pairs of real digits."""

from math import sqrt
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from fedlab_edu.data.digits import WRITERS, digit_images
from fedlab_edu.oco.losses import Losses
from fedlab_edu.seeds import check_generator
from fedlab_edu.tensors import as_float64
from fedlab_edu.validate import not_negative, one_of, require, share, whole


def similarity(optima: Any) -> Float[Tensor, "..."]:
    """Return ``V = min_w sqrt(1/tau sum_t |w - w_t*|^2)`` of the optima w_t* (..., tau, d).

    The smaller V, the more similar are the tasks.

    Source: Khodak et al. (2021), eq. (9).
    """
    optima = as_float64(optima, "optima")
    ok = optima.ndim >= 2 and optima.numel()
    require(ok, "shape of optima", tuple(optima.shape), "(..., tau, d), none of them 0")
    away = optima - optima.mean(-2, keepdim=True)
    return away.square().sum(-1).mean(-1).sqrt()


def draw_tasks(
    kind: str, tau: int, m: int, d: int, V: float, noise: float, gen: torch.Generator
) -> Losses:
    """Draw tasks around their own centres: ``z_ti = centre_t + noise u_ti``, z (tau, m, d).

    The centres lie at distance V from 0 in uniform directions. u is uniform on the cube around 0
    inscribed in the unit ball, so ``|z| <= V + noise``. The optima of quadratic losses are the
    means over i, and the square of their `similarity` has the expectation
    ``(1 - 1 / tau) (V^2 + noise^2 / (3 m))``.

    Args:
        kind: "quadratic"; or "absolute", with d = 1; see `Losses`.
        tau, m, d: the numbers of tasks, of losses in each, and of dimensions.
        V: at least 0; with 0 all tasks have one distribution.
        noise: within a task, at least 0.
    """
    one_of(("quadratic", "absolute"))("kind", kind)
    check_generator(gen)
    tau, m, d = (whole(n, x, 1) for n, x in (("tau", tau), ("m", m), ("d", d)))
    V, noise = not_negative("V", V), not_negative("noise", noise)
    ways = torch.randn(tau, 1, d, generator=gen, dtype=torch.float64)
    centres = V * ways / torch.linalg.vector_norm(ways, dim=-1, keepdim=True)
    u = 2 * torch.rand(tau, m, d, generator=gen, dtype=torch.float64) - 1
    return Losses(kind, u.mul_(noise / sqrt(d)).add_(centres))


def digit_tasks(kind: str, tau: int, m: int, other: float, gen: torch.Generator) -> Losses:
    """Draw tasks that tell two digits apart on images of one writer: z = y x / |x| (tau, m, 64).

    Each task draws its writer, and m images of both digits with replacement. Its digits are 3
    (y = 1) and 8 (y = -1).

    Args:
        kind: "hinge" or "logistic".
        tau, m: the numbers of tasks, and of images in each.
        other: the share of tasks, from 0 to 1, that draw their digits from the 90 ordered pairs
            instead, which may even be 8 and 3.
    """
    one_of(("hinge", "logistic"))("kind", kind)
    check_generator(gen)
    tau, m = whole("tau", tau, 1), whole("m", m, 1)
    share("other", other)
    x, label, writer = digit_images()
    x = x.flatten(1).double()
    x = x / torch.linalg.vector_norm(x, dim=1, keepdim=True)
    z = torch.empty(tau, m, x.shape[1], dtype=torch.float64)
    for t in range(tau):
        person = torch.randint(WRITERS, (), generator=gen)
        pair = torch.tensor([3, 8])
        if torch.rand((), generator=gen) < other:
            pair = torch.randperm(10, generator=gen)[:2]
        rows = ((writer == person) & torch.isin(label, pair)).nonzero()[:, 0]
        rows = rows[torch.randint(len(rows), (m,), generator=gen)]
        y = torch.where(label[rows] == pair[0], 1.0, -1.0)
        z[t] = y[:, None] * x[rows]
    return Losses(kind, z)
