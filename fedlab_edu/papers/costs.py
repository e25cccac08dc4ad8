"""What each way of tuning costs: rounds, client steps, bytes, and energy by a stated formula."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import mean
from time import perf_counter
from typing import Any, NamedTuple

from fedlab_edu import FedAvg, LocalHP, tune
from fedlab_edu.methods.method import ClientInput, ClientUpdate
from fedlab_edu.papers.fedpop import Member
from fedlab_edu.papers.noise import SEARCHES
from fedlab_edu.papers.report import errors
from fedlab_edu.papers.reproduce import EXPERIMENTS, read_records
from fedlab_edu.papers.searches import Setting
from fedlab_edu.training.plan import steps
from fedlab_edu.validate import positive

GUESS = "one guess"
BYTES = 4  # of a number
# numbers that travel down and up with the d weights: a configuration, and a score
SETTINGS, SCORES = len(LocalHP().columns), 1


class Device(NamedTuple):
    """The cost of a local step and of a byte.

    Fields:
        watts: a device's power; the default is what NVIDIA lets a Jetson Nano draw by default.
        seconds: of a local step; the default is a bound for the digits' small network.
        joules: of moving a byte; the default is 0.06 kWh a GB, fixed lines in 2015, from Aslan et
            al. (2018), *Electricity intensity of internet data transmission*.
    """

    watts: float = 10.0
    seconds: float = 1e-3
    joules: float = 0.06 * 3.6e6 / 1e9


class Cost(NamedTuple):
    """The cost of a search.

    Fields:
        way: the search, see `costs`.
        rounds: communication rounds.
        steps: local steps of all clients.
        down, up: bytes to and from clients.
        training, moving: joules, the two terms of the energy
            ``E = steps seconds watts + (down + up) joules``, see `Device`.
        error: mean personalised test error in percent in the record, or None without a record.
        measured: seconds that a step took here, with clients trained side by side.
    """

    way: str
    rounds: int
    steps: int
    down: int
    up: int
    training: float
    moving: float
    error: float | None
    measured: float


@dataclass(frozen=True)
class _Metered(FedAvg):
    """FedAvg that counts and times local steps, in lists because clients train in threads."""

    taken: list[int] = field(default_factory=list, compare=False, repr=False)
    busy: list[float] = field(default_factory=list, compare=False, repr=False)

    def loc(self, inputs: ClientInput) -> ClientUpdate:
        began = perf_counter()
        update = super().loc(inputs)
        self.busy.append(perf_counter() - began)
        self.taken.append(int(steps(inputs.clients.n, inputs.c).sum()))
        return update


def costs(folder: str | Path, device: Device | None = None) -> list[Cost]:
    """Return the cost of one guess, and of each of `SEARCHES`, on the digits with 200 rounds.

    The guess is the first arm of random search alone. The steps of a search are those of the
    configurations that it draws with seed 0.

    Args:
        folder: of the record of FedPop's Table 1, for the errors, see `read_records`.
    """
    device = device or Device()
    table = EXPERIMENTS["fedpop-table1"]
    of = errors(table, read_records(table.path(folder, "digits", "book"), table))
    setting: Any = table.workload("digits", "book")
    guess = cost_of("RS", replace(setting, total=setting.cap), device)
    found = [guess._replace(way=GUESS)]
    for way in SEARCHES:
        recorded = of[f"{way}, personalised"].values()
        error = mean(recorded) if recorded else None
        found.append(cost_of(way, setting, device)._replace(error=error))
    return found


def cost_of(way: str, setting: Setting, device: Device) -> Cost:
    """Run a search of FedPop's Table 1 with seed 0, and return its cost, without an error."""
    for name, value in device._asdict().items():
        positive(name, value)
    method, model, fed = _Metered(), setting.model(), setting.load(0)
    begun = Member.of(way, way, "personalised", method=method).search(setting, model, fed, 0)
    rounds = tune(begun, model, fed).used
    taken, each = sum(method.taken), BYTES * rounds * setting.clients
    down, up = (each * (model.d + numbers) for numbers in (SETTINGS, SCORES))
    return Cost(
        way, rounds, taken, down, up,
        training=taken * device.seconds * device.watts, moving=(down + up) * device.joules,
        error=None, measured=sum(method.busy) / taken,
    )  # fmt: skip


def render_costs(found: Sequence[Cost], device: Device) -> str:
    """Return the costs as a table of text, below the formula."""
    lines = [
        "E = R B (n_steps t P + 8 d e): R rounds of B clients, n_steps local steps of t = "
        f"{device.seconds:g} s at P = {device.watts:g} W,",
        f"about 8 d bytes for d weights down and up, e = {device.joules:.3g} J a byte. "
        "Digits, 200 rounds, seed 0; errors: means of the record of fedpop-table1.",
        f"{'way':14}{'rounds':>8}{'steps':>9}{'MB down':>9}{'MB up':>8}"
        f"{'J to train':>12}{'J to move':>11}{'error, %':>10}",
    ]
    for c in found:
        error = "no record" if c.error is None else f"{c.error:.1f}"
        lines.append(
            f"{c.way:14}{c.rounds:8}{c.steps:9}{c.down / 1e6:9.1f}{c.up / 1e6:8.1f}"
            f"{c.training:12.1f}{c.moving:11.1f}{error:>10}"
        )
    return "\n".join(lines)
