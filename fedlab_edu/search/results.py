"""What a search has done, as tidy tables: rounds and clients, arms, and the best so far.

The tables are pandas data frames, so that a course can group, join and plot them as it likes.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from fedlab_edu.rounds.run import Run
from fedlab_edu.search.race import Race
from fedlab_edu.search.schedules import best_index, last_stop
from fedlab_edu.training.hparams import LocalHP, ServerHP
from fedlab_edu.validate import extra, require

if TYPE_CHECKING:
    import pandas


def rounds_table(runs: Sequence[Run]) -> "pandas.DataFrame":
    """One row for each arm, round and client; of a race, ``rounds_table(race.runs)``.

    Columns:
        arm: the run's place in the list.
        round: from 1 on. A history that has been cut holds the last rounds, so that with 100 rounds
            played and 20 kept the numbers are 81 to 100.
        client, row: the client's number, and the row of the tuner's table that it used.
        size: its validation examples. A client without any scores 0; weigh means by the size.
        before_loss, before_error: of the model received.
        after_loss, after_error: of the model that the client trained from it; +inf if diverged.
        diverged: whether the server left it out of its average.

    Raises:
        ModuleNotFoundError: pandas is not installed.
        ValueError: a history with more rounds than the run has played.
    """
    frame = extra("pandas", "tune").DataFrame
    for a, run in enumerate(runs):
        kept, allowed = len(run.history), f"at most {run.round}, the rounds it has played"
        require(kept <= run.round, f"rounds in the history of arm {a}", kept, allowed)
    every = [one for run in runs for one in run.history]
    arm = [a for a, run in enumerate(runs) for _ in run.history]
    number = [r.round - age for r in runs for age in reversed(range(len(r.history)))]
    clients = torch.tensor([len(one.client) for one in every], dtype=torch.long)
    columns = {
        "arm": torch.tensor(arm, dtype=torch.long).repeat_interleave(clients),
        "round": torch.tensor(number, dtype=torch.long).repeat_interleave(clients),
        "client": _joined([one.client for one in every], torch.long),
        "row": _joined([one.row for one in every], torch.long),
        "size": _joined([one.size for one in every], torch.long),
        "before_loss": _joined([one.before.loss for one in every], torch.float64),
        "before_error": _joined([one.before.error for one in every], torch.float64),
        "after_loss": _joined([one.after.loss for one in every], torch.float64),
        "after_error": _joined([one.after.error for one in every], torch.float64),
        "diverged": _joined([one.diverged for one in every], torch.bool),
    }
    return frame({name: column.numpy() for name, column in columns.items()})


def arms_table(race: Race) -> "pandas.DataFrame":
    """One row for each arm: what it tried, how far it came, and whether it is the one chosen.

    Columns:
        arm, bracket: numbers from 0 on.
        client_lr, ...: the configuration on which its tuner has settled; NaN where that is one for
            each client.
        server_lr, ...: that of its server.
        rounds: those it has played.
        score: its estimate at its last round; NaN before the first. Those of arms that ended at
            different rounds are of models trained for different times.
        out: the round at which it was eliminated; missing for an arm that was not.
        chosen: whether it is ``race.best``, which before the first round is arm 0.

    Raises:
        ModuleNotFoundError: pandas is not installed.
    """
    pandas = extra("pandas", "tune")
    client = [run.tuner.final for run in race.runs]
    best = race.best
    columns = {
        "arm": range(len(race.runs)),
        "bracket": [k for k, arms in enumerate(race.arms) for _ in arms],
        **{f"client_{name}": [_value(c, name) for c in client] for name in LocalHP().columns},
        **{f"server_{n}": [_value(run.b, n) for run in race.runs] for n in ServerHP().columns},
        "rounds": [run.round for run in race.runs],
        "score": race.scores,
        "out": pandas.array(list(race.out), dtype="Int64"),
        "chosen": [a == best for a in range(len(race.runs))],
    }
    return pandas.DataFrame(columns)


def online(race: Race) -> "pandas.DataFrame":
    """What one would have chosen after so many communication rounds: one row for each step.

    Brackets count as run one after another, and the living arms of a bracket train in step. Of a
    race that is not over, the table ends with the last round of the first bracket that is not: its
    rows stay as they are when the race goes on.

    Columns:
        spent: communication rounds over all arms.
        arm: the one with the lowest score among the living arms of the bracket and the best of the
            brackets before: lower numbers first, +inf and NaN last.
        score: its estimate at that time, from its rounds since the last stop.

    Raises:
        ModuleNotFoundError: pandas is not installed.
    """
    pandas = extra("pandas", "tune")
    rows: list[tuple[int, int, float]] = []
    spent, before = 0, dict[int, float]()
    for bracket, arms in zip(race.brackets, race.arms, strict=True):
        played = max(len(race.traces[a]) for a in arms)
        for t in range(1, played + 1):
            spent += sum(len(race.traces[a]) >= t for a in arms)
            since = last_stop(bracket.stops, t)
            candidates = before | {
                a: race.estimate.of_trace(race.traces[a][:t], since)
                for a in arms
                if (out := race.out[a]) is None or out > t
            }
            best = [*candidates][best_index([*candidates.values()])]
            rows.append((spent, best, candidates[best]))
        if played < bracket.stops[-1]:
            break
        before = {best: candidates[best]}
    numbers, arm, score = zip(*rows, strict=True) if rows else ((), (), ())
    table = pandas.DataFrame({"spent": numbers, "arm": arm, "score": score})
    return table.astype({"spent": "int64", "arm": "int64", "score": "float64"})


def _joined(parts: list[Tensor], dtype: torch.dtype) -> Tensor:
    """The parts end to end; with none of them, an empty column of the right type."""
    return torch.cat([torch.empty(0, dtype=dtype), *parts])


def _value(table: LocalHP | ServerHP, name: str) -> float:
    return float(table.columns[name]) if len(table) == 1 else float("nan")
