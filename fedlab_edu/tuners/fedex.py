"""FedEx: the clients' hyperparameters are tuned while the model is trained, by weight-sharing.

All clients of a round share one model. Each trains it with a configuration drawn from theta, and
their validation scores move theta by exponentiated gradient. Khodak et al. (2021), Algorithm 2, and
their workshop paper of 2020.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import exp, inf, log, prod, sqrt
from operator import mul
from typing import Any, Literal, get_args

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from fedlab_edu.check import check_shares, number, require
from fedlab_edu.hparams import LocalHP
from fedlab_edu.laws import real

Rule = Literal["aggressive", "adaptive", "constant", "auto", "scale"]
RULES = get_args(Rule)


def gradient(theta: Any, arm: Any, score: Any, size: Any, baseline: float) -> Float[Tensor, " k"]:
    """``g_j = sum_(i: arm_i = j) |V_i| (score_i - baseline) / (theta_j sum_i |V_i|)``.

    Over the draws of the arms its expectation is ``sum_i |V_i| L_i(c_j) / sum_i |V_i| - baseline``:
    the derivative of the expected score by theta_j, less a constant that makes no difference to a
    distribution.

    Args:
        theta: (k,), the distribution from which the arms were drawn.
        arm, score, size: (B,), the row of the table that each client used, its score, and the
            number |V_i| of its validation examples.

    Raises:
        ValueError: sizes that do not add up to more than 0; an arm of probability 0, which nobody
            can have drawn.

    Source: Khodak et al. (2021), Algorithm 2 and appendix C.1.
    """
    theta, arm, score, size = (_listed(x) for x in (theta, arm, score, size))
    total, g = sum(size), [0.0] * len(theta)
    require(total > 0, "size", size, "numbers of examples, not all 0")
    # plain numbers: for ten clients a loop takes less time than vectors do
    for j, s, v in zip(arm, score, size, strict=True):
        require(theta[j] > 0, "theta", theta, "above 0 for each arm that was drawn")
        excess = s - baseline
        # of equal numbers a rounding error is left, which some rules scale up to a full step
        if abs(excess) > 1e-14 * abs(baseline):
            g[j] += v * excess / (theta[j] * total)
    return torch.tensor(g, dtype=torch.float64)


def _listed(x: Any) -> list[Any]:
    return x.tolist() if isinstance(x, Tensor | np.ndarray) else list(x)


def step_size(rule: Rule, gradients: Any, k: int, eta0: float | None = None) -> float:
    """The step size eta_t for the last of the gradients g_1, ..., g_t; 0 where a rule divides by 0.

    - "constant": ``eta0``
    - "adaptive": ``eta0 / sqrt(sum_(s <= t) |g_s|_inf^2)``
    - "aggressive": ``eta0 / |g_t|_inf``
    - "auto": ``eta0 / sqrt(t)``
    - "scale": ``eta0 sqrt(2 ln k)``

    Args:
        gradients: (t, k), t at least 1.
        k: the number of configurations.
        eta0: None stands for ``sqrt(2 ln k)``.

    Raises:
        ValueError: an unknown rule.

    Source: Khodak et al. (2021), appendix F; "auto" and "scale" are in their code only.
    """
    require(rule in RULES, "step", rule, f"one of {RULES}")
    require(len(gradients) > 0, "gradients", [], "at least one")
    norms = real(gradients).abs().amax(1)
    return _eta(rule, float(norms[-1]), float(norms.square().sum()), len(norms), k, eta0)


def _eta(
    rule: Rule, norm: float, squares: float, t: int, k: int, eta0: float | None = None
) -> float:
    """`step_size`, of the last gradient's norm, and of the sum of all their squares."""
    usual = sqrt(2 * log(k))
    eta = usual if eta0 is None else eta0
    by = {"aggressive": norm, "adaptive": sqrt(squares), "auto": sqrt(t)}.get(rule, 1.0)
    return eta * (usual if rule == "scale" else 1.0) / by if by > 0 else 0.0


def exponentiate(z: Any, gradient: Any, eta: float) -> Float[Tensor, " k"]:
    """``theta exp(-eta gradient)``, normalised, in logarithms: z (k,) and the result are log theta.

    A probability may become so small that theta is 0. It is then never drawn.

    Source: Khodak et al. (2021), Algorithm 2.
    """
    return (real(z) - eta * real(gradient)).log_softmax(0)


def pick(theta: Any, u: Any) -> Int[Tensor, " B"]:
    """The arms at draws u (B,) in [0, 1), of which arm j has a part of length theta_j."""
    ends = [*accumulate(_listed(theta))]
    last = bisect_left(ends, ends[-1])  # u times the sum may be rounded up to the sum
    arms = [min(bisect_right(ends, x * ends[-1]), last) for x in _listed(u)]
    return torch.tensor(arms, dtype=torch.long)


_HUGE = 1e100  # what is above has diverged: divided by a probability it may be no number
_ALLOWED = {"step": RULES, "score": ("error", "loss"), "first_baseline": ("zero", "skip")}


@dataclass(frozen=True, eq=False)
class FedEx:
    """A distribution theta over the k rows of a table, moved by exponentiated gradient.

    Args:
        step: the rule of the step size, see `step_size`.
        gamma: the baseline is the mean score of the rounds before, each discounted by gamma to the
            power of its age: 0 takes the last round alone, 1 the mean of all.
        cutoff: when the entropy of theta, in nats, falls below it, theta is not moved any more, and
            all train with the most likely row.
        eta0: see `step_size`.
        score: "error", the share of validation examples that are wrong, or "loss". A model that
            has diverged scores 1, or twice the round's highest score where that is above 1, and
            no less than the baseline.
        difference: take what local training has changed, the score after it less that before.
        first_baseline: "zero" takes 0 in the first round, in which every arm that was drawn then
            loses to those that were not (with `difference` it wins if training has helped); "skip"
            leaves theta as it is in that round.
        axes: the sizes of the axes of a grid, for theta as a product of one distribution for each;
            rows are in the order of nested loops: ``FedEx(space.grid(3), axes=space.sizes(3))``.
            () is a single axis.

    State:
        z: (k,), log theta; of several axes, each one's (n_f,) end to end.
        squares: of each axis ``sum_s |g_s|_inf^2`` over its gradients so far.
        steps: how many there were.
        rounds: how many had a client that could validate.
        sums: over their mean scores, ``sum_age gamma^age x_age`` and ``sum_age gamma^age``.
        stopped: whether the entropy has fallen below the cutoff.

    Raises:
        ValueError: an option that is not allowed, or axes whose product is not k.

    Source: Khodak et al. (2021), Algorithm 2 and appendix C, where the baseline lacks the weights
    |V_i| that it has here and in their code; (2020), section 4.2, for the cutoff; their code for
    the error as score, `difference` and `axes`.
    """

    table: LocalHP
    step: Rule = "aggressive"
    gamma: float = 0.0
    cutoff: float = 1e-4
    eta0: float | None = None
    score: Literal["error", "loss"] = "error"
    difference: bool = False
    first_baseline: Literal["zero", "skip"] = "zero"
    axes: tuple[int, ...] = ()
    z: Float[Tensor, " n"] = field(default_factory=lambda: real([]), repr=False)
    squares: tuple[float, ...] = field(default=(), repr=False)
    steps: int = field(default=0, repr=False)
    rounds: int = field(default=0, repr=False)
    sums: tuple[float, float] = field(default=(0.0, 0.0), repr=False)
    stopped: bool = False

    def __post_init__(self) -> None:
        ok = isinstance(self.table, LocalHP) and len(self.table)
        require(ok, "table", self.table, "a LocalHP of at least one row")
        k, seen = len(self.table), self.axes
        axes = tuple(seen) if isinstance(seen, Sequence) else (seen,)
        ok = all(isinstance(n, int) and n >= 1 for n in axes) and prod(axes) == k
        require(ok or not axes, "axes", seen, f"whole numbers whose product is {k}")
        axes = axes or (k,)
        for name, allowed in _ALLOWED.items():
            require(getattr(self, name) in allowed, name, getattr(self, name), str(allowed))
        check_shares(gamma=self.gamma)
        require(number(self.cutoff) >= 0, "cutoff", self.cutoff, "a number of at least 0")
        ok = self.eta0 is None or 0 <= number(self.eta0) < inf
        require(ok, "eta0", self.eta0, "a finite number of at least 0, or None")
        z = self.z if len(self.z) else real([-log(n) for n in axes for _ in range(n)])
        require(len(z) == sum(axes), "z", z, f"logarithms of {sum(axes)} probabilities")
        squares = self.squares or (0.0,) * len(axes)
        for name, value in (("axes", axes), ("z", z), ("squares", squares)):
            object.__setattr__(self, name, value)

    @property
    def factors(self) -> list[Float[Tensor, " n"]]:
        """The distribution of each axis."""
        return [z.exp() for z in _split(self.z, self.axes)]

    @property
    def theta(self) -> Float[Tensor, " k"]:
        """The probability of each row."""
        theta = real([1.0])
        for factor in self.factors:
            theta = torch.outer(theta, factor).flatten()
        return theta

    @property
    def entropy(self) -> float:
        """``- sum_j theta_j ln theta_j``, in nats; ln k at first."""
        return _entropy(self.z)

    @property
    def baseline(self) -> float:
        """lambda of the next round, a discounted mean of those before; 0 before the first."""
        total, weight = self.sums
        return total / weight if weight else 0.0

    @property
    def best(self) -> int:
        """The most likely row, of equal ones the first."""
        places = [z.argmax() for z in _split(self.z, self.axes)]
        return int(_row(places, self.axes))

    @property
    def final(self) -> LocalHP:
        """The most likely configuration; see also `sampled`."""
        return self.table[self.best]

    def sampled(self, clients: int, gen: torch.Generator) -> LocalHP:
        """A configuration for each client, drawn from theta: how the authors' code tests.

        So ``personalise(run, model, fed, run.tuner.sampled(len(fed), gen))``.
        """
        return self.table[self.ask(clients, gen)]

    def ask(
        self, clients: int, gen: torch.Generator, *, who: Int[Tensor, " B"] | None = None
    ) -> Int[Tensor, " B"]:
        """A row for each client, drawn from theta; the best for all when theta has stopped."""
        if self.stopped:
            return torch.full((clients,), self.best)
        places = [
            pick(theta, torch.rand(clients, generator=gen, dtype=torch.float64))
            for theta in self.factors
        ]
        return _row(places, self.axes)

    def tell(
        self,
        arm: Int[Tensor, " B"],
        before: Float[Tensor, " B"],
        after: Float[Tensor, " B"],
        size: Int[Tensor, " B"],
    ) -> "FedEx":
        """The tuner after a round, theta moved by its scores; see `Tuner.tell`."""
        sizes, told = size.tolist(), [*zip(before.tolist(), after.tolist(), strict=True)]
        if not any(sizes):
            return self
        sound = [abs(b) <= _HUGE and abs(a) <= _HUGE for b, a in told]
        both = told if all(sound) else _finite(told)
        scores = [a - b if self.difference else a for b, a in both]
        baseline = self.baseline  # lambda_t, of the rounds before this one
        total, weight = self.sums
        mean = sum(map(mul, scores, sizes)) / sum(sizes)
        sums = self.gamma * total + mean, self.gamma * weight + 1
        new = self._with(rounds=self.rounds + 1, sums=sums)
        if self.stopped or (self.first_baseline == "skip" and not self.rounds):
            return new
        if both is not told:  # what diverges must not gain, even if the rest is below lambda_t
            worst = max(*scores, baseline)
            scores = [s if ok else worst for s, ok in zip(scores, sound, strict=True)]
        zs, squares, t = [], [], self.steps + 1
        axes = zip(_split(self.z, self.axes), _places(arm, self.axes), self.squares, strict=True)
        for z, place, so_far in axes:
            g = gradient(z.exp(), place, scores, sizes, baseline)
            norm = max(map(abs, g.tolist()))
            squares.append(so_far + norm * norm)  # +inf, where ** would raise
            eta = _eta(self.step, norm, squares[-1], t, len(z), self.eta0)
            # theta <- theta exp(-eta_t g), normalised
            zs.append(exponentiate(z, g, eta))
        z = torch.cat(zs) if len(zs) > 1 else zs[0]
        stopped = _entropy(z) < self.cutoff
        return new._with(z=z, squares=tuple(squares), steps=t, stopped=stopped)

    def _with(self, **changes: Any) -> "FedEx":
        """A copy, without the checks: they would take longer than a round's update."""
        new = object.__new__(FedEx)
        vars(new).update(vars(self), **changes)
        return new

    def settle(self) -> "FedEx":
        """theta stays as it is, and all train with its most likely row."""
        return self._with(stopped=True)


def _split(z: Tensor, axes: Sequence[int]) -> Sequence[Tensor]:
    return z.split(list(axes)) if len(axes) > 1 else [z]


def _row(places: Sequence[Tensor], axes: Sequence[int]) -> Tensor:
    """The rows of a table at these places on the axes, the last axis the innermost."""
    row = places[0]
    for place, n in zip(places[1:], axes[1:], strict=True):
        row = row * n + place
    return row


def _places(row: Tensor, axes: Sequence[int]) -> list[Tensor]:
    """The inverse of `_row`."""
    places = []
    for n in reversed(axes[1:]):
        places.append(row % n)
        row = row // n
    return [row, *reversed(places)]


def _entropy(z: Tensor) -> float:
    """Of several axes, end to end, it is the sum of theirs."""
    return -sum(exp(x) * x for x in z.tolist() if x > -inf)


def _finite(scores: Sequence[Sequence[float]]) -> list[list[float]]:
    """The scores, with a number for those of diverged models that is worse than all others."""
    highest = max((x for pair in scores for x in pair if abs(x) <= _HUGE), default=0.0)
    worst = 1.0 if highest <= 1 else min(2 * highest, _HUGE)
    return [[x if abs(x) <= _HUGE else worst for x in pair] for pair in scores]
