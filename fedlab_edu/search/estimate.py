"""The estimate by which the arms of a race are compared. Khodak et al. (2021), section 2."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isnan, nan
from typing import Annotated, Literal

from fedlab_edu.data.clients import Federation
from fedlab_edu.models.model import Model
from fedlab_edu.rounds.objectives import average
from fedlab_edu.rounds.result import Round, divergence, weighted_mean
from fedlab_edu.rounds.run import Run
from fedlab_edu.search.schedules import discounted_mean
from fedlab_edu.training.scores import score
from fedlab_edu.validate import Checked, share

Target = Literal["global", "personalised", "averaged"]


@dataclass(frozen=True)
class Estimate(Checked):
    """The rule that turns the validation scores of an arm's rounds into its estimate.

    Args:
        target: "global" scores the model that the clients receive, "personalised" the models that
            they train from it. "averaged" scores the server's next model on the validation data of
            all clients together, which only a server that holds such data can do.
        score: "error", the share of examples that are wrong, or "loss".
        gamma: the weight of a round is gamma to the power of its age: 0 takes the last round alone,
            1 the mean of all rounds since the last elimination, as in the authors' code. (The paper
            says: of all past rounds.)
        weighted: weight a client's score by its number of validation examples; otherwise all
            clients that have any count alike. "averaged" has one weight for each example.
    """

    target: Target = "personalised"
    score: Literal["error", "loss"] = "error"
    gamma: Annotated[float, share] = 0.0
    weighted: bool = True

    def of_run(self, run: Run, model: Model, fed: Federation, t: int = -1) -> float:
        """Return the score of a round of a run; if "averaged", of its last."""
        if self.target != "averaged":
            return self.of_round(run.history[t])
        return float(getattr(average(score(model, run.w, fed.val), fed.val), self.score))

    def of_round(self, played: Round) -> float:
        """Return the mean over the round's clients; NaN if none has validation examples.

        A client that has diverged has an error of 1, and a loss of +inf.
        """
        of = played.before if self.target == "global" else played.after
        weight = played.size if self.weighted else (played.size > 0).long()
        return weighted_mean(of.loss if self.score == "loss" else of.rates, weight)

    def of_trace(self, trace: Sequence[float], since: int) -> float:
        """Return the discounted mean of the scores after round ``since`` that are not NaN.

        If there are none, return the last score before it that is not NaN, or else NaN.
        """
        known = [s for s in trace[since:] if not isnan(s)]
        known = known or [s for s in trace if not isnan(s)][-1:]
        return discounted_mean(known, self.gamma) if known else nan

    def warning(self, run: Run, score: float) -> str | None:
        """Describe what is wrong with a run of this score, or return None.

        The run has diverged, see `divergence`, or its score is more than a tenth above the score of
        its initial weights on the clients of its first round. None if the history was cut.
        """
        if not run.history or len(run.history) < run.round:
            return None
        first, last = run.history[0], run.history[-1]
        initial = replace(self, target="global").of_round(first)
        worse = f"its score, {score:.3g}, is worse than that of its initial weights, {initial:.3g}"
        return divergence(first, last) or (worse if score > 1.1 * initial else None)
