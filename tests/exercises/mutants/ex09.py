"""Typical answers to exercise 9, right and wrong."""

import math

import numpy as np

from fedlab_grade.mutants import edits, include, right, wrong


@right
class loops:
    """Plain loops over clients."""

    def counted(w, models, errors, n, announced, seconds, deadline, largest):
        out = []
        for i in range(len(models)):
            ok = seconds[i] <= deadline and n[i] == announced[i]
            for x in models[i]:
                ok = ok and math.isfinite(x)
            for e in errors[i]:
                ok = ok and 0 <= e <= 1
            if ok:
                squares = sum((x - y) ** 2 for x, y in zip(models[i], w, strict=True))
                ok = math.sqrt(squares) <= largest
            out.append(bool(ok))
        return np.array(out)

    def average_of(w, models, n, here):
        total, weight = np.zeros(len(w)), 0
        for i in range(len(n)):
            if here[i]:
                total = total + n[i] * models[i]
                weight += n[i]
        return total / weight if weight else w

    def wait_for(seconds, deadline, least):
        elapsed = 0.0
        for t in range(len(seconds)):
            here = []
            for x in seconds[t]:
                here.append(bool(x <= deadline))
            elapsed += max(seconds[t]) if all(here) else deadline
            if sum(here) >= least:
                return elapsed, np.array(here)
        return elapsed, np.array([False] * len(seconds[0]))

    def last_counted(rounds, clients):
        last = []
        for i in range(clients):
            found = -1
            for t in range(len(rounds)):
                if i in rounds[t]:
                    found = t
            last.append(found)
        return np.array(last)


@right
class masks:
    """Arrays throughout."""

    def counted(w, models, errors, n, announced, seconds, deadline, largest):
        change = np.where(np.isfinite(models), models - w, np.nan)
        far = np.sqrt((change**2).sum(axis=1))
        ok = np.isfinite(models).all(axis=1) & ~(far > largest) & (n == announced)
        return ok & (seconds <= deadline) & (np.clip(errors, 0, 1) == errors).all(axis=1)

    def average_of(w, models, n, here):
        return np.average(models[here], axis=0, weights=n[here]) if here.any() else w

    def last_counted(rounds, clients):
        last = np.zeros(clients, dtype=int) - 1
        for t in range(len(rounds)):
            for i in rounds[t]:
                last[i] = t
        return last


def checks(w, models, errors, n, announced, seconds, deadline, largest):
    far = np.linalg.norm(np.nan_to_num(models, nan=1e9, posinf=1e9, neginf=1e9) - w, axis=1)
    return {
        "time": seconds <= deadline,
        "finite": np.isfinite(models).all(1),
        "near": far <= largest,
        "errors": ((errors >= 0) & (errors <= 1)).all(1),
        "n": n == announced,
    }


def without(name, s):
    found = checks(*s)
    return np.all([found[key] for key in found if key != name], axis=0)


@edits("ex09.1", {
    "deadline itself is late": ("an answer at the deadline counts",
        '("", s)', '("time", s) & (s[5] < s[6])'),
    "distance forgotten": ("models far away from w count", '("", s)', '("near", s)'),
    "length of the model": ("this is the length of the model itself",
        '("", s)', '("near", s) & (np.linalg.norm(np.nan_to_num(s[1]), axis=1) <= s[7])'),
    "largest entry": ("this is the largest entry of the change",
        '("", s)', '("near", s) & (np.abs(np.nan_to_num(s[1]) - s[0]).max(1) <= s[7])'),
    "errors forgotten": ("errors outside 0 to 1 count", '("", s)', '("errors", s)'),
    "NaN slips through": ("an error that is NaN counts",
        '("", s)', '("errors", s) & ~((s[2] < 0) | (s[2] > 1)).any(1)'),
    "finite for all": ("inf or NaN is held against all",
        '("", s)', '("", s) & np.isfinite(s[1]).all()'),
    "errors for all": ("an error outside 0 to 1 is held against all",
        '("", s)', '("", s) & ((s[2] >= 0) & (s[2] <= 1)).all()'),
    "one length": ("the length of all changes together",
        '("", s)', '("near", s) & (np.linalg.norm(s[1] - s[0]) <= s[7])'),
    "sizes forgotten": ("other numbers of examples than announced count", '("", s)', '("n", s)'),
    "places": ("return True or False for each", 'without("", s)', 'np.flatnonzero(without("", s))'),
})  # fmt: skip
def counted(*s):
    return without("", s)


@wrong("ex09.1", "deadline forgotten", "late answers count as well")
def counted(*s):
    found = checks(*s)
    return found["finite"] & found["near"] & found["errors"] & found["n"] & np.isfinite(s[5])


@wrong("ex09.1", "two errors of each", "each client has two errors")
def counted(w, models, errors, n, announced, seconds, deadline, largest):
    return (seconds <= deadline) & (errors >= 0) & (errors <= 1)


@wrong("ex09.1", "chained comparison", "join the comparisons with &")
def counted(w, models, errors, n, announced, seconds, deadline, largest):
    return 0 <= errors <= 1 and seconds <= deadline


@edits("ex09.2", {
    "plain mean": ("weigh by the numbers of examples",
        "n[here] @ models[here] / n[here].sum()", "models[here].mean(0)"),
    "all of them": ("those that do not count are in the average",
        "[here] @ models[here] / n[here].sum() if here.any() else w", "/ n.sum() @ models"),
    "weights of all": ("divide by those of the ones that count", "[here].", "."),
    "NaN times 0": ("0 times NaN is NaN",
        "n[here] @ models[here] / n[here]", "(n * here) @ models / (n * here)"),
    "nobody": ("if nobody counts, the model stays as it is",
        "n[here].sum() if here.any() else w", "max(n[here].sum(), 1)"),
    "in place": ("change the argument itself",
        "return n[here] @ models[here] / n[here]",
        "models[~here] = 0\n    return (n * here) @ models / (n * here)"),
})  # fmt: skip
def average_of(w, models, n, here):
    return n[here] @ models[here] / n[here].sum() if here.any() else w


@wrong("ex09.2", "old model for the missing", "averaged as the old w")
def average_of(w, models, n, here):
    return n / n.sum() @ np.where(here[:, None], models, w)


@edits("ex09.3", {
    "too few are kept": ("all are False",
        "return elapsed, here\n    return elapsed, np.zeros(seconds.shape[1], bool)",
        "break\n    return elapsed, here"),
    "more than least": ("exactly `least` answers are enough", "() >=", "() >"),
})  # fmt: skip
def wait_for(seconds, deadline, least):
    elapsed = 0.0
    for took in seconds:
        elapsed += min(took.max(), deadline)
        here = took <= deadline
        if here.sum() >= least:
            return elapsed, here
    return elapsed, np.zeros(seconds.shape[1], bool)


@wrong("ex09.3", "always the deadline", "here each one lasts until the deadline")
def wait_for(seconds, deadline, least):
    for t, took in enumerate(seconds):
        if (took <= deadline).sum() >= least:
            return deadline * (t + 1), took <= deadline
    return deadline * len(seconds), np.zeros(seconds.shape[1], bool)


@wrong("ex09.3", "last answer in time", "while one is missing it goes on to the deadline")
def wait_for(seconds, deadline, least):
    elapsed = 0.0
    for took in seconds:
        here = took <= deadline
        elapsed += max(took[here], default=0.0)
        if here.sum() >= least:
            return elapsed, here
    return elapsed, np.zeros(seconds.shape[1], bool)


@wrong("ex09.3", "as soon as enough", "not when the least number has")
def wait_for(seconds, deadline, least):
    elapsed = 0.0
    for took in seconds:
        at = np.sort(took)[least - 1]
        elapsed += min(at, deadline)
        if at <= deadline:
            return elapsed, took <= at
    return elapsed, np.zeros(seconds.shape[1], bool)


@wrong("ex09.3", "answers kept", "the answers of a try that has failed are lost")
def wait_for(seconds, deadline, least):
    elapsed, here = 0.0, np.zeros(seconds.shape[1], bool)
    for took in seconds:
        elapsed += min(took.max(), deadline)
        here |= took <= deadline
        if here.sum() >= least:
            return elapsed, here
    return elapsed, np.zeros(seconds.shape[1], bool)


@wrong("ex09.3", "last try alone", "not those of the last one alone")
def wait_for(seconds, deadline, least):
    for took in seconds:
        here = took <= deadline
        if here.sum() >= least:
            return min(took.max(), deadline), here
    return min(took.max(), deadline), np.zeros(seconds.shape[1], bool)


edits("ex09.4", {
    "first": ("this is the first round in which they counted",
        "last[who] = t", "for i in who:\n            last[i] = t if last[i] < 0 else last[i]"),
    "from one": ("rounds are numbered from 0", "(rounds)", "(rounds, 1)"),
    "never is 0": ("gets -1, not 0", "full(clients, -1)", "zeros(clients, int)"),
    "the newest round alone": ("only the newest round is looked at",
        "for t, who in enumerate(rounds):\n        last[who] = t",
        "if rounds:\n        last[rounds[-1]] = len(rounds) - 1"),
})  # fmt: skip


@wrong("ex09.4", "how often", "this is how often they counted")
def last_counted(rounds, clients):
    return np.bincount([i for who in rounds for i in who], minlength=clients)


@wrong("ex09.4", "rounds ago", "this is how many rounds ago they counted")
def last_counted(rounds, clients):
    ago = np.full(clients, len(rounds))
    for age, who in enumerate(reversed(rounds)):
        ago[who] = np.minimum(ago[who], age)
    return ago


include("experiments.py", "ex09.5")
