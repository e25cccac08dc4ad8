"""ResNet-18: its weights counted, its sizes, and clients that train side by side as alone."""

import pickle

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from fedlab_edu import Clients, Federation, LocalHP, communicate, digits, start
from fedlab_edu.models.resnet import _Block, resnet18
from fedlab_edu.rounds.identity import identity


@pytest.fixture(scope="module")
def model():
    return resnet18(5)


def test_it_has_as_many_weights_as_the_layers_of_the_paper():
    def conv(i: int, o: int, k: int) -> int:  # and a scale and a shift for each channel
        return i * o * k * k + 2 * o

    stem = conv(3, 64, 7)
    first = 4 * conv(64, 64, 3)
    later = sum(
        conv(o // 2, o, 3) + 3 * conv(o, o, 3) + conv(o // 2, o, 1) for o in (128, 256, 512)
    )
    for classes in (1000, 7):
        assert resnet18(classes).d == stem + first + later + 513 * classes
    assert resnet18(1000).d == 11_689_512  # as ResNet-18 is known to have, with batch norm too
    assert resnet18().d == 11_180_103


def test_seventeen_convolutions_and_a_linear_layer_lie_one_after_the_other(model):
    net = model.net()
    convs = [m for m in net.modules() if isinstance(m, nn.Conv2d)]
    assert len([m for m in convs if m.kernel_size != (1, 1)]) == 17
    assert len([m for m in convs if m.kernel_size == (1, 1)]) == 3
    norms = [m for m in net.modules() if isinstance(m, nn.GroupNorm)]
    assert len(norms) == len(convs)
    assert not list(net.buffers())  # nothing but weights to be averaged


@pytest.mark.parametrize(("i", "o", "stride"), [(64, 64, 1), (64, 128, 2), (64, 64, 2)])
def test_a_block_is_two_normalised_convolutions_and_a_way_around_them(i, o, stride):
    gen = torch.Generator().manual_seed(4)
    block = _Block(i, o, stride).double()
    parts = [torch.randn(p.shape, generator=gen).double() for p in block.parameters()]
    nn.utils.vector_to_parameters(torch.cat([p.flatten() for p in parts]), block.parameters())
    W1, scale1, shift1, W2, scale2, shift2, *around = parts
    x = torch.randn(2, i, 6, 6, generator=gen).double()
    y = F.group_norm(F.conv2d(x, W1, stride=stride, padding=1), 32, scale1, shift1).relu()
    y = F.group_norm(F.conv2d(y, W2, padding=1), 32, scale2, shift2)
    assert len(around) == (0 if (i, stride) == (o, 1) else 3)
    if around:
        W, scale, shift = around
        x_around = F.group_norm(F.conv2d(x, W, stride=stride), 32, scale, shift)
    else:
        x_around = x
    torch.testing.assert_close(block(x), (y + x_around).relu(), rtol=1e-9, atol=1e-9)


def test_the_stages_have_the_sizes_of_the_papers_table():
    sizes = []
    net, x = resnet18(5).net().to("meta"), torch.zeros(1, 3, 224, 224, device="meta")
    for part in net:
        x = part(x)
        sizes.append(tuple(x.shape[1:]))
    assert sizes[0] == (64, 112, 112)
    assert sizes[4:12] == [
        size for size in [(64, 56, 56), (128, 28, 28), (256, 14, 14), (512, 7, 7)] for _ in range(2)
    ]
    assert sizes[-1] == (5,)


def test_models_side_by_side_say_what_each_says_alone(model):
    W = torch.stack([model.init(0), model.init(1)]).double()
    x = torch.rand(2, 3, 3, 32, 32, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    together = model.outputs(W, x)
    assert together.shape == (2, 3, 5)
    for w, its, seen in zip(W, x, together, strict=True):
        torch.testing.assert_close(seen, model.unflatten(w)(its), rtol=1e-9, atol=1e-9)
    assert not torch.allclose(together[0], model(W[1], x[0]))


def test_an_example_is_scored_the_same_whatever_else_is_in_its_batch(model):
    w, gen = model.init(0).double(), torch.Generator().manual_seed(1)
    x = torch.rand(4, 3, 32, 32, dtype=torch.float64, generator=gen)
    torch.testing.assert_close(model(w, x)[:1], model(w, x[:1]), rtol=1e-9, atol=1e-9)


def test_the_gradient_reaches_every_weight_tensor(model):
    w = model.init(0)[None].requires_grad_()
    gen = torch.Generator().manual_seed(2)
    outputs = model.outputs(w, torch.rand(1, 2, 3, 64, 64, generator=gen))
    model.losses(outputs[0], torch.tensor([1, 3])).sum().backward()
    assert w.grad is not None
    for part in model.views(w.grad):
        assert part.isfinite().all()
        assert part.abs().max() > 0


def test_a_round_of_tiny_images_is_that_of_a_plain_loop_of_sgd(model):
    gen = torch.Generator().manual_seed(3)
    x, y = torch.rand(8, 3, 32, 32, generator=gen).double(), torch.arange(8) % 5
    part = Clients(x, y, (torch.arange(4), torch.arange(4, 8)))
    fed = Federation(part, part, part, ("photos", "sketches"), 5)
    begun = start(model, fed, LocalHP(lr=0.05, batch=4))
    after = communicate(begun, model, fed, 2)
    mean = torch.zeros_like(begun.w)
    for i in range(2):
        net = model.unflatten(begun.w)
        loss = nn.functional.cross_entropy(net(part.examples(i)[0]), part.examples(i)[1])
        loss.backward()
        step = torch.cat([p.detach().flatten() - 0.05 * p.grad.flatten() for p in net.parameters()])
        mean += step / 2
    torch.testing.assert_close(after.w, mean, rtol=1e-8, atol=1e-10)
    assert after.history[0].after.loss.isfinite().all()


def test_no_class_is_refused():
    for classes in (0, 10**6 + 1):
        with pytest.raises(
            ValueError, match=f"classes is {classes}; allowed: a whole number of at"
        ):
            resnet18(classes)


def test_what_was_drawn_before_it_was_made_does_not_make_it_another_network():
    fed = digits(clients=14)
    one = identity(resnet18(5), fed)
    torch.rand(3)
    before = torch.get_rng_state()
    again = pickle.loads(pickle.dumps(resnet18(5)))
    assert torch.equal(torch.get_rng_state(), before)
    assert identity(again, fed) == one
