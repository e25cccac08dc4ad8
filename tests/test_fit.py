"""Models and data that do not fit together, in our words."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fedlab_edu import (
    Clients,
    LocalHP,
    Model,
    char_lstm,
    cnn_cifar,
    cnn_femnist,
    from_module,
    gradient,
    lenet5,
    linear,
    local_sgd,
    mlp,
    score,
)

Y = torch.arange(8) % 3
IMAGES = torch.rand(8, 8, 8)
TEXT = nn.Sequential(nn.Embedding(5, 2), nn.Flatten(), nn.Linear(4, 3))
MSE, BCE = nn.MSELoss(reduction="none"), nn.BCEWithLogitsLoss(reduction="none")


class Grey(nn.Sequential):
    """A network that checks its inputs."""

    def forward(self, x):
        if x.shape[1] != 1:
            raise KeyError("one channel")
        return super().forward(x)


MISFITS = {
    "a wrong width": (
        mlp(64, 32, 10), torch.rand(8, 7, 9), Y,
        r"shape of an example is \(7, 9\); allowed: what net\.1 takes, Linear\(in_features=64, "
        r"out_features=32, bias=True\), whose input here has shape \(2, 63\)",
    ),
    "images of another size": (
        lenet5(), torch.rand(8, 1, 32, 32), Y,
        r"shape of an example is \(1, 32, 32\); allowed: what net\.7 takes, Linear\(in_features=4",
    ),
    "images with more channels": (
        cnn_femnist(), torch.rand(8, 3, 28, 28), Y,
        r"shape of an example is \(3, 28, 28\); allowed: what net\.0 takes, Conv2d\(1, 32, ",
    ),
    "images without channels": (
        cnn_cifar(), torch.rand(8, 24, 24), Y,
        r"shape of an example is \(24, 24\); allowed: what net\.0 takes, Conv2d\(3, 64, ",
    ),
    "a wrong width for a network": (
        from_module(nn.Sequential(nn.Linear(6, 3))), torch.rand(8, 5), Y,
        r"shape of an example is \(5,\); allowed: what net\.0 takes, Linear\(in_features=6",
    ),
    "texts of another length": (
        from_module(TEXT), torch.full((8, 3), 4), Y,
        r"shape of an example is \(3,\); allowed: what net\.2 takes, Linear\(in_features=4, ",
    ),
    "images that a network of one's own refuses": (
        from_module(Grey(nn.Flatten(), nn.Linear(64, 3))), IMAGES, Y,
        r"shape of an example is \(8, 8\); allowed: what net takes, Grey, whose input here has "
        r"shape \(2, 8, 8\) \(KeyError: 'one channel'\)",
    ),
    "bytes": (
        linear(64, 10), (255 * IMAGES).byte(), Y,
        r"dtype of x is 'torch\.uint8'; allowed: torch\.float32, that of the weights; images are",
    ),
    "whole numbers": (
        from_module(nn.Sequential(nn.Flatten(), nn.Linear(64, 3))), (255 * IMAGES).long(), Y,
        r"dtype of x is 'torch\.int64'; allowed: torch\.float32",
    ),
    "real numbers for characters": (
        char_lstm(9, 2, 3), torch.rand(8, 5), Y,
        r"dtype of x is 'torch\.float32'; allowed: whole numbers, rows of a table",
    ),
    "real numbers for words": (
        from_module(TEXT), torch.rand(8, 2), Y,
        r"dtype of x is 'torch\.float32'; allowed: whole numbers, rows of a table",
    ),
    "unknown characters": (
        char_lstm(9, 2, 3), torch.full((8, 5), 9), Y,
        r"x is \[9, 9, 9\]; allowed: from 0 to 8, the rows of the table",
    ),
    "a column of labels": (
        linear(64, 3), IMAGES, Y[:, None],
        r"shape of the targets is \(8, 1\); allowed: \(8,\), one label for each example",
    ),
    "real labels": (
        linear(64, 3), IMAGES, Y.float(),
        r"shape of real targets is \(8,\); allowed: \(8, 3\), probabilities; or whole numbers",
    ),
    "too few outputs": (
        linear(64, 2), IMAGES, Y,
        r"range of the labels is \[0, 2\]; allowed: from 0 to 1, as the model has 2 outputs",
    ),
    "labels below 0": (
        linear(64, 3), IMAGES, Y - 1,
        r"range of the labels is \[-1, 1\]; allowed: from 0 to 2, as the model has 3 outputs",
    ),
    "targets for another loss": (
        from_module(nn.Sequential(nn.Flatten(), nn.Linear(64, 1)), BCE), IMAGES, Y,
        r"targets is 'torch\.int64 of shape \(2,\)'; allowed: what the loss takes with outputs of "
        r"shape \(2, 1\) \(Target size",
    ),
    "a loss that broadcasts": (
        from_module(nn.Sequential(nn.Flatten(), nn.Linear(64, 1)), MSE), IMAGES, Y.float()[:, None],
        r"shape of the loss is \(2, 1\); allowed: \(2,\)",
    ),
    "a loss that is one number": (
        from_module(nn.Sequential(nn.Flatten(), nn.Linear(64, 1)), lambda outputs, y: 1.0),
        IMAGES, Y.float(), "loss is 'float'; allowed: a Tensor: one number for each example",
    ),
    "a loss of NumPy's": (
        from_module(nn.Sequential(nn.Flatten(), nn.Linear(64, 1)), lambda outputs, y: y.numpy()),
        IMAGES, Y.float(), "loss is 'ndarray'; allowed: a Tensor: one number for each example",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISFITS)
def test_what_does_not_fit_the_model_is_named_before_training(name):
    model, x, y, message = MISFITS[name]
    clients = Clients(x, y, torch.arange(8).split([3, 5]))
    w, generator = model.init(), torch.get_rng_state()
    for use in (score, gradient, lambda m, w, c: local_sgd(m, w, c, LocalHP(), [0, 1])):
        with pytest.raises(ValueError, match=message) as caught:
            use(model, w, clients)
        assert "\n" not in str(caught.value)
    assert torch.equal(torch.get_rng_state(), generator)


def test_a_check_is_made_once_for_a_kind_of_examples_and_not_on_those_of_others():
    calls = []
    model = mlp(64, 3)

    def counted(p: list[Tensor], x: Tensor, drop: object = None) -> Tensor:
        calls.append(x.shape)
        return model.forward(p, x, drop)

    spied = Model(model.net, counted, model.shapes, model.flipped)
    x = IMAGES.clone()
    x[0] = torch.nan  # of no client
    clients = Clients(x, Y, (torch.arange(1, 4), torch.arange(4, 8)))
    score(spied, model.init(), clients)
    first = len(calls)
    score(spied, model.init(), clients)
    assert (first, len(calls)) == (3, 4)  # the check, the memory of one example, the scores


def wide(loss: Callable[[Tensor, Tensor], Tensor]) -> Model:
    return from_module(nn.Linear(2, 1), loss)


MIXING = {
    "a mean over broadcast pairs": lambda o, y: (o - y).square().mean(1),
    "a share of the number of examples": lambda o, y: (o[:, 0] - y) ** 2 / len(y),
    "centred losses": lambda o, y: (o[:, 0] - y) ** 2 - ((o[:, 0] - y) ** 2).mean(),
    "scaled targets": lambda o, y: (o[:, 0] - (y - y.mean()) / (y.std() + 1)) ** 2,
    "the neighbour's target": lambda o, y: (o[:, 0] - y.roll(1)) ** 2,
}


@pytest.mark.parametrize("name", MIXING)
def test_a_loss_that_mixes_examples_is_refused_as_it_would_mix_clients(name):
    # the first two targets are equal
    clients = Clients(
        torch.rand(6, 2), torch.tensor([1.0, 1, 2, 3, 4, 5]), torch.arange(6).split(3)
    )
    model = wide(MIXING[name])
    for act in (score, gradient):
        with pytest.raises(ValueError, match=r"^loss is 'one that mixes examples'; allowed: one"):
            act(model, model.init(0), clients)


def test_a_loss_that_mixes_vectors_is_refused_where_another_client_has_the_first_row():
    x, y = torch.rand(5, 2), torch.tensor([[9.0, 9], [1, 2], [1, 2], [3, 4], [5, 6]])
    clients = Clients(x, y, (torch.tensor([1, 2, 3]), torch.tensor([0, 4])))  # equal at first
    model = from_module(nn.Linear(2, 2), lambda o, y: (o - y + y.mean(0)).square().mean(1))
    with pytest.raises(ValueError, match=r"^loss is 'one that mixes examples'; allowed: one"):
        score(model, model.init(0), clients)


def test_a_loss_that_reads_weights_is_refused_as_they_would_be_constant():
    clients = Clients(torch.rand(6, 2), torch.arange(6) % 2, torch.arange(6).split(3))
    net, head = nn.Linear(2, 2), nn.Linear(2, 2)
    for loss in (
        lambda o, y: F.cross_entropy(o, y, reduction="none") + net.weight.abs().sum(),
        lambda o, y: F.cross_entropy(head(o), y, reduction="none"),
    ):
        model = from_module(net, loss)
        for act in (score, gradient):
            with pytest.raises(ValueError, match=r"^loss is 'one that reads trained weights'; all"):
                act(model, model.init(), clients)
    head.requires_grad_(False)
    expected = torch.stack([loss(net(x), y).mean() for x, y in map(clients.examples, range(2))])
    torch.testing.assert_close(score(model, model.init(), clients).loss, expected.detach().double())


@pytest.mark.parametrize("label", [-100, -1, 2])
def test_a_label_that_is_none_is_refused_where_others_were_checked_before(label):
    """PyTorch ignores examples with the label -100."""
    y = torch.arange(6) % 2
    clients = Clients(torch.rand(6, 2), y, torch.arange(6).split(3))
    for model in from_module(nn.Linear(2, 2)), linear(2, 2), mlp(2, 4, 2):
        w = model.init()
        for use in (score, gradient, lambda *of: local_sgd(*of, LocalHP(), [0, 1])):
            use(model, w, clients)
            wrong = replace(clients, y=y.index_fill(0, torch.tensor(5), label))
            with pytest.raises(ValueError, match=rf"^range of the labels is \[.*{label}"):
                use(model, w, wrong)


@dataclass
class Scaled:
    """A loss that has no hash, as it is a dataclass that may be changed."""

    scale: float

    def __call__(self, o: Tensor, y: Tensor) -> Tensor:
        return self.scale * F.cross_entropy(o, y, reduction="none")


def test_a_loss_may_be_an_object_without_a_hash():
    clients = Clients(torch.rand(6, 2), torch.arange(6) % 2, torch.arange(6).split(3))
    net = nn.Linear(2, 2)
    model, w = from_module(net, Scaled(3.0)), from_module(net).init()
    torch.testing.assert_close(
        gradient(model, w, clients), 3 * gradient(from_module(net), w, clients)
    )


def test_losses_of_single_examples_are_taken_in_any_precision():
    clients = Clients(torch.rand(6, 2), torch.rand(6), torch.arange(6).split([1, 5]))
    trained = []
    for precision in (torch.float32, torch.float64):
        model = wide(lambda o, y: (o[:, 0] - y).to(precision) ** 2)  # noqa: B023
        w = torch.tensor([0.5, -0.5, 0.1])
        trained.append(local_sgd(model, w, clients, LocalHP(batch=2), [0, 1]))
    torch.testing.assert_close(*trained)
    constant = Clients(torch.ones(1, 2), torch.ones(1), (torch.tensor([0]),))
    assert score(model, w, constant).loss.tolist() == pytest.approx([0.81])


def test_a_loss_without_a_derivative_is_scored_and_refused_in_training():
    clients = Clients(torch.rand(6, 2), torch.arange(6) % 2, torch.arange(6).split(3))
    model = from_module(nn.Linear(2, 2), lambda o, y: (o.argmax(1) != y).float())
    w = model.init(0)
    assert score(model, w, clients).loss.tolist() == score(linear(2, 2), w, clients).error.tolist()
    for act in (gradient, lambda *of: local_sgd(*of, LocalHP(), [0, 1])):
        with pytest.raises(ValueError, match=r"^loss is 'constant'; allowed: one that PyTorch can"):
            act(model, w, clients)
