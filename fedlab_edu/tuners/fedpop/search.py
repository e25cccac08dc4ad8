"""Start a FedPop search: `fedpop`."""

from dataclasses import replace
from typing import Any, Literal, SupportsIndex

from fedlab_edu.data.clients import Federation
from fedlab_edu.methods import Method, check_mu
from fedlab_edu.models.model import Model
from fedlab_edu.rounds.run import start
from fedlab_edu.search.baselines import draw_arms
from fedlab_edu.search.schedules import schedule
from fedlab_edu.search.space import Spaces
from fedlab_edu.seeds import seed_for
from fedlab_edu.tuners.fedpop.evolution import Evolution
from fedlab_edu.tuners.fedpop.local import Local
from fedlab_edu.tuners.fedpop.population import Birth, FedPop
from fedlab_edu.validate import MOST, require, whole


def fedpop(
    model: Model, fed: Federation, spaces: Spaces, total: SupportsIndex, cap: SupportsIndex, *,
    G: bool = True, L: bool = True, local: Local | None = None, T_g: SupportsIndex | None = None,
    weighted: bool = False, on_nan: Literal["wait", "replace"] = "wait",
    eta: SupportsIndex = 3, eliminations: SupportsIndex = 0,
    method: Method | None = None, seed: SupportsIndex = 0, **evolution: Any,
) -> FedPop:  # fmt: skip
    """Start a search; with the paper's space, whose mu is that of FedProx::

        search = tune(fedpop(model, fed, FEDPOP, 4000, 800, method=FedProx()), model, fed)

    All members start with the same weights, and with the configurations of `random_search` with
    that seed.

    Args:
        total, cap, eta, eliminations: see `schedule`. Without eliminations N_c = total // cap
            members train for R_c = cap rounds each; a remainder is not spent.
        G: whether members copy one another.
        L: whether the clients of a member copy one another's vectors; without it all have its base.
        local: the options of FedPop-L; None stands for ``Local()``.
        T_g: the rounds between two copies of members, and the rounds over which a score goes; None
            stands for max(1, R_c // 10), as in the paper: 80 of 800.
        evolution: eps, p_re, rho, gamma and coin of `Evolution`.
        weighted: weight a member's score by numbers of validation examples, as in the authors'
            code. As printed, all clients have the same weight.
        on_nan: when a member that has diverged is replaced: when members copy next ("wait"), or at
            once by a copy of a random member ("replace"), as in the authors' code.

    Source: Chen et al. (2023), Algorithm 1 and section 3.4.
    """
    local = Local() if local is None else local
    require(isinstance(local, Local), "local", local, "a Local, such as Local(T_l=5)")
    require(isinstance(spaces, Spaces), "spaces", spaces, "Spaces(SearchSpace({...}))")
    for name, value in (("G", G), ("L", L)):
        require(isinstance(value, bool), name, value, "True, False")
    require(on_nan in ("wait", "replace"), "on_nan", on_nan, "'wait', 'replace'")
    require(fed.val.n.any(), "validation examples", 0, "at least 1, to judge members by")
    bracket = schedule(whole("total", total, 1, MOST), cap, eta, eliminations)
    how = Evolution(bracket.stops[-1], **evolution)
    every = max(1, how.R // 10) if T_g is None else whole("T_g", T_g, 1)
    begun = start(model, fed, seed=seed, method=method)
    arms = draw_arms(spaces, bracket.arms, begun.seed)
    for arm in arms:
        check_mu(begun.method, arm.tuner.table)
    runs = tuple(replace(begun, tuner=arm.tuner, b=arm.b, seed=seed_for(begun.seed, i))
                 for i, arm in enumerate(arms))  # fmt: skip
    births = tuple(Birth(0, i, None, arm.tuner.final, arm.b) for i, arm in enumerate(arms))
    nothing, all_in = ((),) * len(runs), (None,) * len(runs)
    return FedPop(runs, spaces, bracket, how, G, every, local if L else None, bool(weighted),
                  on_nan, begun.seed, nothing, all_in, births)  # fmt: skip
