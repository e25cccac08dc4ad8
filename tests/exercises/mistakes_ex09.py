"""What answers to exercise 9 return that make a known mistake, each under its sentence."""

import math
from typing import NamedTuple

import numpy as np
from support import Array, Mistakes

# --- ex09.1 ---------------------------------------------------------------------------------------


class Answers(NamedTuple):
    """The arguments of `counted`."""

    w: Array
    models: Array
    errors: Array
    n: Array
    announced: Array
    seconds: Array
    deadline: float
    largest: float


def by_clients(
    s: Answers, late: str = "<=", only: tuple[str, ...] = (), length: str = "sum"
) -> Array:
    """Client by client, number by number, without some rules or with other ones."""
    here = []
    for i in range(len(s.models)):
        change = [float(x) - float(y) for x, y in zip(s.models[i], s.w, strict=True)]
        finite = all(math.isfinite(x) for x in s.models[i])
        far = math.sqrt(sum(x * x for x in change)) if finite else math.inf
        if finite and length == "mean":
            far = math.sqrt(sum(x * x for x in change) / len(change))
        elif finite and length == "max":
            far = max(map(abs, change))
        elif finite and length == "model":
            far = math.sqrt(sum(float(x) ** 2 for x in s.models[i]))
        elif finite and length == "square":
            far = far**2
        errors = [float(e) for e in s.errors[i]]
        valid = [0 <= e <= 1 for e in errors]
        if "one error" in only:
            valid = valid[1:]
        if "open" in only:
            valid = [0 < e < 1 for e in errors]
        if "low" in only:
            valid = [e <= 1 for e in errors]
        if "nan" in only:
            valid = [not (e < 0 or e > 1) for e in errors]
        took = float(s.seconds[i])
        on_time = took < s.deadline if late == "<" else took <= s.deadline
        if late == "answered":
            on_time = took < math.inf
        close = far <= s.largest and (finite or "finite" in only)
        if "finite" in only and not finite:
            close = True
        if "strict" in only:
            close = far < s.largest
        if "far" in only:
            close = finite
        honest = int(s.n[i]) == int(s.announced[i]) or "n" in only
        if "at most" in only:
            honest = int(s.n[i]) <= int(s.announced[i])
        parts = [on_time, close, all(valid) or "errors" in only, honest]
        here.append(any(parts) if "any" in only else all(parts))
    return np.array(here)


COUNTED: Mistakes = {
    "late answers count as well: their seconds are above the deadline":
        lambda s: by_clients(s, "answered"),
    "an answer at the deadline counts": lambda s: by_clients(s, "<"),
    "a model with inf or NaN counts: all its numbers must be finite":
        lambda s: by_clients(s, only=("finite",)),
    "models far away from w count: compare the length of models - w with largest":
        lambda s: by_clients(s, only=("far",)),
    "a change of exactly the largest length counts": lambda s: by_clients(s, only=("strict",)),
    "this is the length of the model itself: subtract w first":
        lambda s: by_clients(s, length="model"),
    "this is the largest entry of the change: its Euclidean length is the root of a sum of squares":
        lambda s: by_clients(s, length="max"),
    "this is the mean square of the change: its length is the root of the sum of squares":
        lambda s: by_clients(s, length="mean"),
    "this is the square of the length: take its root": lambda s: by_clients(s, length="square"),
    "errors outside 0 to 1 count": lambda s: by_clients(s, only=("errors",)),
    "only the error after the training is checked": lambda s: by_clients(s, only=("one error",)),
    "an error of exactly 0 or 1 counts": lambda s: by_clients(s, only=("open",)),
    "errors below 0 count": lambda s: by_clients(s, only=("low",)),
    "an error that is NaN counts: no comparison with NaN is true, so ask for 0 <= error <= 1":
        lambda s: by_clients(s, only=("nan",)),
    "other numbers of examples than announced count": lambda s: by_clients(s, only=("n",)),
    "fewer examples than announced count: the numbers must be equal":
        lambda s: by_clients(s, only=("at most",)),
    "an answer needs all of this, not one part of it": lambda s: by_clients(s, only=("any",)),
    "this is the opposite: True stands for an answer that counts": lambda s: ~by_clients(s),
    "this is one answer for all: each client has its own":
        lambda s: np.array(by_clients(s).all()),
    "a model with inf or NaN is held against all clients: look at each row, .all(axis=1)":
        lambda s: by_clients(s) & np.isfinite(s.models).all(),
    "an error outside 0 to 1 is held against all clients: look at each row, .all(axis=1)":
        lambda s: by_clients(s) & ((s.errors >= 0) & (s.errors <= 1)).all(),
    "this is the length of all changes together: take that of each row, with axis=1":
        lambda s: by_clients(s, only=("far",)) & (np.linalg.norm(s.models - s.w) <= s.largest),
    "these are the places of the clients: return True or False for each":
        lambda s: np.flatnonzero(by_clients(s)),
}  # fmt: skip


# --- ex09.2 ---------------------------------------------------------------------------------------


class Round(NamedTuple):
    """The arguments of `average_of`."""

    w: Array
    models: Array
    n: Array
    here: Array


def by_sums(s: Round, weight: Array | None = None, total: float | None = None) -> Array:
    """Add up the models that count, entry by entry."""
    weight = s.n if weight is None else weight
    if not s.here.any():
        return s.w
    out = []
    for k in range(len(s.w)):
        terms = [weight[i] * s.models[i, k] for i in range(len(s.n)) if s.here[i]]
        whole = sum(weight[i] for i in range(len(s.n)) if s.here[i])
        out.append(sum(terms) / (whole if total is None else total))
    return np.array(out)


def of_all(s: Round) -> Array:
    with np.errstate(invalid="ignore"):
        return s.n / s.n.sum() @ s.models


AVERAGE: Mistakes = {
    "this is the plain mean: weigh by the numbers of examples":
        lambda s: by_sums(s, np.ones(len(s.n))),
    "those that do not count are in the average, too": of_all,
    "the sum is divided by the examples of all clients: divide by those of the ones that count":
        lambda s: by_sums(s, total=float(s.n.sum())),
    "a client that does not count is averaged as the old w: leave it out":
        lambda s: s.n / s.n.sum() @ np.where(s.here[:, None], s.models, s.w),
    "0 times NaN is NaN: choose the models that count before you multiply":
        lambda s: (s.n * s.here) / max((s.n * s.here).sum(), 1) @ s.models,
    "if nobody counts, the model stays as it is: it is not 0":
        lambda s: by_sums(s) if s.here.any() else 0 * s.w,
    "if nobody counts, the model stays as it is: it is not NaN":
        lambda s: by_sums(s) if s.here.any() else np.nan * s.w,
    "the average is added to w: it is the next model itself":
        lambda s: s.w + by_sums(s) if s.here.any() else s.w,
    "this is the change of the model: the next model is the average":
        lambda s: by_sums(s) - s.w,
    "this is the sum: divide it by the sum of the weights": lambda s: by_sums(s, total=1.0),
    "the roles of True and False are exchanged":
        lambda s: by_sums(s._replace(here=~s.here)),
}  # fmt: skip


# --- ex09.3 ---------------------------------------------------------------------------------------


class Tries(NamedTuple):
    """The arguments of `wait_for`."""

    seconds: Array
    deadline: float
    least: int


def by_tries(
    s: Tries, late: bool = False, full: bool = False, wait: bool = False, least: int = 0
) -> tuple[float, Array]:
    """Try by try, client by client, or with another rule."""
    elapsed, B = 0.0, s.seconds.shape[1]
    for took in s.seconds.tolist():
        here = [t < s.deadline if late else t <= s.deadline for t in took]
        done = max(took) if all(here) or wait else s.deadline
        elapsed += s.deadline if full else done
        if sum(here) >= s.least + least:
            return elapsed, np.array(here)
    return elapsed, np.zeros(B, dtype=bool)


def early(s: Tries) -> tuple[float, Array]:
    """End a try as soon as `least` have answered."""
    elapsed = 0.0
    for took in s.seconds:
        at = float(np.sort(took)[s.least - 1])
        elapsed += min(at, s.deadline)
        if at <= s.deadline:
            return elapsed, took <= at
    return elapsed, np.zeros(s.seconds.shape[1], dtype=bool)


def last_in_time(s: Tries) -> tuple[float, Array]:
    """End a try with the last answer in time, though others are still out."""
    here = by_tries(s)[1]
    elapsed = 0.0
    for took in s.seconds:
        in_time = took[took <= s.deadline]
        elapsed += float(in_time.max(initial=0))
        if len(in_time) >= s.least:
            break
    return elapsed, here


def gathered(s: Tries) -> tuple[float, Array]:
    """Keep the answers of earlier tries."""
    elapsed, here = 0.0, np.zeros(s.seconds.shape[1], dtype=bool)
    for took in s.seconds:
        elapsed += float(min(took.max(), s.deadline))
        here = here | (took <= s.deadline)
        if here.sum() >= s.least:
            return elapsed, here
    return elapsed, np.zeros_like(here)


def kept(s: Tries) -> Array:
    """Keep those who have answered in the last try, though they are too few."""
    here = by_tries(s)[1]
    return here if here.any() else s.seconds[-1] <= s.deadline


def last_alone(s: Tries) -> float:
    """The seconds of the last try alone."""
    for took in s.seconds:
        if (took <= s.deadline).sum() >= s.least:
            break
    return float(min(took.max(), s.deadline))


def all_tries(s: Tries) -> float:
    return float(sum(min(took.max(), s.deadline) for took in s.seconds))


WAIT: Mistakes = {
    "a try ends early only when all have answered, not when the least number has": early,
    "a try ends when all have answered: here each one lasts until the deadline":
        lambda s: by_tries(s, full=True),
    "a try ends here with the last answer in time: while one is missing it goes on to the deadline":
        last_in_time,
    "a try ends at the deadline, if some have not answered by then":
        lambda s: by_tries(s, wait=True),
    "an answer at the deadline counts": lambda s: by_tries(s, late=True),
    "exactly `least` answers are enough": lambda s: by_tries(s, least=1),
    "the answers of a try that has failed are lost": gathered,
    "if the server gives up, nobody has answered: all are False":
        lambda s: (by_tries(s)[0], kept(s)),
    "the seconds of all tries are added up, not those of the last one alone":
        lambda s: (last_alone(s), by_tries(s)[1]),
    "tries that did not take place have no seconds":
        lambda s: (all_tries(s), by_tries(s)[1]),
    "only the first try is looked at": lambda s: by_tries(s._replace(seconds=s.seconds[:1])),
}  # fmt: skip


# --- ex09.4 ---------------------------------------------------------------------------------------


def by_looking_back(rounds: list[list[int]], clients: int) -> Array:
    """For each client look back from the newest round."""
    found = []
    for i in range(clients):
        t = len(rounds) - 1
        while t >= 0 and i not in rounds[t]:
            t -= 1
        found.append(t)
    return np.array(found)


def first(rounds: list[list[int]], clients: int) -> Array:
    at = [next((t for t, who in enumerate(rounds) if i in who), -1) for i in range(clients)]
    return np.array(at)


def how_often(rounds: list[list[int]], clients: int) -> Array:
    return np.array([sum(i in who for who in rounds) for i in range(clients)])


LAST: Mistakes = {
    "this is the first round in which they counted: it is the last one": first,
    "this is how often they counted: it is the number of the last round": how_often,
    "rounds are numbered from 0": lambda r, N: by_looking_back(r, N) + (by_looking_back(r, N) >= 0),
    "a client that never counted gets -1, not 0": lambda r, N: np.maximum(by_looking_back(r, N), 0),
    "this is how many rounds ago they counted: return the round's number":
        lambda r, N: len(r) - 1 - by_looking_back(r, N),
    "only the newest round is looked at": lambda r, N: np.array(
        [len(r) - 1 if r and i in r[-1] else -1 for i in range(N)]
    ),
}  # fmt: skip
