"""Exercise 2: the arguments of its functions, and what known mistakes make of them.

Local steps are in closed form, on quadratics.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from support import Mistakes
from torch import Tensor


def returned(mistakes: Mistakes, *arguments: object) -> dict[str, Tensor]:
    return {mistake: rule(*arguments) for mistake, rule in mistakes.items()}


def normal(gen: torch.Generator, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=gen, dtype=torch.float64)


class Quadratic(NamedTuple):
    """The loss ``1/2 (w - mu)' A (w - mu)`` of a client."""

    A: Tensor
    mu: Tensor

    def gradient(self, w: Tensor) -> Tensor:
        return self.A @ (w - self.mu)

    def loss(self, w: Tensor) -> Tensor:
        return (w - self.mu) @ self.A @ (w - self.mu) / 2


def quadratics(count: int, d: int, seed: int) -> list[Quadratic]:
    """Drawn losses, with eigenvalues of A from 0.5 to about 6."""
    gen = torch.Generator().manual_seed(seed)
    roots = [normal(gen, d, d) for _ in range(count)]
    curvatures = [root @ root.T / d + torch.eye(d, dtype=torch.float64) / 2 for root in roots]
    return [Quadratic(A, 2 * normal(gen, d)) for A in curvatures]


def optimum(losses: list[Quadratic]) -> Tensor:
    """Return the minimum of the mean of the losses."""
    total, rhs = sum(f.A for f in losses), sum(f.A @ f.mu for f in losses)
    return torch.linalg.solve(total, rhs)


def descended(f: Quadratic, w: Tensor, lr: float, steps: int, drift: Tensor) -> Tensor:
    """Steps of ``w <- w - lr (gradient(w) + drift)``, in closed form: a power of ``I - lr A``."""
    fixed = torch.linalg.solve(f.A, f.A @ f.mu - drift)
    return fixed + jacobian(f.A, lr, steps) @ (w - fixed)


def jacobian(A: Tensor, lr: float, steps: int) -> Tensor:
    return torch.linalg.matrix_power(torch.eye(len(A), dtype=A.dtype) - lr * A, steps)


def two_of_three(rounds: int) -> Iterator[list[int]]:
    """The clients of each round, of three in all."""
    for t in range(rounds):
        yield [t % 3, (t + 1) % 3]


# --- ex02.1 ---------------------------------------------------------------------------------------


class Local(NamedTuple):
    """The arguments of `scaffold_local`."""

    x: Tensor
    control_i: Tensor
    control: Tensor
    lr: float
    steps: int
    gradient: Callable[[Tensor], Tensor]


def walk(s: Local, direction: Callable[[Tensor, int], Tensor]) -> Tensor:
    y = s.x
    for t in range(s.steps):
        y = y - s.lr * direction(y, t)
    return y


def locally(correction: Callable[[Local], Tensor]) -> Callable[[Local], Tensor]:
    return lambda s: walk(s, lambda y, t: s.gradient(y) + correction(s))


LOCALLY: Mistakes = {
    "the correction has the wrong sign: add c and subtract c_i":
        locally(lambda s: s.control_i - s.control),
    "the correction is missing: each gradient gets c - c_i": locally(lambda s: 0 * s.x),
    "the correction is only in the first step: every step needs it":
        lambda s: walk(s, lambda y, t: s.gradient(y) + (t == 0) * (s.control - s.control_i)),
    "the correction is added only once, at the end: every step needs it":
        lambda s: locally(lambda s: 0 * s.x)(s) - s.lr * (s.control - s.control_i),
    "the correction is not multiplied by lr: it belongs to the gradient":
        lambda s: walk(s, lambda y, t: s.gradient(y) + (s.control - s.control_i) / s.lr),
    "c_i is missing: the correction is c - c_i": locally(lambda s: s.control),
    "c is missing: the correction is c - c_i": locally(lambda s: -s.control_i),
    "both c and c_i are added: subtract c_i": locally(lambda s: s.control_i + s.control),
    "every gradient is taken at x: take it at y, which moves":
        lambda s: walk(s, lambda y, t: s.gradient(s.x) + s.control - s.control_i),
    "there is only one step: take K of them":
        lambda s: locally(lambda s: s.control - s.control_i)(s._replace(steps=1)),
    "the steps go uphill: subtract lr times the corrected gradient":
        lambda s: locally(lambda s: s.control - s.control_i)(s._replace(lr=-s.lr)),
    "this is the change y - x: return y itself":
        lambda s: locally(lambda s: s.control - s.control_i)(s) - s.x,
    "x itself came back: return the last y": lambda s: s.x,
}  # fmt: skip

# Of the local arguments and the student's own y.
NEXT_CONTROL: Mistakes = {
    "c is not subtracted: it is c_i - c + (x - y) / (K lr)":
        lambda s, y: s.control_i + (s.x - y) / (s.steps * s.lr),
    "c is added: it is c_i - c + (x - y) / (K lr)":
        lambda s, y: s.control_i + s.control + (s.x - y) / (s.steps * s.lr),
    "c_i and c have the wrong signs: it is c_i - c + (x - y) / (K lr)":
        lambda s, y: s.control - s.control_i + (s.x - y) / (s.steps * s.lr),
    "c_i is missing: it is c_i - c + (x - y) / (K lr)":
        lambda s, y: -s.control + (s.x - y) / (s.steps * s.lr),
    "c_i - c is missing: it is c_i - c + (x - y) / (K lr)":
        lambda s, y: (s.x - y) / (s.steps * s.lr),
    "the change has the wrong sign: it is x - y, not y - x":
        lambda s, y: s.control_i - s.control + (y - s.x) / (s.steps * s.lr),
    "x - y is not divided by lr: divide by K lr":
        lambda s, y: s.control_i - s.control + (s.x - y) / s.steps,
    "x - y is not divided by the number of steps K: divide by K lr":
        lambda s, y: s.control_i - s.control + (s.x - y) / s.lr,
    "x - y is not divided at all: divide by K lr": lambda s, y: s.control_i - s.control + s.x - y,
    "this multiplies by lr: a / K * lr is (a / K) * lr, so write a / (K * lr)":
        lambda s, y: s.control_i - s.control + (s.x - y) / s.steps * s.lr,
    "x - y is zero here: x must stay the model that the client received":
        lambda s, y: s.control_i - s.control,
    "this is the old c_i: return the next one": lambda s, y: s.control_i,
    "this is the gradient at x, the paper's option I: the question asks for option II":
        lambda s, y: s.gradient(s.x),
    "this is the gradient at the last y: the question asks for c_i - c + (x - y) / (K lr)":
        lambda s, y: s.gradient(y),
}  # fmt: skip


# --- ex02.2 ---------------------------------------------------------------------------------------


class Scaffold(NamedTuple):
    """The arguments of `scaffold_server`."""

    x: Tensor
    control: Tensor
    ys: Tensor
    new: Tensor
    old: Tensor
    server_lr: float
    clients: int


SERVED: Mistakes = {
    "the sum of y_i - x is divided by N: the model takes the mean over the clients of the round":
        lambda s: s.x + s.server_lr * (s.ys - s.x).sum(0) / s.clients,
    "the y_i - x are added up: take their mean over the round":
        lambda s: s.x + s.server_lr * (s.ys - s.x).sum(0),
    "server_lr is missing: this is the mean of the y_i": lambda s: s.ys.mean(0),
    "this moves by server_lr times the mean of the y_i: take the mean of the changes y_i - x":
        lambda s: s.x + s.server_lr * s.ys.mean(0),
    "x is missing: add server_lr times the mean of y_i - x to it":
        lambda s: s.server_lr * (s.ys - s.x).mean(0),
    "this is server_lr times the mean of the y_i: move from x by that much of the way":
        lambda s: s.server_lr * s.ys.mean(0),
    "x moves away from the y_i: add the mean of y_i - x":
        lambda s: s.x - s.server_lr * (s.ys - s.x).mean(0),
    "x itself came back: return the next model": lambda s: s.x,
}  # fmt: skip

SERVED_CONTROL: Mistakes = {
    "this is the mean over the clients of the round: divide the sum by N, the number of all":
        lambda s: s.control + (s.new - s.old).mean(0),
    "the changes are added up: divide their sum by N, the number of all clients":
        lambda s: s.control + (s.new - s.old).sum(0),
    "the change has the wrong sign: it is new minus old":
        lambda s: s.control - (s.new - s.old).sum(0) / s.clients,
    "the old c_i are not subtracted: c moves by their changes":
        lambda s: s.control + s.new.sum(0) / s.clients,
    "c is missing: add the change to it": lambda s: (s.new - s.old).sum(0) / s.clients,
    "this is the mean of the new c_i of the round: the other clients' c_i count as well":
        lambda s: s.new.mean(0),
    "this is the sum of the new c_i divided by N: the other clients' c_i count as well":
        lambda s: s.new.sum(0) / s.clients,
    "server_lr is for the model only": lambda s: s.control
        + s.server_lr * (s.new - s.old).sum(0) / s.clients,
    "c itself came back: return the next one": lambda s: s.control,
}  # fmt: skip


# --- ex02.3 ---------------------------------------------------------------------------------------


class Dyn(NamedTuple):
    """The arguments of `feddyn_server`."""

    w: Tensor
    W: Tensor
    h: Tensor
    alpha: float
    clients: int

    @property
    def change(self) -> Tensor:
        return (self.W - self.w).sum(0)


NEXT_H: Mistakes = {
    "this divides by the clients of the round: m is the number of all clients":
        lambda s: s.h - s.alpha * s.change / len(s.W),
    "alpha is missing: h moves by alpha/m times the sum": lambda s: s.h - s.change / s.clients,
    "this divides by alpha: h moves by alpha/m times the sum":
        lambda s: s.h - s.change / (s.alpha * s.clients),
    "this takes the mean of the w_i - w: take their sum":
        lambda s: s.h - s.alpha / s.clients * s.change / len(s.W),
    "the sum is not divided by m": lambda s: s.h - s.alpha * s.change,
    "the sign is wrong: subtract alpha/m times the sum of w_i - w":
        lambda s: s.h + s.alpha / s.clients * s.change,
    "the old h is missing: subtract from it": lambda s: -s.alpha / s.clients * s.change,
    "the sum is over w_i: take that over w_i - w":
        lambda s: s.h - s.alpha / s.clients * s.W.sum(0),
    "w_i - w is taken with the next w: h comes first, with the w that the clients received":
        lambda s: s.h - s.alpha / s.clients * (s.W - (s.W.mean(0) - s.h / s.alpha)).sum(0),
    "the two values are swapped: return first the model, then h":
        lambda s: s.W.mean(0) - s.h / s.alpha + s.change / s.clients,
    "h itself came back: return the next one": lambda s: s.h,
}  # fmt: skip

# Of the arguments and the student's own next h.
NEXT_W: Mistakes = {
    "this uses the old h: the next one belongs here": lambda s, h: s.W.mean(0) - s.h / s.alpha,
    "h/alpha has the wrong sign: subtract it": lambda s, h: s.W.mean(0) + h / s.alpha,
    "h is not divided by alpha": lambda s, h: s.W.mean(0) - h,
    "h is multiplied by alpha: divide it": lambda s, h: s.W.mean(0) - s.alpha * h,
    "h/alpha is missing: subtract it from the mean": lambda s, h: s.W.mean(0),
    "the sum of the w_i is divided by m: take their mean over the clients of the round":
        lambda s, h: s.W.sum(0) / s.clients - h / s.alpha,
    "the w_i are added up: take their mean": lambda s, h: s.W.sum(0) - h / s.alpha,
    "this subtracts h/alpha from the model that was sent out: start from the mean of the w_i":
        lambda s, h: s.w - h / s.alpha,
    "the two values are swapped: return first the model, then h":
        lambda s, h: s.h - s.alpha / s.clients * s.change,
    "w itself came back: return the next model": lambda s, h: s.w,
}  # fmt: skip


# --- ex02.4 ---------------------------------------------------------------------------------------


class Maml(NamedTuple):
    """The arguments of `maml_gradient`."""

    w: Tensor
    A_train: Tensor
    mu_train: Tensor
    A_val: Tensor
    mu_val: Tensor
    lr: float
    steps: int

    @property
    def train(self) -> Quadratic:
        return Quadratic(self.A_train, self.mu_train)

    @property
    def val(self) -> Quadratic:
        return Quadratic(self.A_val, self.mu_val)


def adapt(s: Maml) -> Tensor:
    """In closed form."""
    return descended(s.train, s.w, s.lr, s.steps, drift=torch.zeros_like(s.w))


def chain(s: Maml, gradient: Tensor) -> Tensor:
    """The product of the Jacobians of the steps, times a gradient."""
    return jacobian(s.A_train, s.lr, s.steps) @ gradient


def by_the_steps(s: Maml, gradient: Callable[[Tensor], Tensor]) -> Tensor:
    w = s.w
    for _ in range(s.steps):
        w = w - s.lr * gradient(w)
    return w


PRODUCT = "a matrix times a vector is A @ v, and A * v is a matrix again"
ADAPTED: Mistakes = {
    "there is only one step of adaptation: take K": lambda s: adapt(s._replace(steps=1)),
    "the steps go uphill: subtract lr times the gradient": lambda s: adapt(s._replace(lr=-s.lr)),
    "lr is missing: a step subtracts lr A_train (w - mu_train)": lambda s: adapt(s._replace(lr=1)),
    "this adapts on the validation loss: use A_train and mu_train":
        lambda s: by_the_steps(s, s.val.gradient),
    "A_val is mixed up with A_train: adapt on the training loss":
        lambda s: by_the_steps(s, lambda w: s.A_val @ (w - s.mu_train)),
    "mu_val is mixed up with mu_train: adapt on the training loss":
        lambda s: by_the_steps(s, lambda w: s.A_train @ (w - s.mu_val)),
    "the brackets are missing: the gradient is A (w - mu), not A w - mu":
        lambda s: by_the_steps(s, lambda w: s.A_train @ w - s.mu_train),
    "every gradient is taken at w: take it at the adapted model, which moves":
        lambda s: by_the_steps(s, lambda w: s.train.gradient(s.w)),
    f"w is multiplied entry by entry: {PRODUCT}":
        lambda s: by_the_steps(s, lambda w: s.A_train * (w - s.mu_train)),
    "w itself came back: adapt it by K steps": lambda s: s.w,
}  # fmt: skip

# Of the arguments and the student's own adapted model.
META: Mistakes = {
    "this is the first-order gradient at w_K: the Jacobians of the K steps are missing":
        lambda s, w_K: s.val.gradient(w_K),
    "one Jacobian I - lr A_train is there: each of the K steps has one":
        lambda s, w_K: chain(s._replace(steps=1), s.val.gradient(w_K)),
    "the power is taken entry by entry: ** is no product of matrices":
        lambda s, w_K: (torch.eye(len(s.w)) - s.lr * s.A_train) ** s.steps @ s.val.gradient(w_K),
    "this is I - K lr A_train: multiply K times by I - lr A_train":
        lambda s, w_K: chain(s._replace(steps=1, lr=s.steps * s.lr), s.val.gradient(w_K)),
    "the gradient of the validation loss is taken at w: take it at the adapted model w_K":
        lambda s, w_K: chain(s, s.val.gradient(s.w)),
    "this is the gradient of the validation loss at w, as if nothing had been adapted":
        lambda s, w_K: s.val.gradient(s.w),
    "the Jacobian has the wrong sign: it is I - lr A_train":
        lambda s, w_K: jacobian(s.A_train, -s.lr, s.steps) @ s.val.gradient(w_K),
    "lr is missing in the Jacobian I - lr A_train":
        lambda s, w_K: jacobian(s.A_train, 1.0, s.steps) @ s.val.gradient(w_K),
    "1 - lr A_train has a 1 in every entry: the Jacobian has the identity matrix, torch.eye":
        lambda s, w_K: torch.linalg.matrix_power(1 - s.lr * s.A_train, s.steps)
        @ s.val.gradient(w_K),
    "the Jacobian of the steps has A_train in it, not A_val":
        lambda s, w_K: jacobian(s.A_val, s.lr, s.steps) @ s.val.gradient(w_K),
    "A_train and A_val are swapped: the Jacobian has A_train, the last gradient A_val":
        lambda s, w_K: jacobian(s.A_val, s.lr, s.steps) @ (s.A_train @ (w_K - s.mu_val)),
    "the last gradient is that of the training loss: use A_val and mu_val":
        lambda s, w_K: chain(s, s.train.gradient(w_K)),
    "the last gradient has A_train in it: use A_val":
        lambda s, w_K: chain(s, s.A_train @ (w_K - s.mu_val)),
    "the last gradient has mu_train in it: use mu_val":
        lambda s, w_K: chain(s, s.A_val @ (w_K - s.mu_train)),
    "the order is turned round: first A_val, then the Jacobians":
        lambda s, w_K: s.A_val @ chain(s, w_K - s.mu_val),
    f"the last gradient is multiplied entry by entry: {PRODUCT}":
        lambda s, w_K: chain(s, s.A_val * (w_K - s.mu_val)),
    "the Jacobians are there but A_val is not": lambda s, w_K: chain(s, w_K - s.mu_val),
}  # fmt: skip
