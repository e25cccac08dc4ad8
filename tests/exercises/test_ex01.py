"""Exercise 1, federated averaging: 22 points."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import pytest
import torch
from experiment import check_interval, check_prediction, check_sentences, check_table
from support import real
from torch import Tensor

from fedlab_edu import Clients, LocalHP, linear, local_sgd
from fedlab_edu.experiments.drift import relative_drift
from fedlab_edu.methods import fedavg as package
from fedlab_edu.training import plan as engine
from fedlab_grade.checks import Failure, close, composite, tensor, unchanged
from fedlab_grade.student import Student

weighted_average = partial(pytest.mark.q, "ex01.1", function="weighted_average", minutes=10)
fedavg_round = partial(pytest.mark.q, "ex01.2", function="fedavg_round", minutes=40)
drift = partial(pytest.mark.q, "ex01.3", minutes=60)
with_average = composite(weighted_average=package.weighted_average)


# --- ex01.1 ---------------------------------------------------------------------------------------


def models(seed: int) -> tuple[Tensor, Tensor]:
    """Five drawn models of seven weights, and their clients' numbers of examples."""
    gen = torch.Generator().manual_seed(seed)
    W = torch.randn(5, 7, generator=gen, dtype=torch.float64)
    return W, torch.randint(1, 60, (5,), generator=gen).double()


def wrong_averages(W: Tensor, n: Tensor) -> dict[str, Tensor | list[Tensor]]:
    return {
        "this is the plain mean, in which all clients weigh the same: w_i counts n_i times":
            W.mean(0),
        "this is the first client's model: average the models of all clients": W[0],
        "sum(1) adds up the weights of each model: add up over the clients, axis 0": W.sum(1),
        "n[:, None] * W is not yet added up over the clients, axis 0": n[:, None] * W,
        "this is the sum of n_i w_i: it is not yet divided by the sum of all n_i": n @ W,
        "the sum of n_i w_i is divided by the number of clients, not by the sum of all n_i":
            n @ W / len(n),
        "this is the sum of the models: the numbers of examples do not count": W.sum(0),
        "the weights are upside down: a client with more examples weighs less":
            (1 / n) @ W / (1 / n).sum(),
        "the average runs over the weights of a model: it must run over the clients":
            W.mean(1),
    }  # fmt: skip


@weighted_average(points=1, aspect="by hand, and drawn models as in the package")
def test_average_is_that_of_the_package(student: Student) -> None:
    W, n = real([1, 2], [3, 6]), real(1, 3)
    close(student.call("weighted_average", W, n), real(2.5, 5), wrong_averages(W, n))
    for W, n in (models(1), models(2), (models(3)[0][:1], real(4))):
        answer = student.call("weighted_average", W, n)
        close(answer, package.weighted_average(W, n), wrong_averages(W, n))


@weighted_average(
    points=1, aspect="the scale of n changes nothing; arguments untouched", invariant=True
)
def test_average_does_not_depend_on_the_scale_of_n(student: Student) -> None:
    W, n = models(4)
    once = tensor(student.call("weighted_average", W, n), like=W[0])
    wrong = {"divide by the sum of all n_i, which grows along": 7 * once}
    answer = student.call("weighted_average", W, 7 * n)
    close(answer, once, wrong, rule="Multiplying every n_i by 7 must change nothing.")
    unchanged(answer)


# --- ex01.2 ---------------------------------------------------------------------------------------

Gradient = Callable[[Tensor, Tensor, Tensor], Tensor]


class Setting(NamedTuple):
    """The arguments of a round."""

    w: Tensor
    clients: list[tuple[Tensor, Tensor]]
    orders: list[list[Tensor]]
    lr: float
    batch: int
    gradient: Gradient


def to_the_mean(w: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """The gradient of the mean over the examples of (w - y)^2 / 2; x plays no part."""
    refuse_odd_minibatches(x, y)
    return w - y.mean()


def refuse_odd_minibatches(x: Tensor, y: Tensor) -> None:
    if len(x) != len(y):
        raise ValueError(f"gradient was given {len(x)} inputs and {len(y)} targets")
    if len(x) == 0:
        raise ValueError("gradient was given an empty minibatch")


MODEL, SIZES, EPOCHS = linear(6, 4), (3, 12, 1, 7), 2


def cross_entropy(w: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """The gradient of softmax regression, written out: w is the weights (6, 4) and biases (4,)."""
    refuse_odd_minibatches(x, y)
    weights, biases = w[:24].view(6, 4), w[24:]
    error = (x @ weights + biases).softmax(1) - torch.eye(4, dtype=x.dtype)[y]
    return torch.cat([(x.T @ error).flatten(), error.sum(0)]) / len(y)


def federation() -> Clients:
    gen = torch.Generator().manual_seed(7)
    x = torch.randn(sum(SIZES), 6, generator=gen, dtype=torch.float64)
    y = torch.randint(4, (sum(SIZES),), generator=gen)
    return Clients(x, y, torch.arange(sum(SIZES)).split(SIZES))


def drawn(lr: float = 0.3) -> Setting:
    """Softmax regression, four clients with 1 to 12 examples, two epochs, minibatches of 4."""
    train = federation()
    clients = [train.examples(i) for i in range(len(SIZES))]
    orders = [list(engine.shuffles(n, EPOCHS, seed=i)) for i, n in enumerate(SIZES)]
    return Setting(MODEL.init(8).double(), clients, orders, lr, 4, cross_entropy)


def by_hand(*targets: list[float], orders: list[list[list[int]]]) -> Setting:
    clients = [(torch.zeros(len(y), 1, dtype=torch.float64), real(*y)) for y in targets]
    tensors = [[torch.tensor(order) for order in epochs] for epochs in orders]
    return Setting(real(0), clients, tensors, 0.5, 2, to_the_mean)


def trained(
    s: Setting, w: Tensor, client: int, into: Callable[[Tensor], Sequence[Tensor]] | None = None
) -> Tensor:
    """The client's model after its epochs; ``into`` makes minibatches of an order."""
    x, y = s.clients[client]
    for order in s.orders[client]:
        for rows in (into or partial(torch.split, split_size_or_sections=s.batch))(order):
            if len(rows):
                w = w - s.lr * s.gradient(w, x[rows], y[rows])
    return w


def wrong_rounds(s: Setting) -> dict[str, Tensor | list[Tensor]]:
    every = range(len(s.clients))
    n = real(*(len(y) for _, y in s.clients))
    p = n / n.sum()

    def average(s: Setting) -> Tensor:
        return p @ torch.stack([trained(s, s.w, i) for i in every])

    def orders(change: Callable[[list[Tensor]], list[Tensor]]) -> Tensor:
        return average(s._replace(orders=[change(epochs) for epochs in s.orders]))

    def split(into: Callable[[Tensor], Sequence[Tensor]]) -> Tensor:
        return p @ torch.stack([trained(s, s.w, i, into) for i in every])

    def whole(order: Tensor) -> Tensor:
        return order[: len(order) // s.batch * s.batch]

    W = torch.stack([trained(s, s.w, i) for i in every])
    chain = [s.w]
    for i in every:
        chain.append(trained(s, chain[-1], i))
    at_w = average(s._replace(gradient=lambda w, x, y: s.gradient(s.w, x, y)))
    full = torch.stack([s.gradient(s.w, x, y) for x, y in s.clients])
    one_after_another = "the clients train one after another: each must start from w itself"
    return {
        "this is the plain mean of the clients' models: weigh them by their numbers of examples":
            W.mean(0),
        one_after_another: p @ torch.stack(chain[1:]),
        f"{one_after_another}, and there is no average": chain[-1],
        "this averages the clients' gradients at w: average their models after local training":
            s.w - s.lr * p @ full,
        "every gradient is taken at w: take it at the client's own model, which moves": at_w,
        "only the first epoch is run: a client has one order for each epoch":
            orders(lambda epochs: epochs[:1]),
        "only the last epoch counts: the next epoch goes on where the one before stopped":
            orders(lambda epochs: epochs[-1:]),
        "every epoch uses the first order: each has its own":
            orders(lambda epochs: [epochs[0]] * len(epochs)),
        "the examples are visited as they lie: use the given orders":
            orders(lambda epochs: [order.sort()[0] for order in epochs]),
        "the last short minibatch of an epoch is missing":
            orders(lambda epochs: [whole(order) for order in epochs]),
        "`batch` is the size of a minibatch, not their number":
            split(lambda order: order.chunk(s.batch)),
        "the minibatches overlap: the next one starts `batch` entries further on":
            split(lambda order: [order[i : i + s.batch] for i in range(len(order))]),
        "each minibatch is one entry short: the slice [a:b] already ends before b":
            split(lambda order: [order[i : i + s.batch - 1]
                for i in range(0, len(order), s.batch)]),
        "each epoch takes one step with its first minibatch only":
            split(lambda order: [order[: s.batch]]),
        "each epoch takes one step with all examples: it has a step for each minibatch":
            average(s._replace(batch=max(map(len, s.orders[0] + s.orders[-1])) + 99)),
        "the steps go uphill: subtract lr * gradient": average(s._replace(lr=-s.lr)),
        "this is the last client's model: average the models of all clients": W[-1],
        "this is the sum of the clients' models, not their average": W.sum(0),
        "this is the average of the changes w_i - w: add it to w": p @ W - s.w,
        "w itself came back: return the average of the clients' models": s.w,
    }  # fmt: skip


@fedavg_round(points=1, aspect="one client, one epoch: plain SGD, by hand")
@with_average
def test_round_of_one_client_by_hand(student: Student) -> None:
    s = by_hand([4, 8, 1], orders=[[[0, 1, 2]]])
    rule = (
        "With one client, targets y = [4, 8, 1] in this order, minibatches of 2, lr = 0.5 and "
        "gradient w - mean(y), w goes from 0 to 3 to 2."
    )
    close(student.call("fedavg_round", *s), real(2), wrong_rounds(s), rule)


@fedavg_round(points=2, aspect="two clients, two epochs, by hand")
@with_average
def test_round_of_two_clients_by_hand(student: Student) -> None:
    s = by_hand([2], [4, 8, 0], orders=[[[0], [0]], [[1, 2, 0], [2, 0, 1]]])
    rule = (
        "With targets [2] and [4, 8, 0], orders [0], [0] and [1, 2, 0], [2, 0, 1] and gradient "
        "w - mean(y), the clients end at 1.5 and 5.25."
    )
    close(student.call("fedavg_round", *s), real((1 * 1.5 + 3 * 5.25) / 4), wrong_rounds(s), rule)


@fedavg_round(points=3, aspect="softmax regression on four drawn clients, as in the package")
@with_average
def test_round_is_that_of_the_package(student: Student) -> None:
    s, train = drawn(), federation()
    c = LocalHP(lr=s.lr, batch=s.batch, epochs=EPOCHS)
    W = local_sgd(MODEL, s.w, train, c, seeds=list(range(len(SIZES))))
    want = package.weighted_average(W, train.n)
    close(student.call("fedavg_round", *s), want, wrong_rounds(s))


@fedavg_round(points=1, aspect="the clients' order changes nothing", invariant=True)
@with_average
def test_round_does_not_depend_on_the_order_of_the_clients(student: Student) -> None:
    s = drawn()
    once = tensor(student.call("fedavg_round", *s), like=s.w)
    require_a_move(once, s.w)
    other = [2, 0, 3, 1]
    t = s._replace(clients=[s.clients[i] for i in other], orders=[s.orders[i] for i in other])
    rule = "Listing the clients in another order must change nothing."
    close(student.call("fedavg_round", *t), once, wrong_rounds(t), rule)


@fedavg_round(points=1, aspect="lr = 0 gives w back; arguments untouched", invariant=True)
@with_average
def test_round_leaves_its_arguments_alone(student: Student) -> None:
    still = student.call("fedavg_round", *drawn(lr=0.0))
    close(still, drawn().w, rule="With lr = 0 every model stays where it is.")
    s = drawn()
    answer = student.call("fedavg_round", *s)
    require_a_move(tensor(answer, like=s.w), s.w)
    unchanged(answer)


def require_a_move(after: Tensor, before: Tensor) -> None:
    if torch.equal(after, before):
        raise Failure("fedavg_round returned w itself after a round with lr = 0.3: nothing moved.")


# --- ex01.3 ---------------------------------------------------------------------------------------

CONDITIONS, SEEDS = [(100.0, 1), (100.0, 8), (0.1, 1), (0.1, 8)], range(6)


@drift(points=1, function="predict_3", aspect="a prediction from the list")
def test_prediction(student: Student) -> None:
    check_prediction(student, "predict_3", ("grows", "stays", "shrinks"))


@drift(points=4, function="table_3", aspect="the table of all conditions and seeds")
def test_table(student: Student) -> None:
    check_table(student, "table_3", relative_drift, CONDITIONS, SEEDS)


@drift(points=4, function="interval_3", aspect="the interval of paired runs")
def test_interval(student: Student) -> None:
    check_interval(student, "interval_3")


@drift(points=3, function="reading_3", aspect="three sentences, which your instructor reads")
def test_sentences(student: Student, record_property: Callable[[str, str], None]) -> None:
    record_property("reading", check_sentences(student, "reading_3"))
