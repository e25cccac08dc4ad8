"""The tuner `FedEx`: Algorithm 2 with the options of both papers and of the authors' code."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Annotated, Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from fedlab_edu.rounds.result import Round
from fedlab_edu.tensors import as_float64
from fedlab_edu.training.hparams import LocalHP
from fedlab_edu.tuners.fedex.algorithm import Theta
from fedlab_edu.tuners.fedex.rules import entropy
from fedlab_edu.validate import Checked, not_negative, require, share, updated, whole


@dataclass(frozen=True, eq=False)
class FedEx(Checked):
    """A distribution theta over the k rows of a table, moved by exponentiated gradient.

    Args:
        step: the rule of the step size, see `step_size`.
        gamma: the baseline is the mean score of earlier rounds, each discounted by gamma to the
            power of its age: 0 takes the last round alone, 1 the mean of all.
        cutoff: when the entropy of theta, in nats, falls below it, theta stops, and all clients
            train with the most likely row.
        eta0: see `step_size`.
        score: "error", the share of validation examples that are wrong, or "loss". Theta's step
            gives a diverged client the round's highest score, or the baseline if that is higher.
        difference: take the change by local training, the score after it minus that before.
        first_baseline: "zero" takes 0 in the first round, in which every row that was drawn then
            loses to those that were not (with `difference` it wins if training has helped); "skip"
            leaves theta unchanged in that round.
        axes: the sizes of the axes of a grid, for theta as a product of one distribution for each;
            their product is k; rows are in the order of nested loops: ``FedEx(space.grid(3),
            axes=space.sizes(3))``. () is a single axis.

    State:
        thetas: the distribution of each axis.
        sums: ``sum_age gamma^age x_age`` over the rounds in which a client could validate, for
            three x: the mean score, the mean scale of the scores (see `gradient`), and 1.

    Source: Khodak et al. (2021), Algorithm 2 and appendix C, where the baseline lacks the weights
    |V_i| that it has here and in their code; (2020), section 4.2, for the cutoff; their code for
    the error as score, `difference` and `axes`.
    """

    table: LocalHP
    step: Literal["aggressive", "adaptive", "constant", "auto", "scale"] = "aggressive"
    gamma: Annotated[float, share] = 0.0
    cutoff: Annotated[float, not_negative] = 1e-4
    eta0: Annotated[float, not_negative] | None = None
    score: Literal["error", "loss"] = "error"
    difference: bool = False
    first_baseline: Literal["zero", "skip"] = "zero"
    axes: tuple[int, ...] = ()
    thetas: tuple[Theta, ...] = field(default=(), repr=False)
    sums: tuple[float, float, float] = field(default=(0.0, 0.0, 0.0), repr=False)
    stopped: bool = False

    def __post_init__(self) -> None:
        ok = isinstance(self.table, LocalHP) and len(self.table)
        require(ok, "table", self.table, "a LocalHP of at least one row")
        k, seen = len(self.table), self.axes
        axes = tuple(seen) if isinstance(seen, Sequence) else (seen,)
        allowed = f"whole numbers whose product is {k}"
        axes = tuple(whole("axes", n, 1, allowed=allowed) for n in axes) or (k,)
        require(prod(axes) == k, "axes", seen, allowed)
        super().__post_init__()
        thetas = self.thetas or tuple(Theta.uniform(n) for n in axes)
        sizes = tuple(len(one.z) for one in thetas)
        require(sizes == axes, "thetas", sizes, f"distributions over {axes} rows")
        object.__setattr__(self, "axes", axes)
        object.__setattr__(self, "thetas", thetas)

    @property
    def theta(self) -> Float[Tensor, " k"]:
        """The probability of each row."""
        theta = as_float64([1.0])
        for one in self.thetas:
            theta = torch.outer(theta, as_float64(one.theta)).flatten()
        return theta

    @property
    def entropy(self) -> float:
        """The entropy of theta, in nats; ln k at first."""
        return sum(entropy(one.z) for one in self.thetas)

    @property
    def baseline(self) -> float:
        """lambda_t of the next round, a discounted mean of earlier scores; 0 in the first round."""
        total, _, weight = self.sums
        return total / weight if weight else 0.0

    @property
    def best(self) -> int:
        """The most likely row, the first of equal ones."""
        places = [one.z.index(max(one.z)) for one in self.thetas]
        return int(np.ravel_multi_index(places, self.axes))

    @property
    def final(self) -> LocalHP:
        """The most likely configuration.

        The authors' tests draw one for each client instead:
        ``personalise(run, model, fed, tuner.table[tuner.ask(torch.arange(len(fed)), gen)])``.
        """
        return self.table[self.best]

    def ask(self, who: Int[Tensor, " B"], gen: torch.Generator) -> Int[Tensor, " B"]:
        """Draw a row for each client from theta; once theta has stopped, all get the best."""
        if self.stopped:
            return torch.full((len(who),), self.best)
        u = [torch.rand(len(who), generator=gen, dtype=torch.float64) for _ in self.thetas]
        places = [one.draw(x.tolist()) for one, x in zip(self.thetas, u, strict=True)]
        return torch.from_numpy(np.ravel_multi_index(places, self.axes))

    def tell(self, result: Round) -> "FedEx":
        """Return the tuner after a round, theta moved by its scores."""
        size = result.size.tolist()
        if not size:  # no client could validate
            return self
        scores, scale = self._scores(result)
        waits = self.stopped or (not self.sums[-1] and self.first_baseline == "skip")
        thetas = self.thetas if waits else self._moved(result, scores, scale)
        stopped = self.stopped or (not waits and sum(entropy(t.z) for t in thetas) < self.cutoff)
        # the next baseline, in which this round has age 0
        new = _mean(scores, size), _mean(scale, size), 1.0
        sums = tuple(self.gamma * old + x for old, x in zip(self.sums, new, strict=True))
        return updated(self, sums=sums, thetas=thetas, stopped=stopped)

    def _moved(self, result: Round, scores: list[float], scale: list[float]) -> tuple[Theta, ...]:
        """Return the distribution of each axis after a step."""
        lam, (_, scales, weight) = self.baseline, self.sums
        worst = max(*scores, lam)  # a client that has diverged must not gain
        lost = result.diverged.tolist()
        scores = [worst if bad else s for s, bad in zip(scores, lost, strict=True)]
        before = scales / weight if weight else 0.0
        scale = [max(m, before) for m in scale]
        places = np.unravel_index(result.row.tolist(), self.axes)
        rows, size = [place.tolist() for place in places], result.size.tolist()
        return tuple(
            one.update(row, scores, size, lam, self.step, self.eta0, scale)
            for one, row in zip(self.thetas, rows, strict=True)
        )

    def _scores(self, result: Round) -> tuple[list[float], list[float]]:
        """Return each client's score and its scale, see `gradient`."""
        after, before = getattr(result.after, self.score), getattr(result.before, self.score)
        if not self.difference:
            return after.tolist(), after.abs().tolist()
        return (after - before).tolist(), torch.maximum(after.abs(), before.abs()).tolist()


def _mean(values: Sequence[float], size: Sequence[float]) -> float:
    return sum(x * n for x, n in zip(values, size, strict=True)) / sum(size)
