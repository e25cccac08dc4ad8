"""What an experiment is: variants of a search, settings to run them in, and published numbers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from fedlab_edu.data import Federation
from fedlab_edu.features.linear import Linear
from fedlab_edu.features.maps import Map
from fedlab_edu.features.selection import Data
from fedlab_edu.methods import FedProx
from fedlab_edu.model import Model
from fedlab_edu.space import Spaces
from fedlab_edu.tuners.arms import MakeTuner, around, drawn, plain, shared
from fedlab_edu.tuners.baselines import successive_halving
from fedlab_edu.tuners.race import Estimate, Race, race
from fedlab_edu.tuners.search import bracket


class Setting(NamedTuple):
    """A data set at a scale.

    Fields:
        federation: makes the clients' data of a seed.
        model: makes the model.
        total, cap: communication rounds to spend in all, and of one arm at most.
        k: the configurations of each FedEx.
    """

    federation: Callable[[int], Federation]
    model: Callable[[], Model]
    spaces: Spaces
    total: int
    cap: int
    eta: int = 3
    eliminations: int = 3
    clients: int = 10
    k: int = 27

    @property
    def budget(self) -> dict[str, int]:
        """What a record notes of it: runs with another budget are no runs of the same record."""
        names = ("total", "cap", "eta", "eliminations", "clients", "k")
        return {name: getattr(self, name) for name in names}


class Published(NamedTuple):
    """Test errors in percent, as a paper prints them: mean, standard deviation, trials."""

    mean: float
    sd: float
    trials: int


@dataclass(frozen=True)
class Tuning:
    """A wrapper around plain training or around FedEx.

    Fields:
        name: unique in the experiment.
        target: what arms are judged by, and what is reported.
        gamma: the discount of older rounds at eliminations.
        fedex: options of `around`; None is the wrapper alone.
        published: data set -> numbers.
    """

    name: str
    wrapper: Literal["RS", "SHA"]
    target: Literal["global", "personalised"]
    gamma: float = 0.0
    fedex: Mapping[str, Any] | None = None
    published: Mapping[str, Published] = field(default_factory=dict)

    def search(self, setting: Setting, model: Model, fed: Federation, seed: int) -> Race:
        """The search before its first round; as in the authors' code, clients are drawn with
        replacement, and FedProx is the method of all runs."""
        tuner: MakeTuner = plain
        if self.fedex is not None:
            tuner = around(setting.spaces.client, setting.k, **self.fedex)
        # random search is successive halving that eliminates nobody
        eliminations = setting.eliminations if self.wrapper == "SHA" else 0
        return successive_halving(
            model, fed, setting.spaces, setting.total, setting.cap, setting.eta, eliminations,
            seed=seed, method=FedProx(), estimate=Estimate(self.target, gamma=self.gamma),
            tuner=tuner, replacement=True,
        )  # fmt: skip

    def arms_of(self, other: object) -> bool:
        """Whether the other has trained the same arms: random search eliminates none, so that its
        target only chooses between them."""
        of = (self.wrapper, self.fedex)
        return of[0] == "RS" and isinstance(other, Tuning) and of == (other.wrapper, other.fedex)


@dataclass(frozen=True)
class Range:
    """k configurations near a random one, each trained alone up to the cap, with one server.

    Source: Khodak et al. (2021), Figure 3.
    """

    name: str
    eps: float

    def search(self, setting: Setting, model: Model, fed: Federation, seed: int) -> Race:
        """The race of the configurations, before its first round; nobody is eliminated."""
        k = setting.k
        (arm,) = drawn(setting.spaces, 1, seed, around(setting.spaces.client, k, self.eps))
        return race(model, fed, shared(arm.tuner.table, arm.b), [bracket((setting.cap,), k, 2)],
                    seed=seed, method=FedProx(), replacement=True)  # fmt: skip


class Problem(NamedTuple):
    """Data to select a feature map of, and what makes k maps: ``maps(rng, k, n, shared, device)``.

    Fields:
        linear: the classifier on the features.
    """

    data: Data
    maps: Callable[..., list[Map]]
    linear: Linear


class Task(NamedTuple):
    """A data set of which to select a feature map.

    Fields:
        problem: seed, and a folder in place of the Hub or None -> what is to be solved.
        k: how many maps to choose from.
        most: maps of more features are left out.
    """

    problem: Callable[[int, str | None], Problem]
    k: int = 64
    most: int = 2**24

    @property
    def budget(self) -> dict[str, int]:
        """What a record notes of it."""
        return {"k": self.k}


@dataclass(frozen=True)
class Maps:
    """Maps of n features, which share frequencies or hash seeds, or have each its own.

    Source: Khodak et al., *Weight-Sharing Beyond NAS*, Figures 1 and 2.
    """

    name: str
    n: int
    shared: bool


Variant = Tuning | Range | Maps


@dataclass(frozen=True)
class Experiment:
    """A table or figure of a paper.

    Where the code of FedEx does otherwise than its papers, runs are as in the paper: the arm that
    survives wins (theirs: the best ever seen), its most likely configuration is tested (theirs: one
    drawn for each client), and theta stops below an entropy of 1e-4 (theirs: never). As in their
    code, errors are what tuners and eliminations go by, the discount of each FedEx is drawn, and
    clients are drawn with replacement.

    Fields:
        claim: what the paper concludes from it, in our words.
        variants: what is compared; the differences that are reported are those of ``against``.
        against: pairs of names, each variant and what it is compared with on the same seeds.
        settings: scale -> data set -> setting.
    """

    name: str
    source: str
    claim: str
    variants: tuple[Variant, ...]
    against: tuple[tuple[str, str], ...]
    settings: Mapping[str, Mapping[str, Setting | Task]]
