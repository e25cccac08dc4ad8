"""Exercise 1, federated averaging: 15 points."""

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import NamedTuple

import pytest
import torch
from support import real
from torch import Tensor

from fedlab_edu import Clients, LocalHP, linear, local_sgd
from fedlab_edu.methods import aggregate
from fedlab_edu.training import plan as engine
from fedlab_grade.checks import Failure, close, tensor, tensors, unchanged
from fedlab_grade.student import Student

weighted_average = partial(pytest.mark.q, "ex01.1", function="weighted_average")
minibatches = partial(pytest.mark.q, "ex01.2", function="minibatches")
fedavg_round = partial(pytest.mark.q, "ex01.3", function="fedavg_round")


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
        "this is the sum of n_i w_i: it is not yet divided by the sum of all n_i": n @ W,
        "the sum of n_i w_i is divided by the number of clients, not by the sum of all n_i":
            n @ W / len(n),
        "this is the sum of the models: the numbers of examples do not count": W.sum(0),
        "the weights are upside down: a client with more examples weighs less":
            (1 / n) @ W / (1 / n).sum(),
        "the average runs over the weights of a model: it must run over the clients":
            W.mean(1),
    }  # fmt: skip


@weighted_average(points=1, aspect="a case computed by hand")
def test_average_by_hand(student: Student) -> None:
    W, n = real([1, 2], [3, 6]), real(1, 3)
    answer = student.call("weighted_average", W, n)
    close(answer, real(2.5, 5), wrong_averages(W, n))


@weighted_average(points=1, aspect="five drawn models, as in the package")
def test_average_is_that_of_the_package(student: Student) -> None:
    for W, n in (models(1), models(2), (models(3)[0][:1], real(4))):
        answer = student.call("weighted_average", W, n)
        close(answer, aggregate.weighted_average(W, n), wrong_averages(W, n))


@weighted_average(points=1, aspect="only the proportions of n count, not its scale")
def test_average_does_not_depend_on_the_scale_of_n(student: Student) -> None:
    W, n = models(4)
    once = tensor(student.call("weighted_average", W, n), like=W[0])
    if once.abs().max() == 0:
        raise Failure("weighted_average(W, n) returned zeros for models that are not zero.")
    wrong = {"divide by the sum of all n_i, which grows along": 7 * once}
    answer = student.call("weighted_average", W, 7 * n)
    close(answer, once, wrong, rule="Multiplying every n_i by 7 must change nothing.")


@weighted_average(points=1, aspect="W and n are left as they were")
def test_average_leaves_its_arguments_alone(student: Student) -> None:
    W, n = models(5)
    answer = student.call("weighted_average", W, n)
    tensor(answer, like=W[0])
    unchanged(answer)


# --- ex01.2 ---------------------------------------------------------------------------------------


def by_the_package(order: Tensor, batch: int) -> list[Tensor]:
    return [row[row >= 0] for row in engine.minibatches(order[None], batch)]


def wrong_minibatches(order: Tensor, batch: int) -> dict[str, Tensor | list[Tensor]]:
    whole = [rows for rows in order.split(batch) if len(rows) == batch]
    padded = engine.minibatches(order[None], batch)
    plain = torch.arange(len(order))
    return {
        "the last short minibatch is missing: what is left over is kept": whole,
        "there is one minibatch too many, an empty one at the end":
            [*order.split(batch), order[:0]],
        "the last minibatch is filled up: it should only hold what is left": list(padded),
        "these are the positions 0, 1, 2, ...: take the entries of `order`":
            list(plain.split(batch)),
        "the minibatches overlap: the next one starts `batch` entries further on":
            [order[i : i + batch] for i in range(len(order))],
        "each minibatch is one entry short: the slice [a:b] already ends before b":
            [order[i : i + batch - 1] for i in range(0, len(order), batch)],
        "`batch` is the size of a minibatch, not their number": list(order.chunk(batch)),
        "there is no minibatch at all: a client with few examples has one short minibatch": [],
    }  # fmt: skip


def check_minibatches(student: Student, order: Tensor, batch: int) -> None:
    answer = student.call("minibatches", order, batch)
    close(answer, by_the_package(order, batch), wrong_minibatches(order, batch))


@minibatches(points=1, aspect="a case by hand, with a short minibatch at the end")
def test_minibatches_by_hand(student: Student) -> None:
    order = torch.tensor([3, 0, 4, 1, 2])
    want = [torch.tensor([3, 0]), torch.tensor([4, 1]), torch.tensor([2])]
    close(student.call("minibatches", order, 2), want, wrong_minibatches(order, 2))


@minibatches(points=1, aspect="no empty minibatch where the size divides n")
def test_minibatches_where_nothing_is_left_over(student: Student) -> None:
    check_minibatches(student, torch.tensor([5, 2, 0, 1, 4, 3]), 3)
    check_minibatches(student, torch.tensor([1, 0]), 2)


@minibatches(points=1, aspect="a client with fewer examples than a minibatch")
def test_minibatches_of_a_small_client(student: Student) -> None:
    check_minibatches(student, torch.tensor([2, 0, 1]), 10)
    check_minibatches(student, torch.tensor([0]), 4)


@minibatches(points=1, aspect="drawn orders, as in the package")
def test_minibatches_are_those_of_the_package(student: Student) -> None:
    gen = torch.Generator().manual_seed(6)
    for n, batch in product((1, 8, 23, 40), (1, 5, 8)):
        check_minibatches(student, torch.randperm(n, generator=gen), batch)


@minibatches(points=1, aspect="every position exactly once, and `order` is left as it was")
def test_minibatches_visit_every_position_once(student: Student) -> None:
    order = torch.randperm(23, generator=torch.Generator().manual_seed(7))
    for batch in (1, 5, 23, 40):
        answer = student.call("minibatches", order, batch)
        close(answer, by_the_package(order, batch))
        unchanged(answer)
        visited = [i for rows in tensors(answer) for i in rows.flatten().tolist()]
        for i in range(23):
            if (times := visited.count(i)) != 1:
                raise Failure(f"{answer} visits position {i} {times} times, expected once.")


# --- ex01.3 ---------------------------------------------------------------------------------------

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


def trained(s: Setting, w: Tensor, client: int) -> Tensor:
    x, y = s.clients[client]
    for order in s.orders[client]:
        for rows in order.split(s.batch) if len(order) else ():
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
        "each epoch takes one step with all examples: it has a step for each minibatch":
            average(s._replace(batch=max(map(len, s.orders[0] + s.orders[-1])) + 99)),
        "the steps go uphill: subtract lr * gradient": average(s._replace(lr=-s.lr)),
        "this is the last client's model: average the models of all clients": W[-1],
        "this is the sum of the clients' models, not their average": W.sum(0),
        "this is the average of the changes w_i - w: add it to w": p @ W - s.w,
        "w itself came back: return the average of the clients' models": s.w,
    }  # fmt: skip


@fedavg_round(points=1, aspect="one client, one epoch: plain SGD, by hand")
def test_round_of_one_client_by_hand(student: Student) -> None:
    s = by_hand([4, 8, 0], orders=[[[0, 1, 2]]])
    rule = (
        "With one client, targets y = [4, 8, 0] in this order, minibatches of 2, lr = 0.5 and "
        "gradient w - mean(y), w goes from 0 to 3 to 1.5."
    )
    close(student.call("fedavg_round", *s), real(1.5), wrong_rounds(s), rule)


@fedavg_round(points=2, aspect="two clients, two epochs, by hand")
def test_round_of_two_clients_by_hand(student: Student) -> None:
    s = by_hand([2], [4, 8, 0], orders=[[[0], [0]], [[0, 1, 2], [2, 0, 1]]])
    rule = (
        "With targets [2] and [4, 8, 0], orders [0], [0] and [0, 1, 2], [2, 0, 1] and gradient "
        "w - mean(y), the clients end at 1.5 and 4.875."
    )
    close(student.call("fedavg_round", *s), real((1 * 1.5 + 3 * 4.875) / 4), wrong_rounds(s), rule)


@fedavg_round(points=1, aspect="softmax regression on four drawn clients, as in the package")
def test_round_is_that_of_the_package(student: Student) -> None:
    s, train = drawn(), federation()
    c = LocalHP(lr=s.lr, batch=s.batch, epochs=EPOCHS)
    W = local_sgd(MODEL, s.w, train, c, seeds=list(range(len(SIZES))))
    want = aggregate.weighted_average(W, train.n)
    close(student.call("fedavg_round", *s), want, wrong_rounds(s))


@fedavg_round(points=1, aspect="the order in which the clients are listed changes nothing")
def test_round_does_not_depend_on_the_order_of_the_clients(student: Student) -> None:
    s = drawn()
    once = tensor(student.call("fedavg_round", *s), like=s.w)
    require_a_move(once, s.w)
    other = [2, 0, 3, 1]
    t = s._replace(clients=[s.clients[i] for i in other], orders=[s.orders[i] for i in other])
    rule = "Listing the clients in another order must change nothing."
    close(student.call("fedavg_round", *t), once, wrong_rounds(t), rule)


@fedavg_round(points=1, aspect="lr = 0 gives w back, and the arguments are left as they were")
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
