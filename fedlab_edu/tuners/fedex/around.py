"""FedEx in each arm of a search: Khodak et al. (2021), Algorithm 3 with *Local perturbation*."""

from collections.abc import Sequence
from typing import Any, Literal

import torch

from fedlab_edu.search.baselines import MakeTuner
from fedlab_edu.search.space import SearchSpace
from fedlab_edu.training.hparams import LocalHP
from fedlab_edu.tuners.fedex.tuner import FedEx
from fedlab_edu.validate import MOST, number, require, share, whole


def around(
    space: SearchSpace[LocalHP],
    k: int | Sequence[int] = 27,
    eps: float | None = 0.1,
    gamma: float | Literal["tuned"] = "tuned",
    **options: Any,
) -> MakeTuner:
    """Put FedEx into each arm of a search, over the arm's configuration and k - 1 others near it.

    So ``successive_halving(model, fed, FEDEX, 4000, 800, tuner=around(FEDEX.client))``.

    Args:
        space: of the clients, in which the others are drawn, see `SearchSpace.perturb`. An arm of
            `Spaces` of several clients has no others.
        k: a sequence is drawn from for each arm: Khodak et al. (2020) take 1, eta, ..., eta^R.
        eps: see `SearchSpace.perturb`; 0 makes all rows equal. None draws the rows independently,
            as in Khodak et al. (2020), Algorithm 2.
        gamma: see `FedEx`; "tuned" draws it uniformly from [0, 1] for each arm.
        options: step, cutoff, eta0, score, difference and first_baseline of `FedEx`. Its score
            moves theta; the search's `Estimate` ranks the arms.
    """
    ok = isinstance(space, SearchSpace) and space.kind is LocalHP
    require(ok, "space", space, "a SearchSpace of the clients, as in around(FEDEX.client)")
    sizes = [whole("k", one, 1, MOST) for one in (k if isinstance(k, Sequence) else [k])]
    require(sizes, "k", k, "a number of rows, or numbers to draw from")
    if eps is not None:
        share("eps", eps)
    allowed = ["step", "cutoff", "eta0", "score", "difference", "first_baseline"]
    for name in options:
        require(name in allowed, "option", name, f"one of {allowed}")
    ok = gamma == "tuned" or 0 <= number(gamma) <= 1
    require(ok, "gamma", gamma, "a number from 0 to 1, or 'tuned'")

    def tuner(c: LocalHP, gen: torch.Generator) -> FedEx:
        allowed = "1: where each client has a configuration of its own, there are no others"
        require(len(c) == 1, "configurations of an arm", len(c), allowed)
        place = torch.randint(len(sizes), (), generator=gen) if len(sizes) > 1 else 0
        others, table = sizes[int(place)] - 1, c
        if others:
            rows = space.sample(others, gen) if eps is None else space.perturb(c, eps, others, gen)
            table = LocalHP.concat([c, rows])
        u = torch.rand((), generator=gen, dtype=torch.float64)
        discount = float(u) if gamma == "tuned" else float(gamma)
        return FedEx(table, gamma=discount, **options)

    FedEx(LocalHP(), **options)  # refuse bad options now, not later
    return tuner
