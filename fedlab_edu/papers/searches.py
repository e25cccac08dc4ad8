"""Experiments that search: plain training or FedEx in a wrapper, and nearby configurations."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, ClassVar, Literal

import torch

from fedlab_edu import Estimate, FedEx, LocalHP, Model, Run, around, successive_halving, tune
from fedlab_edu.data import Federation
from fedlab_edu.methods import FedProx, Method
from fedlab_edu.papers.curves import TESTS, Watched
from fedlab_edu.papers.experiment import Load, Record, Trial, Workload
from fedlab_edu.papers.report import means
from fedlab_edu.search.baselines import MakeTuner, draw_arms, fixed_tuner, make_arms, race
from fedlab_edu.search.race import Race, Select
from fedlab_edu.search.schedules import bracket
from fedlab_edu.search.space import SearchSpace, Spaces

Wrapper = Literal["RS", "SHA"]
Target = Literal["global", "personalised"]
WRAPPERS: tuple[Wrapper, ...] = ("RS", "SHA")
TARGETS: tuple[Target, ...] = ("global", "personalised")


@dataclass(frozen=True)
class Setting(Workload):
    """A data set at a scale.

    Fields:
        load: makes the clients' data, a `Federation`.
        total, cap: communication rounds in all, and of one arm at most.
        k: the number of configurations of each FedEx.
    """

    STORED = ("total", "cap", "eta", "eliminations", "clients", "k")
    load: Load
    model: Callable[[], Model]
    spaces: Spaces
    total: int
    cap: int
    eta: int = 3
    eliminations: int = 3
    clients: int = 10
    k: int = 27

    def spaces_for(self, method: Method) -> Spaces:
        """Return the spaces; mu is tuned for FedProx only."""
        client: SearchSpace[LocalHP] = self.spaces.client
        if isinstance(method, FedProx) or "mu" not in client.distributions:
            return self.spaces
        return replace(self.spaces, client=client.without("mu"))

    @property
    def summary(self) -> str:
        return f"{self.total} rounds in all, {self.cap} for one arm at most."

    def begin(self, variants: Sequence[Any], model: Model, fed: Federation, seed: int) -> Any:
        """Start the search that variants share, watched at each tenth of its rounds, or step.

        A look may train all clients, so where they are many there are fewer looks: together they
        train at most half as many clients as the search does.
        """
        first = variants[0]
        search = first.search(self, model, fed, seed)
        if not isinstance(first, Searched):
            return search
        looks = min(10, max(1, self.total * self.clients // (2 * len(fed))))
        return Watched(search, tuple(variants), 1 if first.curve else -(-self.total // looks))

    def trials(self, seed: int, place: torch.device, data: str | None) -> Trial:
        model, fed = self.model(), self.load(seed, data).to(place)

        def run(variants: Sequence[Any], state: Path) -> Iterator[Record]:
            search = self.begin(variants, model, fed, seed)
            often = max(100, 20 * len(search.runs))  # files hold the models of all arms
            search = tune(search, model, fed, self.clients, path=state, every=often)
            for v in variants:
                if isinstance(search, Watched):
                    yield v.measure(search.search, model, fed) | {"curve": search.curve(v)}
                else:
                    yield v.measure(search, model, fed)

        return run


@dataclass(frozen=True)
class Searched:
    """A search that is judged by a test error of its winner.

    Fields:
        target: which test error: of the global model, or after training on each client.
        curve: whether the record's curve has a point for each step, not for each tenth of the
            rounds, see `Watched`.
    """

    FIELDS: ClassVar[set[str]] = {*TARGETS}
    name: str
    wrapper: Wrapper
    target: Target
    curve: bool = field(default=False, kw_only=True)

    def budget(self, setting: Setting) -> tuple[int, int, int, int]:
        """Return the budget; random search is successive halving without eliminations."""
        eliminations = setting.eliminations if self.wrapper == "SHA" else 0
        return setting.total, setting.cap, setting.eta, eliminations

    def error(self, record: Record) -> float:
        """Return the test error of the target, in percent."""
        return 100 * float(record[self.target])

    def winner(self, search: Any) -> Run:
        """Return the run that the search has chosen so far."""
        return search.winner

    def test(self, search: Any, model: Model, fed: Federation) -> float:
        """Return the winner's test error of the target, at most 1; +inf, if all diverged, is 1."""
        return min(1.0, TESTS[self.target](self.winner(search), model, fed).error)

    def measure(self, search: Any, model: Model, fed: Federation) -> Record:
        """Return the winner's two test errors, at most 1, and the communication rounds spent.

        Errors are means over all clients, weighted by test examples; clients personalise with the
        tuner's final configuration.
        """
        winner = self.winner(search)
        errors = {name: min(1.0, test(winner, model, fed).error) for name, test in TESTS.items()}
        return errors | {"rounds": search.used}


@dataclass(frozen=True)
class Tuning(Searched):
    """A wrapper around plain training or around FedEx; the target also judges its arms.

    Fields:
        gamma: the discount of older rounds at eliminations.
        fedex: options of `around`, which may replace the setting's k; None for plain training.
        method: the target; mu is tuned for FedProx only.
        select: see `race`.
    """

    gamma: float = 0.0
    fedex: Mapping[str, Any] | None = None
    method: Method = FedProx()
    select: Select = "survivor"

    @property
    def training(self) -> object:
        """All that arms' training depends on; in random search the target only picks the winner."""
        shared = self.wrapper == "RS" and self.select == "survivor"
        return (self.wrapper, repr((self.fedex, self.method))) if shared else self.name

    @property
    def _estimate(self) -> Estimate:
        return Estimate(self.target, gamma=self.gamma)

    def search(self, setting: Setting, model: Model, fed: Federation, seed: int) -> Race:
        """Start the search, with clients drawn with replacement, as in the authors' code."""
        spaces = setting.spaces_for(self.method)
        tuner: MakeTuner = fixed_tuner
        if self.fedex is not None:
            tuner = around(spaces.client, **{"k": setting.k, **self.fedex})
        return successive_halving(
            model, fed, spaces, *self.budget(setting), seed=seed, method=self.method,
            estimate=self._estimate, tuner=tuner, replacement=True, select=self.select,
        )  # fmt: skip

    def winner(self, search: Race) -> Run:
        """Return the best run by this variant's target, which need not be the search's."""
        of_round = self._estimate.of_round
        traces = tuple(tuple(map(of_round, run.history)) for run in search.runs)
        return replace(search, estimate=self._estimate, traces=traces).winner

    def measure(self, search: Race, model: Model, fed: Federation) -> Record:
        """Add the entropy of the winner's theta, in nats; None without FedEx."""
        tuner = self.winner(search).tuner
        entropy = tuner.entropy if isinstance(tuner, FedEx) else None
        return super().measure(search, model, fed) | {"entropy": entropy}


@dataclass(frozen=True)
class Range:
    """k configurations near a random one, each trained alone up to the cap, with equal servers.

    Source: Khodak et al. (2021), Figure 3.
    """

    FIELDS: ClassVar = {"errors"}
    name: str
    eps: float

    def search(self, setting: Setting, model: Model, fed: Federation, seed: int) -> Race:
        """Start the race of the configurations, without eliminations."""
        k = setting.k
        (arm,) = draw_arms(setting.spaces, 1, seed, around(setting.spaces.client, k, self.eps))
        arms, rounds = make_arms(arm.tuner.table, arm.b), [bracket((setting.cap,), k, 2)]
        return race(model, fed, arms, rounds, seed=seed, method=FedProx(), replacement=True)

    def measure(self, search: Race, model: Model, fed: Federation) -> Record:
        """Return the personalised test error of each arm."""
        test = TESTS["personalised"]
        return {"errors": [min(1.0, test(run, model, fed).error) for run in search.runs]}


def spread(record: Record) -> dict[str, float]:
    """Return what nearby configurations' errors are, in percent, and how far apart."""
    errors = [100 * error for error in record["errors"]]
    low, high = min(errors), max(errors)
    return {"lowest": low, "median": median(errors), "highest": high, "apart": high - low}


ranges = partial(means, spread, "Personalised test error in %")
