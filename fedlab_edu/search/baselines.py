"""Random search, successive halving and Hyperband: arms of random configurations in a `Race`.

Khodak et al. (2021), Algorithms 1 and 3; Li et al. (2018), *Hyperband*, Algorithm 1.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, SupportsIndex

import torch
from jaxtyping import Float
from torch import Tensor

from fedlab_edu.data.clients import Federation
from fedlab_edu.methods import Method
from fedlab_edu.models.model import Model
from fedlab_edu.rounds.run import check_types, start
from fedlab_edu.rounds.tuner import Fixed, Tuner
from fedlab_edu.search.estimate import Estimate
from fedlab_edu.search.oneof import OneOf
from fedlab_edu.search.race import Race, Select
from fedlab_edu.search.schedules import Schedule, brackets, schedule
from fedlab_edu.search.space import Spaces
from fedlab_edu.seeds import check_default_device, generator, seed_for
from fedlab_edu.training.hparams import LocalHP, ServerHP
from fedlab_edu.validate import MOST, require, require_type, whole

Space = Spaces | OneOf
MakeTuner = Callable[[LocalHP, torch.Generator], Tuner]


def fixed_tuner(c: LocalHP, gen: torch.Generator | None = None) -> Tuner:
    """Return a tuner that keeps its configuration, or its one row per client; gen is not used."""
    return Fixed(c) if len(c) == 1 else Fixed(c, torch.arange(len(c)))


def random_search(
    model: Model, fed: Federation, spaces: Space, total: SupportsIndex, cap: SupportsIndex, *,
    tuner: MakeTuner = fixed_tuner, seed: SupportsIndex = 0, method: Method | None = None,
    estimate: Estimate | None = None, replacement: bool = False, select: Select = "survivor",
    w: Float[Tensor, " d"] | None = None,
) -> Race:  # fmt: skip
    """Train ``floor(total / cap)`` random configurations for ``cap`` rounds each::

        search = tune(random_search(model, fed, FEDEX, 200, 40, method=FedProx()), model, fed)

    Args:
        spaces: in which to draw, such as ``Spaces(SearchSpace({"lr": LogUniform(0.01, 1)}))``.
        total, cap: communication rounds over all arms, and of each arm.
        tuner: see `draw_arms`.
        seed: of the configurations, and of what `race` draws.
        method, estimate, replacement, select, w: see `race`.
    """
    plan = schedule(total, cap, eliminations=0)
    arms = draw_arms(spaces, plan.arms, seed, tuner)
    return race(model, fed, arms, [plan], seed=seed, method=method, estimate=estimate,
                replacement=replacement, select=select, w=w)  # fmt: skip


def successive_halving(
    model: Model, fed: Federation, spaces: Space, total: SupportsIndex, cap: SupportsIndex,
    eta: SupportsIndex = 3, eliminations: SupportsIndex = 3, *,
    tuner: MakeTuner = fixed_tuner, seed: SupportsIndex = 0, method: Method | None = None,
    estimate: Estimate | None = None, replacement: bool = False, select: Select = "survivor",
    w: Float[Tensor, " d"] | None = None,
) -> Race:  # fmt: skip
    """Train eta^R random configurations; each elimination keeps one in eta, see `schedule`.

    The other arguments are those of `random_search`.
    """
    plan = schedule(total, cap, eta, eliminations)
    arms = draw_arms(spaces, plan.arms, seed, tuner)
    return race(model, fed, arms, [plan], seed=seed, method=method, estimate=estimate,
                replacement=replacement, select=select, w=w)  # fmt: skip


def hyperband(
    model: Model, fed: Federation, spaces: Space, total: SupportsIndex, cap: SupportsIndex,
    eta: SupportsIndex = 3, *,
    tuner: MakeTuner = fixed_tuner, seed: SupportsIndex = 0, method: Method | None = None,
    estimate: Estimate | None = None, replacement: bool = False, select: Select = "survivor",
    w: Float[Tensor, " d"] | None = None,
) -> Race:  # fmt: skip
    """Train brackets of random configurations side by side, see `brackets`.

    Args:
        total, cap: communication rounds of all brackets together, and of one arm at most.
        eta: the elimination rate.

    The other arguments are those of `random_search`.
    """
    plan = brackets(total, cap, eta)
    arms = draw_arms(spaces, sum(one.arms for one in plan), seed, tuner)
    return race(model, fed, arms, plan, seed=seed, method=method, estimate=estimate,
                replacement=replacement, select=select, w=w)  # fmt: skip


class Arm(NamedTuple):
    """The tuner of an arm's clients, the hyperparameters b of its server, perhaps its method.

    A drawn arm has the ``point`` (h,) of the unit cube that gave its configuration, see `Spaces`.
    """

    tuner: Tuner
    b: ServerHP
    method: Method | None = None
    point: tuple[float, ...] = ()


def draw_arms(
    spaces: Space, arms: SupportsIndex, seed: SupportsIndex = 0, tuner: MakeTuner = fixed_tuner
) -> list[Arm]:
    """Draw arms with random configurations; arm a is the same for any number of arms.

    Args:
        arms: how many.
        tuner: makes an arm's tuner from its clients' configuration and a generator, as `around`
            does.

    Source: Khodak et al. (2021), Algorithm 1.
    """
    check_default_device()
    arms, seed = whole("arms", arms, 1, MOST), whole("seed", seed, 0)
    if not isinstance(spaces, OneOf):
        require_type("spaces", spaces, Spaces, "Spaces(SearchSpace({...}))")
    allowed = "a function of a configuration and a generator, such as around(spaces.client)"
    require(callable(tuner), "tuner", tuner, allowed)
    found = []
    for a in range(arms):
        gen = generator(seed, a, 0)
        method, space = spaces.draw(gen) if isinstance(spaces, OneOf) else (None, spaces)
        point = torch.rand(len(space.distributions), generator=gen, dtype=torch.float64)
        c, b = space.at(point)
        made = tuner(c, gen)
        require(isinstance(made, Tuner), "what tuner makes", made, "a tuner, such as FedEx")
        found.append(Arm(made, b, method, tuple(point.tolist())))
    return found


def make_arms(table: LocalHP, b: ServerHP | None = None) -> list[Arm]:
    """Return one arm per row, the same row for all clients: grid search if the table is a grid.

    All have the server's hyperparameters b; the default averages.
    """
    b = ServerHP() if b is None else b
    return [Arm(Fixed(table[j]), b) for j in range(len(table))]


def race(
    model: Model, fed: Federation, arms: Sequence[Arm], brackets: Sequence[Schedule], *,
    seed: SupportsIndex = 0, method: Method | None = None, estimate: Estimate | None = None,
    replacement: bool = False, select: Select = "survivor", w: Float[Tensor, " d"] | None = None,
) -> Race:  # fmt: skip
    """Start a race.

    Args:
        arms: in the order of the brackets, as many as they need. To choose one of several, some
            clients need validation data.
        brackets: a list of schedules, as ``[schedule(200, 40)]`` or ``[bracket((10,), 3, 2)]``.
        seed: of the arms' initial weights, clients and minibatches; each arm has its own draws.
        method: FedAvg by default. A `OneOf` names the methods itself.
        estimate: the default is the personalised error of the last round.
        replacement: whether a client may be drawn twice in a round.
        select: "survivor" takes the best arm at its last round; "best_seen" the run of any arm at
            the lowest estimate, which is too optimistic as the lowest of many noisy ones.
        w: the initial weights of all arms, instead of those of each arm's own seed.

    Source: Khodak et al. (2021), Algorithm 1; replacement and select are their code's.
    """
    check_types(model, fed)
    seed = whole("seed", seed, 0)
    ok = isinstance(arms, Sequence) and all(isinstance(arm, Arm) for arm in arms)
    require(ok, "arms", type(arms).__name__, "a list of arms: make_arms(table)")
    ok = isinstance(brackets, Sequence) and all(isinstance(one, Schedule) for one in brackets)
    require(ok, "brackets", brackets, "a list of schedules: [bracket((10,), 3, 2)]")
    needed = sum(bracket.arms for bracket in brackets)
    require(len(arms) == needed, "arms", len(arms), f"{needed}, as many as the brackets need")
    twice = method is not None and any(arm.method for arm in arms)
    require(not twice, "method", method, "None, where the search space names the methods")
    estimate = Estimate() if estimate is None else estimate
    require(isinstance(estimate, Estimate), "estimate", estimate, "an Estimate('global')")
    if len(arms) > 1 or estimate.target == "averaged":
        require(fed.val.n.any(), "validation examples", 0, "at least 1, to choose an arm by")
    runs = tuple(
        start(model, fed, arm.tuner, arm.b, seed_for(seed, a), arm.method or method, replacement, w)
        for a, arm in enumerate(arms)
    )
    nothing, all_in = ((),) * len(runs), (None,) * len(runs)
    return Race(runs, tuple(brackets), estimate, nothing, all_in, select)
