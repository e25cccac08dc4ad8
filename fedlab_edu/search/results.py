"""The results of a search as pandas data frames: its arms, and the best of them so far."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fedlab_edu.search.estimate import Estimate
from fedlab_edu.search.race import Race, alone
from fedlab_edu.search.schedules import best_index
from fedlab_edu.training.hparams import LocalHP, ServerHP
from fedlab_edu.validate import extra, require, require_type

if TYPE_CHECKING:
    import pandas


def arms_of(search: Any) -> Any:
    """Return a `Race` as it is, such as a `FedPop`, and FedTune as a race of one arm.

    FedTune trains one arm, whose scores are the losses of the ensemble.
    """
    if hasattr(search, "final_run"):
        run = replace(search.final_run(), round=search.used)
        losses = tuple(played.loss for played in search.history)
        race = alone(run, search.total, Estimate("averaged", "loss"))
        return replace(race, traces=(losses,))
    require(isinstance(search, Race), "search", type(search).__name__, "one with arms, as a Race")
    return search


def arms_table(search: Any) -> "pandas.DataFrame":
    """Return a table with one row per arm of a search, see `arms_of`.

    Columns:
        arm, bracket: numbers from 0.
        method: with its fields, as in "FedProx(optimizer='sgd')".
        client_lr, ...: the final configuration of its tuner; NaN if clients have different ones.
        server_lr, ...: the configuration of its server.
        rounds, score: the rounds played, and the score at the last; NaN before the first. Arms that
            ended at different rounds have trained for different times.
        out: the round of its elimination, or missing.
        chosen: whether it is the best (before the first round arm 0).
    """
    pandas = extra("pandas", "tune")
    arms = arms_of(search)
    best, client = arms.best, [run.tuner.final for run in arms.runs]
    columns = {
        "arm": range(len(arms.runs)),
        "bracket": [k for k, one in enumerate(arms.brackets) for _ in range(one.arms)],
        "method": [repr(run.method) for run in arms.runs],
        **{f"client_{name}": [_value(c, name) for c in client] for name in LocalHP().columns},
        **{f"server_{n}": [_value(run.b, n) for run in arms.runs] for n in ServerHP().columns},
        "rounds": [len(trace) for trace in arms.traces],
        "score": arms.scores,
        "out": pandas.array(list(arms.out), dtype="Int64"),
        "chosen": [a == best for a in range(len(arms.runs))],
    }
    return pandas.DataFrame(columns)


def online(race: Race) -> "pandas.DataFrame":
    """Return the best arm after each round: one row per round of a bracket.

    Brackets count as run one after another; the arms of a bracket train side by side. The table of
    an unfinished race ends within its first unfinished bracket; later rounds only append rows.

    Columns:
        spent: communication rounds over all arms.
        arm: the arm with the lowest score among the bracket's arms that are alive and the best of
            the brackets before; ties go to the lower number, +inf and NaN come last.
        score: its estimate at that time, see `Race.score_at`.
    """
    require_type("race", race, Race, "random_search(...)")
    pandas = extra("pandas", "tune")
    rows, spent, before = list[tuple[int, int, float]](), 0, dict[int, float]()
    for bracket, arms in zip(race.brackets, race.arms, strict=True):
        played = max(len(race.traces[a]) for a in arms)
        for t in range(1, played + 1):
            spent += sum(len(race.traces[a]) >= t for a in arms)
            scores = before | {
                a: race.score_at(a, t) for a in arms if (out := race.out[a]) is None or out > t
            }
            best = [*scores][best_index([*scores.values()])]
            rows.append((spent, best, scores[best]))
        if played < bracket.stops[-1]:
            break
        before = {best: scores[best]}
    table = pandas.DataFrame(rows, columns=["spent", "arm", "score"])
    return table.astype({"spent": "int64", "arm": "int64", "score": "float64"})


def _value(table: LocalHP | ServerHP, name: str) -> float:
    return float(table.columns[name]) if len(table) == 1 else float("nan")
