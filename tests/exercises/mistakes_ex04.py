"""Exercise 4: the arguments of its functions, and what known mistakes make of them."""

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import partial
from typing import NamedTuple

import torch
from support import DISCOUNTED, Mistakes, discounted, real
from torch import Tensor

# --- ex04.1 ---------------------------------------------------------------------------------------


class Scores(NamedTuple):
    """The arguments of `gradient`."""

    theta: Tensor
    row: Tensor
    score: Tensor
    size: Tensor
    lam: float

    @property
    def share(self) -> Tensor:
        return self.size / self.size.sum()

    @property
    def above(self) -> Tensor:
        """The baseline."""
        return self.score - self.lam

    @property
    def used(self) -> Tensor:
        return torch.bincount(self.row, minlength=len(self.theta)) > 0

    def by_row(self, values: Tensor) -> Tensor:
        """(k,), the sums of the values (B,) of the clients that used each row."""
        return torch.zeros_like(self.theta).index_add(0, self.row, values)

    def divided(self, sums: Tensor) -> Tensor:
        return torch.where(self.used, sums / self.theta, 0.0)


def by_fractions(s: Scores) -> Tensor:
    """The gradient, without rounding."""
    theta, score, size = ([Fraction(x) for x in v.tolist()] for v in (s.theta, s.score, s.size))
    g = [Fraction(0)] * len(theta)
    for j, score_i, size_i in zip(s.row.tolist(), score, size, strict=True):
        g[j] += size_i / sum(size) * (score_i - Fraction(s.lam)) / theta[j]
    return real(*map(float, g))


def estimate(s: Scores) -> Tensor:
    return s.divided(s.by_row(s.share * s.above))


def last_only(s: Scores) -> Tensor:
    g = torch.zeros_like(s.theta)
    for j, value in zip(s.row.tolist(), s.share * s.above, strict=True):
        g[j] = value / s.theta[j]
    return g


GRADIENT: Mistakes = {
    "the division by theta_j is missing": lambda s: s.by_row(s.share * s.above),
    "this multiplies by theta_j: divide by it": lambda s: s.theta * s.by_row(s.share * s.above),
    "the sizes are not divided by their sum": lambda s: s.divided(s.by_row(s.size * s.above)),
    "the sizes are divided by the number of clients: divide them by the sum of all B sizes":
        lambda s: s.divided(s.by_row(s.size * s.above)) / len(s.row),
    "this divides by the number of clients as well: the shares of the sizes already sum to 1":
        lambda s: estimate(s) / len(s.row),
    "each row's sizes are divided by their own sum: divide by that of all B clients":
        lambda s: s.divided(s.by_row(s.size * s.above) / s.by_row(s.size)),
    "this is the plain mean over the clients: a client counts by its share of all sizes":
        lambda s: s.divided(s.by_row(s.above)) / len(s.row),
    "this is the plain mean over a row's clients: a client counts by its share of all sizes":
        lambda s: s.divided(s.by_row(s.above) / s.by_row(torch.ones_like(s.above))),
    "the sizes do not count: a client counts by its share of all sizes":
        lambda s: s.divided(s.by_row(s.above)),
    "of several clients with one row only the last counts (g[row] = ... and g[row] += ... write "
    "each entry once): add up over the clients": last_only,
    "lambda is not subtracted": lambda s: s.divided(s.by_row(s.share * s.score)),
    "lambda is added: subtract it from each score":
        lambda s: s.divided(s.by_row(s.share * (s.score + s.lam))),
    "the sign is wrong: it is score minus lambda": lambda s: -estimate(s),
    "lambda is subtracted once for each row that was used: subtract it from each score":
        lambda s: s.divided(s.by_row(s.share * s.score) - s.lam),
    "lambda is subtracted from each row, even one that nobody used: subtract it from each score":
        lambda s: (s.by_row(s.share * s.score) - s.lam) / s.theta,
    "lambda is subtracted from each row after the division by theta_j: subtract it from each score":
        lambda s: s.by_row(s.share * s.score) / s.theta - s.lam,
    "lambda is subtracted after the division by theta_j: (score_i - lambda) / theta_j has brackets":
        lambda s: s.by_row(s.share * (s.score / s.theta[s.row] - s.lam)),
    "a row that nobody used gets -lambda / theta_j: it gets 0":
        lambda s: torch.where(s.used, estimate(s), -s.lam / s.theta),
    "a row that nobody used gets -lambda: it gets 0":
        lambda s: torch.where(s.used, estimate(s), -s.lam),
    "0 is divided by theta_j = 0 for a row that nobody used, which gives NaN: this row gets 0":
        lambda s: s.by_row(s.share * s.above) / s.theta,
    "these are numbers of the clients: add up those of the clients that used the same row":
        lambda s: s.share * s.above / s.theta[s.row],
}  # fmt: skip


# --- ex04.2 ---------------------------------------------------------------------------------------


def by_decimals(z: Tensor, g: Tensor, eta: float) -> Tensor:
    """The next z by powers, a sum and logarithms, with exponents that floats do not have."""
    with localcontext(prec=40):
        steps = zip(z.tolist(), g.tolist(), strict=True)
        theta = [(Decimal(z_j) - Decimal(eta) * Decimal(g_j)).exp() for z_j, g_j in steps]
        return real(*(float((t / sum(theta)).ln()) for t in theta))


def powers(z: Tensor, g: Tensor, eta: float) -> Tensor:
    """The next theta, before it is divided by its sum, in plain floats."""
    return z.exp() * (-eta * g).exp()


EXPONENTIATED: Mistakes = {
    "the step goes the wrong way: it is z - eta g": lambda z, g, eta: (z + eta * g).log_softmax(0),
    "this is z - eta g: make exp of the entries sum to 1": lambda z, g, eta: z - eta * g,
    "this is theta: return its logarithm": lambda z, g, eta: (z - eta * g).softmax(0),
    "this is theta, not yet divided by its sum: return the logarithm, normalised": powers,
    "eta is missing": lambda z, g, eta: (z - g).log_softmax(0),
    "this divides by eta: multiply by it": lambda z, g, eta: (z - g / eta).log_softmax(0),
    "the gradient is not subtracted: z came back": lambda z, g, eta: z,
    "theta itself went through softmax, which takes its exp once more: normalise z - eta g":
        lambda z, g, eta: powers(z, g, eta).log_softmax(0),
    "eta g is subtracted from theta: subtract it from z":
        lambda z, g, eta: (z.exp() - eta * g).log_softmax(0),
    "z is multiplied by exp(-eta g): this belongs to theta, and to z belongs - eta g":
        lambda z, g, eta: (z * (-eta * g).exp()).log_softmax(0),
    "z is divided by its sum: exp of its entries must sum to 1, so subtract logsumexp":
        lambda z, g, eta: (z - eta * g) / (z - eta * g).sum(),
    "z is divided by logsumexp: subtract it":
        lambda z, g, eta: (z - eta * g) / (z - eta * g).logsumexp(0),
    "the sum of z is subtracted: subtract the logarithm of the sum of exp, logsumexp":
        lambda z, g, eta: (z - eta * g) - (z - eta * g).sum(),
    "the mean of z is subtracted: subtract logsumexp":
        lambda z, g, eta: (z - eta * g) - (z - eta * g).mean(),
    "the largest z is subtracted: subtract logsumexp":
        lambda z, g, eta: (z - eta * g) - (z - eta * g).max(),
    "the sum of exp is subtracted: subtract its logarithm":
        lambda z, g, eta: (z - eta * g) - (z - eta * g).exp().sum(),
    "logsumexp is added: subtract it":
        lambda z, g, eta: (z - eta * g) + (z - eta * g).logsumexp(0),
    "exp becomes inf or 0 here: theta is too large or too small for a float, so stay with z":
        lambda z, g, eta: (powers(z, g, eta) / powers(z, g, eta).sum()).log(),
    "exp of z - eta g becomes inf or 0 here: logsumexp subtracts the largest entry before exp":
        lambda z, g, eta: (z - eta * g) - (z - eta * g).exp().sum().log(),
    "theta becomes 0 here, and its logarithm -inf: stay with z, and subtract logsumexp":
        lambda z, g, eta: (z - eta * g).softmax(0).log(),
}  # fmt: skip


# --- ex04.3 ---------------------------------------------------------------------------------------

FIRST = "the trace is empty in the first round, and lambda is 0 there"


def mean_before(trace: list[float], gamma: float) -> float:
    return discounted(trace, gamma) if trace else 0.0


def where_there_are_scores(rule: Callable[..., float]) -> Callable[..., float]:
    return lambda trace, gamma: rule(trace, gamma) if trace else 0.0


BASELINE: Mistakes = {
    mistake: where_there_are_scores(rule) for mistake, rule in DISCOUNTED.items()
} | {
    FIRST: lambda trace, gamma: discounted(trace, gamma) if trace else math.nan,
}


# --- ex04.4 ---------------------------------------------------------------------------------------


class Round(NamedTuple):
    """The arguments of `fedex_round`."""

    z: Tensor
    trace: list[float]
    row: Tensor
    score: Tensor
    size: Tensor
    gamma: float

    def scores(self, lam: float) -> Scores:
        return Scores(self.z.exp(), self.row, self.score, self.size, lam)

    @property
    def mean(self) -> float:
        return ((self.size * self.score).sum() / self.size.sum()).item()

    @property
    def lam(self) -> float:
        return mean_before(self.trace, self.gamma)


def by_the_book(s: Round) -> Tensor:
    """The next z, from the gradient without rounding."""
    g, k = by_fractions(s.scores(s.lam)), len(s.z)
    largest = max(map(abs, g.tolist()))
    return by_decimals(s.z, g, math.sqrt(2 * math.log(k)) / largest if largest else 0.0)


def constant(s: Round) -> float:
    return math.sqrt(2 * math.log(len(s.z)))


def aggressive(s: Round, g: Tensor) -> Tensor:
    return constant(s) / g.abs().max() if g.abs().max() > 0 else real(0)[0]


def exponentiated(z: Tensor, g: Tensor, eta: float) -> Tensor:
    return (z - eta * g).log_softmax(0)


def moved(
    s: Round,
    lam: Callable[[list[float], float], float] = mean_before,
    gradient: Callable[[Scores], Tensor] = estimate,
    eta: Callable[[Round, Tensor], Tensor | float] = aggressive,
    step: Callable[[Tensor, Tensor, float], Tensor] = exponentiated,
) -> Tensor:
    """The next z, with one or the other part of the round replaced."""
    g = gradient(s.scores(lam(s.trace, s.gamma)))
    return step(s.z, g, float(eta(s, g)))


def with_lambda(rule: Callable[[Round], float]) -> Callable[[Round], Tensor]:
    return lambda s: moved(s, lam=lambda trace, gamma: rule(s))


def with_eta(rule: Callable[[Round, Tensor], Tensor | float]) -> Callable[[Round], Tensor]:
    """Where there is a step at all."""
    return partial(moved, eta=lambda s, g: rule(s, g) if g.any() else 0.0)


def with_factor(rule: Callable[[Round], float]) -> Callable[[Round], Tensor]:
    """In place of sqrt(2 ln k)."""
    return with_eta(lambda s, g: rule(s) / g.abs().max())


ROUND: Mistakes = {
    "this round is part of lambda: take lambda from the trace as it was before":
        with_lambda(lambda s: discounted([*s.trace, s.mean], s.gamma)),
    "lambda is the mean score of this round: take it from the earlier rounds":
        with_lambda(lambda s: s.mean),
    "in the first round lambda is the mean score of this round: it is 0 there":
        with_lambda(lambda s: s.lam if s.trace else s.mean),
    FIRST: with_lambda(lambda s: s.lam if s.trace else math.nan),
    "the largest g_j is taken with its sign: it is the largest |g_j|":
        with_eta(lambda s, g: constant(s) / g.max()),
    "this divides by the sum of the |g_j|: divide by the largest":
        with_eta(lambda s, g: constant(s) / g.abs().sum()),
    "this divides by the sum of the g_j: divide by the largest |g_j|":
        with_eta(lambda s, g: constant(s) / g.sum()),
    "this divides by the mean of the |g_j|: divide by the largest":
        with_eta(lambda s, g: constant(s) / g.abs().mean()),
    "this divides by the length of g, the root of the sum of squares: divide by the largest |g_j|":
        with_eta(lambda s, g: constant(s) / g.norm()),
    "this divides by the square of the largest |g_j|":
        with_eta(lambda s, g: constant(s) / g.abs().max() ** 2),
    "the division by the largest |g_j| is missing": with_eta(lambda s, g: constant(s)),
    "this multiplies by the largest |g_j|: divide by it":
        with_eta(lambda s, g: constant(s) * g.abs().max()),
    "eta is 1 here: it is sqrt(2 ln k) / max_j |g_j|": with_eta(lambda s, g: 1.0),
    "sqrt(2 ln k) is missing: eta is 1 / max_j |g_j| here": with_factor(lambda s: 1.0),
    "ln k is missing in sqrt(2 ln k)": with_factor(lambda s: math.sqrt(2)),
    "the 2 is missing in sqrt(2 ln k)": with_factor(lambda s: math.sqrt(math.log(len(s.z)))),
    "the root is missing in sqrt(2 ln k)": with_factor(lambda s: 2 * math.log(len(s.z))),
    "ln is missing in sqrt(2 ln k)": with_factor(lambda s: math.sqrt(2 * len(s.z))),
    "the 2 is outside the root: it is sqrt(2 ln k)":
        with_factor(lambda s: 2 * math.sqrt(math.log(len(s.z)))),
    "ln k is outside the root: it is sqrt(2 ln k)":
        with_factor(lambda s: math.sqrt(2) * math.log(len(s.z))),
    "this takes the logarithm to base 2: ln is math.log":
        with_factor(lambda s: math.sqrt(2 * math.log2(len(s.z)))),
    "this takes the logarithm to base 10: ln is math.log":
        with_factor(lambda s: math.sqrt(2 * math.log10(len(s.z)))),
    "k is the number of clients here: it is the number of rows, len(z)":
        with_factor(lambda s: math.sqrt(2 * math.log(len(s.row)))),
    "k is the number of the rows that were used here: it is that of all rows, len(z)":
        with_factor(lambda s: math.sqrt(2 * math.log(len(s.row.unique())))),
    "where all g_j are 0 this divides 0 by 0: eta is 0 there":
        partial(moved, eta=lambda s, g: constant(s) / g.abs().max()),
    "the gradient is divided by z: theta is exp(z)":
        partial(moved, gradient=lambda s: estimate(s._replace(theta=s.theta.log()))),
    "no g_j, or each by the same number, is divided: divide it by theta_j, which is exp(z_j)":
        partial(moved, gradient=lambda s: s.by_row(s.share * s.above)),
    "the step goes the wrong way: it is z - eta g, and g has score minus lambda in it":
        with_eta(lambda s, g: -aggressive(s, g)),
    "the step starts anew from equal probabilities: it starts from z":
        partial(moved, step=lambda z, g, eta: (-eta * g).log_softmax(0)),
    **{f"in lambda (4.3): {mistake}": partial(moved, lam=rule)
        for mistake, rule in BASELINE.items() if mistake != FIRST},
    **{f"in the gradient (4.1): {mistake}": partial(moved, gradient=rule)
        for mistake, rule in GRADIENT.items() if "numbers of the clients" not in mistake},
    **{f"in the step (4.2): {mistake}": partial(moved, step=rule)
        for mistake, rule in EXPONENTIATED.items()},
}  # fmt: skip


# Of the next trace.
NEXT_TRACE: Mistakes = {
    "the trace itself came back: the mean score of this round is added to it":
        lambda s: list(s.trace),
    "this is the plain mean of the scores: a client weighs as much as it has validation examples":
        lambda s: [*s.trace, s.score.mean().item()],
    "the scores times the sizes are added up: divide by the sum of the sizes":
        lambda s: [*s.trace, (s.size * s.score).sum().item()],
    "the sum of size times score is divided by the number of clients: divide by that of the sizes":
        lambda s: [*s.trace, (s.size * s.score).mean().item()],
    "this is the sum of the scores: take their mean, weighted by size":
        lambda s: [*s.trace, s.score.sum().item()],
    "lambda is subtracted: the trace holds the mean scores themselves":
        lambda s: [*s.trace, s.mean - s.lam],
    "this is lambda: add the mean score of this round": lambda s: [*s.trace, s.lam],
    "the earlier rounds are gone: add the mean score of this round to them": lambda s: [s.mean],
    "the new entry is at the beginning: the newest comes last": lambda s: [s.mean, *s.trace],
    "these are the scores of all clients: add one number, their mean weighted by size":
        lambda s: [*s.trace, *s.score.tolist()],
    "the mean score is added twice": lambda s: [*s.trace, s.mean, s.mean],
    "the oldest entry is gone: keep all": lambda s: [*s.trace[1:], s.mean],
}  # fmt: skip


# The second part: theta after some rounds with the same gradient.


def theta_of(moves: float, g: Tensor) -> Tensor:
    """Return theta, given the sum of all step sizes; g is 0 wherever it cannot be a number."""
    return (-moves * g).softmax(0) if g.any() else g.softmax(0)


def by_sums(g: Tensor, rule: str, rounds: int, square: float = 1.0, root: float = 0.5) -> Tensor:
    """Return theta from the sum of the step sizes."""
    m = g.abs().max().item() or 1.0
    total = {
        "constant": float(rounds),
        "adaptive": math.fsum((t * m ** (2 * square)) ** -root for t in range(1, rounds + 1)),
        "aggressive": rounds / m,
    }
    return theta_of(math.sqrt(2 * math.log(len(g))) * total[rule], g)


def only_with(name: str, other: Callable[[Tensor, int], Tensor]) -> Callable[..., Tensor]:
    """Return what is wrong with one rule only."""
    return lambda g, rule, T: other(g, T) if rule == name else by_sums(g, rule, T)


def with_usual(usual: Callable[[int], float]) -> Callable[..., Tensor]:
    """In place of sqrt(2 ln k)."""

    def theta(g: Tensor, rule: str, rounds: int) -> Tensor:
        k = len(g)
        moved = by_sums(g, rule, rounds).log() * usual(k) / math.sqrt(2 * math.log(k))
        return moved.softmax(0)

    return theta


def swapped(g: Tensor, rule: str, rounds: int) -> Tensor:
    other = {"adaptive": "aggressive", "aggressive": "adaptive"}
    return by_sums(g, other.get(rule, rule), rounds)


COMMITTED: Mistakes = {
    "the adaptive and the aggressive rule are exchanged": swapped,
    "adaptive steps must shrink: the sum of m^2 grows with the round":
        only_with("adaptive", lambda g, T: by_sums(g, "aggressive", T)),
    "the adaptive rule takes the root of the sum: it is missing":
        partial(by_sums, root=1.0),
    "the adaptive rule adds up the squares of m, and not m": partial(by_sums, square=0.5),
    "all adaptive steps have the size of the last one: round t has its own":
        only_with("adaptive", lambda g, T: by_sums(g, "aggressive", T)
            .log().div(math.sqrt(max(T, 1))).softmax(0)),
    "the constant step is not divided by m":
        only_with("constant", lambda g, T: by_sums(g, "aggressive", T)),
    "the constant step does not shrink with the round":
        only_with("constant", lambda g, T: by_sums(g / (g.abs().max() or 1), "adaptive", T)
            .log().mul(g.abs().max()).softmax(0)),
    "the aggressive rule divides by m":
        only_with("aggressive", lambda g, T: by_sums(g, "constant", T)),
    "the step goes the wrong way: rows with a low g_j become likelier":
        lambda g, rule, T: by_sums(-g, rule, T),
    "this is one step only: there are as many as rounds":
        lambda g, rule, T: by_sums(g, rule, min(T, 1)),
    "this is one step too many": lambda g, rule, T: by_sums(g, rule, T + 1),
    "this is one step too few": lambda g, rule, T: by_sums(g, rule, max(T - 1, 0)),
    "this is log theta: return its exp": lambda g, rule, T: by_sums(g, rule, T).log(),
    "the root is missing in sqrt(2 ln k)": with_usual(lambda k: 2 * math.log(k)),
    "the 2 is missing in sqrt(2 ln k)": with_usual(lambda k: math.sqrt(math.log(k))),
    "the 2 is outside the root: it is sqrt(2 ln k)":
        with_usual(lambda k: 2 * math.sqrt(math.log(k))),
}  # fmt: skip


# --- ex04.5 ---------------------------------------------------------------------------------------


class Halved(NamedTuple):
    """The arguments of `fedex_in_halving`."""

    scores: Tensor
    u: Tensor
    stops: list[int]
    eta: int
    gamma: float


class State(NamedTuple):
    """An arm: log theta, and its mean scores so far."""

    z: Tensor
    trace: list[float]


def drawn_rows(z: Tensor, u: Tensor) -> list[int]:
    """The rows at these numbers, by adding up theta."""
    ends = [sum(z.exp().tolist()[: j + 1]) for j in range(len(z))]
    return [min(sum(end <= x for end in ends), len(ends) - 1) for x in u.tolist()]


def begun(s: Halved) -> State:
    k = s.scores.shape[-1]
    return State(real(*[-math.log(k)] * k), [])


def raced(
    s: Halved,
    play: Callable[[Round], Tensor] = moved,
    rows: Callable[[Tensor, Tensor], list[int]] = drawn_rows,
    judged: Callable[[list[float]], float] = lambda trace: trace[-1],
    left: Callable[[int, int], int] = lambda n, eta: max(1, n // eta),
    after: Callable[[Halved, State], State] = lambda s, state: state,
    stops: Callable[[Halved], list[int]] = lambda s: s.stops[:-1],
    sign: int = 1,
) -> tuple[int, Tensor]:
    """The winner and its z, with one or the other part replaced."""
    arms, rounds, *_ = s.scores.shape
    states, alive = [begun(s)] * arms, [*range(arms)]
    for t in range(rounds):
        for a in alive:
            z, trace = states[a]
            row = rows(z, s.u[a, t])
            score = real(*(s.scores[a, t, i, j].item() for i, j in enumerate(row)))
            one = Round(z, trace, torch.tensor(row), score, torch.ones_like(score), s.gamma)
            states[a] = State(play(one), [*trace, one.mean])
        if t + 1 in stops(s):
            best = sorted(alive, key=lambda a: (sign * judged(states[a].trace), a))
            alive = sorted(best[: left(len(alive), s.eta)])
            states = [after(s, state) for state in states]
    winner = min(alive, key=lambda a: (judged(states[a].trace), a))
    return winner, states[winner].z


def raced_shared(s: Halved) -> tuple[int, Tensor]:
    """One z and one trace for all arms, which play in turn."""
    arms, rounds, *_ = s.scores.shape
    z, trace = begun(s)
    alive, last = [*range(arms)], [0.0] * arms
    for t in range(rounds):
        for a in alive:
            row = drawn_rows(z, s.u[a, t])
            score = real(*(s.scores[a, t, i, j].item() for i, j in enumerate(row)))
            one = Round(z, trace, torch.tensor(row), score, torch.ones_like(score), s.gamma)
            z, trace, last[a] = moved(one), [*trace, one.mean], one.mean
        if t + 1 in s.stops[:-1]:
            alive = sorted(sorted(alive, key=lambda a: (last[a], a))[: max(1, len(alive) // s.eta)])
    return min(alive, key=lambda a: (last[a], a)), z


RACES: dict[str, Callable[[Halved], tuple[int, Tensor]]] = {
    "z begins anew after an elimination: an arm that goes on keeps it": partial(
        raced, after=lambda s, state: State(begun(s).z, state.trace)),
    "the trace begins anew after an elimination: an arm that goes on keeps it": partial(
        raced, after=lambda s, state: State(state.z, state.trace[-1:])),
    "z and trace begin anew after an elimination: an arm that goes on keeps both": partial(
        raced, after=lambda s, state: State(begun(s).z, state.trace[-1:])),
    "all arms share one z and one trace: each has its own": raced_shared,
    "the arms with the highest scores go on: lower is better": partial(raced, sign=-1),
    "an arm is judged by the mean of all its rounds: the round just played counts alone": partial(
        raced, judged=lambda trace: sum(trace) / len(trace)),
    "an arm is judged by its lowest score so far: the round just played counts alone":
        partial(raced, judged=min),
    "an arm is judged by its first round: the round just played counts": partial(
        raced, judged=lambda trace: trace[0]),
    "n / eta is rounded up: floor(n / eta) arms go on, at least 1": partial(
        raced, left=lambda n, eta: -(-n // eta)),
    "floor(n / eta) arms end here: that many go on": partial(
        raced, left=lambda n, eta: n - n // eta),
    "only one arm goes on after the first elimination: floor(n / eta) do": partial(
        raced, left=lambda n, eta: 1),
    "no arm is ever eliminated here": partial(raced, stops=lambda s: []),
    "the eliminations come one round too early: rounds are counted from 1": partial(
        raced, stops=lambda s: [stop - 1 for stop in s.stops[:-1]]),
    "the eliminations come one round too late: rounds are counted from 1": partial(
        raced, stops=lambda s: [stop + 1 for stop in s.stops[:-1]]),
    "every client uses the likeliest row: it draws its row by u": partial(
        raced, rows=lambda z, u: [int(z.argmax())] * len(u)),
    "rows are drawn from equal probabilities: they are drawn from theta": partial(
        raced, rows=lambda z, u: [int(x * len(z)) for x in u.tolist()]),
    "z stays as it was: it moves in every round": partial(raced, play=lambda one: one.z),
}  # fmt: skip
