"""Searches by noisy scores: few clients evaluate, or the server sees scores with private noise.

Kuo et al. (2023), *On noisy evaluation in federated hyperparameter tuning*, on our searches. As in
their code, private scores are mean errors with equal weights, plus Laplace noise, clipped to
[0, 1]; theirs is for one configuration at a time, ours for each row of a tuner's table.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import inf, isfinite
from typing import Annotated

import torch
from torch import Tensor

from fedlab_edu import Federation, FedPop, Model, Run
from fedlab_edu.papers.experiment import experiment
from fedlab_edu.papers.fedex import SETTINGS
from fedlab_edu.papers.fedpop import Member
from fedlab_edu.papers.searches import Setting
from fedlab_edu.rounds.result import Round
from fedlab_edu.search.workers import Play, play_here
from fedlab_edu.seeds import generator
from fedlab_edu.training.scores import Score
from fedlab_edu.validate import Checked, real, whole


@dataclass(frozen=True)
class Noise(Checked):
    """The noise between the clients' errors and what the server sees of them.

    Fields:
        clients: |S|, how many of a round's clients evaluate.
        epsilon: all scores of a search together are epsilon-differentially private for the
            validation data of a client; inf adds no noise. The models that clients send are not
            covered.
        looks: M, the number of rounds whose scores the search uses, over all arms.
    """

    clients: Annotated[int, lambda name, value: whole(name, value, 1)]
    epsilon: Annotated[float, real("above 0", lambda x: x > 0)] = inf
    looks: int = 1

    def hide(self, played: Round, gen: torch.Generator) -> Round:
        """Return the round as the server sees it: errors after training, with equal weights.

        If epsilon is finite, the n clients that evaluate one row of the table all have the score
        ``mean error + Laplace(M / (n epsilon))``, clipped to [0, 1].

        A client's error, at most 1, is in one sum of a round, so that noise of scale M / epsilon in
        each sum makes the round (epsilon / M)-private, and M rounds epsilon-private.

        Source: Kuo et al. (2023); Dwork, McSherry, Nissim, Smith (2006) for the mechanism.
        """
        order = torch.randperm(len(played.size), generator=gen)
        asked = order[played.size[order] > 0][: self.clients]
        size, error = torch.zeros_like(played.size), played.after.error.clamp(max=1)
        size[asked] = 1
        if isfinite(self.epsilon):
            error = self._private(error * size, played.row, size, gen)
        nothing, score = torch.zeros_like(error), error * size
        return replace(played, size=size, before=Score(nothing, nothing), after=Score(score, score))

    def _private(self, error: Tensor, row: Tensor, asked: Tensor, gen: torch.Generator) -> Tensor:
        """Return for each client the noisy mean error of its row."""
        n, total = row.bincount(asked), row.bincount(error)
        u = torch.rand(len(n), generator=gen, dtype=torch.float64) - 0.5
        laplace = -u.sign() * torch.log1p(-2 * u.abs())
        return ((total + laplace * (self.looks / self.epsilon)) / n).clamp(0, 1)[row]

    def play(
        self, runs: Sequence[Run], model: Model, fed: Federation, clients: int, rounds: int
    ) -> list[Run]:
        """Play rounds as `play_here` does, and let tuners and search see the hidden scores only."""
        for _ in range(rounds):
            before, runs = runs, play_here(runs, model, fed, clients, 1)
            for a, (old, new) in enumerate(zip(before, runs, strict=True)):
                gen = generator(old.seed, old.round, 0, 0, 0)  # no other draw has a key so long
                *history, played = new.history
                seen = self.hide(played, gen)
                tuner = old.tuner.tell(seen.result())
                runs[a] = replace(new, tuner=tuner, history=(*history, seen))
        return list(runs)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class NoisyFedPop(FedPop):
    """A population of members that sees hidden scores only."""

    noise: Noise

    def step(
        self, model: Model, fed: Federation, clients: int = 10, *,
        play: Play = play_here, most: int = 1,
    ) -> "NoisyFedPop":  # fmt: skip
        """Return the search after one round of each member, played by `Noise.play`."""
        return super().step(model, fed, clients, play=self.noise.play)


@dataclass(frozen=True, kw_only=True)
class NoisyMember(Member):
    """A tuner in random search or successive halving, with noise."""

    noise: Noise

    @property
    def training(self) -> object:
        """What the search of `Member` depends on, and the noise."""
        return super().training, self.noise

    def search(self, setting: Setting, model: Model, fed: Federation, seed: int) -> NoisyFedPop:
        """Start the search. Where no tuner learns, an arm is judged by its last round alone."""
        begun, learns = super().search(setting, model, fed, seed), self.tuner != "none"
        fields = vars(begun) | ({} if learns else {"T_g": 1})
        return NoisyFedPop(**fields, noise=replace(self.noise, looks=looks(begun, learns)))


def looks(search: FedPop, learns: bool) -> int:
    """Return M: all rounds if a tuner learns; else one for each arm that a choice is between."""
    if learns:
        return search.total
    stops, arms, _, eta = search.brackets[0]
    return sum(n for i in range(len(stops)) if (n := arms // eta**i) > 1)


CLIENTS, EPSILONS = (10, 5, 2, 1), (1000, 100, 10, 1)
LEVELS = {f"{n} of {CLIENTS[0]} clients": Noise(n) for n in CLIENTS}
LEVELS |= {f"epsilon {e}": Noise(CLIENTS[0], e) for e in EPSILONS}
SEARCHES = ("RS", "SHA", "RS + FedEx", "RS + FedPop")
_CLEAN, *_NOISY = LEVELS
NOISE = experiment(
    "noise",
    (
        NoisyMember.of(f"{search}, {level}", search, "personalised", noise=noise)
        for search, (level, noise) in product(SEARCHES, LEVELS.items())
    ),
    ((f"{s}, {level}", f"{s}, {_CLEAN}") for s, level in product(SEARCHES, _NOISY)),
    {"book": {"digits": SETTINGS["book"]["digits"]}},
)
