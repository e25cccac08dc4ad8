"""Layers with a client axis: draws against Python's integers, LSTMs against ``nn.LSTM``."""

from collections.abc import Iterator
from itertools import islice

import pytest
import torch
from scipy import stats
from torch import Tensor, nn
from torch.func import vmap

from fedlab_edu.models import layers
from fedlab_edu.models.layers import Drop, dropout, embedding, max_pool2d, mix
from fedlab_edu.models.lstm import batched_lstm

F64 = torch.float64


def splitmix64(seed: int) -> Iterator[int]:
    """The generator as its authors write it: a state, and numbers without a sign."""
    state = seed % 2**64
    while True:
        state = (state + 0x9E3779B97F4A7C15) % 2**64
        z = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
        yield z ^ z >> 31


def masks(drop: Drop, place: int, shape: tuple[int, ...]) -> Tensor:
    """Return the factors of dropout for x_i (b, ...) of each client, entry by entry."""
    of_client = []
    for seed, rate in zip(drop.seed.tolist(), drop.rate.tolist(), strict=True):
        key = next(islice(splitmix64(seed), place, None))
        draws = islice(splitmix64(key), torch.Size(shape).numel())
        kept = [(z >> 11) / 2**53 >= rate for z in draws]
        of_client.append(torch.tensor(kept, dtype=F64).view(shape) / (1 - rate))
    return torch.stack(of_client)


def drop_of(rates: list[float], first: int = 0) -> Drop:
    seeds = torch.arange(first, first + len(rates))
    return Drop(mix(seeds, 7), torch.tensor(rates, dtype=F64))


def test_outputs_1_to_5_of_seed_1234567_are_the_published_ones():
    published = [
        6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431,
        16408922859458223821,
    ]  # fmt: skip
    drawn = mix(torch.tensor(1234567), torch.arange(5))
    assert [z % 2**64 for z in drawn.tolist()] == published


@pytest.mark.parametrize("seed", [0, 1, -1, 2**62 + 12345, 2**63 - 1, -(2**63)])
def test_mix_is_splitmix64_in_the_integers_of_python(seed):
    expected = list(islice(splitmix64(seed), 100))
    drawn = mix(torch.full((100,), seed), torch.arange(100))
    assert [z % 2**64 for z in drawn.tolist()] == expected
    one = torch.tensor([seed])
    assert [mix(one, t).item() % 2**64 for t in range(100)] == expected


@pytest.mark.parametrize("place", [0, 3])
def test_what_is_kept_is_what_the_integers_of_python_say(place):
    drop = drop_of([0.0, 0.1, 0.5, 0.99])
    x = torch.randn(4, 6, 5, 2, dtype=F64)
    expected = x * masks(drop, place, (6, 5, 2))
    torch.testing.assert_close(dropout(x, drop, place), expected, rtol=1e-15, atol=0)


def test_a_draw_that_equals_the_rate_is_kept_and_one_below_it_is_dropped():
    drop = drop_of([0.0])
    key = next(splitmix64(int(drop.seed)))
    u = (next(splitmix64(key)) >> 11) / 2**53
    x = torch.ones(1, 1, 1, dtype=F64)
    for rate, kept in ((u, True), (u + 2**-53, False)):
        drop = Drop(drop.seed, torch.tensor([rate], dtype=F64))
        assert bool(dropout(x, drop).item()) is kept


def test_draws_are_uniform_over_entries_steps_and_clients():
    seeds = torch.arange(50)
    for of in (
        mix(mix(mix(seeds[0], 0), 0), torch.arange(100_000)),  # the entries of one step
        mix(mix(mix(seeds[0], torch.arange(100_000)), 0), 0),  # one entry over the steps
        mix(mix(mix(torch.arange(100_000), 0), 0), 0),  # one entry of many clients
        mix(mix(mix(seeds, 3)[:, None], 1), torch.arange(2000)).flatten(),
    ):
        high = ((of >> 57) & 127).bincount(minlength=128)
        low = ((of >> 11) & 127).bincount(minlength=128)
        for counts in (high, low):
            assert stats.chisquare(counts.numpy()).pvalue > 1e-3


@pytest.mark.parametrize("rate", [0.05, 0.3, 0.5, 0.9])
def test_the_kept_fraction_is_1_less_the_rate_and_the_mean_is_preserved(rate):
    n = 400 * 250
    out = dropout(torch.ones(1, 400, 250, dtype=F64), drop_of([rate]))
    kept = (out != 0).sum().item()
    assert abs(kept - n * (1 - rate)) < 4 * (n * rate * (1 - rate)) ** 0.5
    deviation = (rate / (1 - rate) / n) ** 0.5  # of the mean
    assert abs(out.mean().item() - 1) < 4 * deviation


def test_at_rate_0_nothing_changes_and_without_a_drop_nothing_is_touched():
    x = torch.randn(2, 3, 4)
    assert torch.equal(dropout(x, drop_of([0.0, 0.0])), x)
    assert dropout(x, None) is x


def test_a_client_drops_the_same_whatever_the_padding_and_the_company():
    drop = drop_of([0.2, 0.5, 0.7])
    x = torch.randn(3, 8, 5, dtype=F64)
    whole = dropout(x, drop)
    assert torch.equal(dropout(x[:, :3], drop), whole[:, :3])
    for i in range(3):
        alone = Drop(drop.seed[[i]], drop.rate[[i]])
        assert torch.equal(dropout(x[[i]], alone), whole[[i]])


def test_clients_steps_places_and_rows_drop_differently():
    x = torch.ones(1, 2, 64)
    rate = torch.tensor([0.5])
    first, second = torch.tensor([1]), torch.tensor([2])
    rows = [
        dropout(x, Drop(mix(seed, t), rate), place)[0, row] != 0
        for seed in (first, second)
        for t in (0, 1)
        for place in (0, 1)
        for row in (0, 1)
    ]
    for i, a in enumerate(rows):
        for b in rows[:i]:  # half of 64 differ on average, with a deviation of 4
            assert 12 < (a != b).sum() < 52


def test_the_gradient_flows_through_what_is_kept_alone():
    drop = drop_of([0.25, 0.5])
    x = torch.randn(2, 3, 4, dtype=F64, requires_grad=True)
    (gradient,) = torch.autograd.grad(dropout(x, drop).sum(), x)
    torch.testing.assert_close(gradient, masks(drop, 0, (3, 4)), rtol=1e-15, atol=0)


def test_float32_entries_are_kept_where_float64_ones_are():
    drop = drop_of([0.1, 0.6])
    x = torch.ones(2, 30, 40, dtype=F64)
    single = dropout(x.float(), drop)
    assert single.dtype == torch.float32
    torch.testing.assert_close(single.double(), dropout(x, drop), rtol=1e-6, atol=0)


def test_inside_vmap_a_client_drops_what_it_drops_outside():
    drop = drop_of([0.2, 0.5, 0.7])
    x = torch.randn(3, 4, 5, dtype=F64)
    inside = vmap(lambda x, drop: dropout(x, drop, 2))(x, drop)
    assert torch.equal(inside, dropout(x, drop, 2))


def test_squares_that_overlap_and_reach_beyond_the_edge_take_the_largest_inside():
    x = torch.arange(16.0).view(1, 1, 1, 4, 4)
    assert max_pool2d(x, 3, 2, ceil=True).tolist() == [[[[[10, 11], [14, 15]]]]]
    assert max_pool2d(x, 3, 2).tolist() == [[[[[10]]]]]
    assert max_pool2d(x, 2).tolist() == [[[[[5, 7], [13, 15]]]]]


@pytest.mark.parametrize("wrong", [-1, 5, 300])
def test_a_character_that_is_not_in_the_table_is_refused(wrong):
    table = torch.randn(2, 5, 3)
    x = torch.tensor([[[0, 4]], [[1, wrong]]])
    with pytest.raises(ValueError, match=rf"x is \[{wrong}\]; allowed: from 0 to 4, the rows"):
        embedding(x, table)


def test_a_table_may_have_more_rows_than_a_byte_counts_and_a_batch_no_example():
    table = torch.arange(300.0).view(1, 300, 1)
    x = torch.tensor([[[0, 255]]], dtype=torch.uint8)
    assert embedding(x, table).flatten().tolist() == [0, 255]
    assert embedding(x[:, :0], table).shape == (1, 0, 2, 1)


@pytest.mark.parametrize("padding", [1, -1, -5])
def test_the_padding_row_of_every_table_gets_no_gradient(padding):
    table = torch.randn(3, 5, 2, dtype=F64, requires_grad=True)
    x = torch.tensor([[[0, 1], [1, 4]], [[1, 1], [4, 0]], [[3, 0], [2, 4]]])
    (gradient,) = torch.autograd.grad((embedding(x, table, padding) ** 2).sum(), table)
    plain = [torch.nn.functional.embedding(x[i], table[i], padding) for i in range(3)]
    (expected,) = torch.autograd.grad((torch.stack(plain) ** 2).sum(), table)
    assert torch.equal(gradient, expected)
    assert not gradient[:, padding].any()


def test_every_client_may_look_up_ids_of_any_number_of_dimensions():
    table = torch.randn(2, 5, 3)
    for shape in (2,), (2, 4), (2, 4, 3, 2):
        x = torch.randint(5, shape)
        assert torch.equal(embedding(x, table), torch.stack([table[i][x[i]] for i in range(2)]))


def lstm_case(
    B: int, b: int, T: int, depth: int
) -> tuple[list[nn.LSTM], Tensor, Tensor, list[Tensor]]:
    """Plain LSTMs (E = 3, H = 4), their inputs (B, b, T, E), a direction, stacked weights."""
    torch.manual_seed(B + 10 * b + 100 * T)
    nets = [nn.LSTM(3, 4, depth, batch_first=True, dtype=F64) for _ in range(B)]
    weights = zip(*(net.parameters() for net in nets), strict=True)
    stacked = [torch.stack(w).detach().requires_grad_() for w in weights]
    x = torch.randn(B, b, T, 3, dtype=F64, requires_grad=True)
    return nets, x, torch.randn(B, b, T, 4, dtype=F64), stacked


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize(("B", "b", "T"), [(3, 2, 5), (1, 4, 7), (4, 1, 3), (2, 3, 1), (1, 1, 1)])
def test_a_batched_lstm_and_its_gradients_are_those_of_nn_lstm_to_1e_12(B, b, T, depth):
    nets, x, direction, weights = lstm_case(B, b, T, depth)
    out = batched_lstm(x, *weights)
    gradients = torch.autograd.grad((out * direction).sum(), [x, *weights])
    for i, net in enumerate(nets):
        x_i = x[i].detach().requires_grad_()
        expected = net(x_i)[0]
        torch.testing.assert_close(out[i], expected, rtol=0, atol=1e-12)
        plain = torch.autograd.grad((expected * direction[i]).sum(), [x_i, *net.parameters()])
        for mine, theirs in zip(gradients, plain, strict=True):
            torch.testing.assert_close(mine[i], theirs, rtol=0, atol=1e-12)


def test_the_gradient_of_the_last_state_alone_is_that_of_nn_lstm():
    (net,), x, direction, weights = lstm_case(1, 2, 6, 2)
    last = (batched_lstm(x, *weights)[:, :, -1] * direction[:, :, -1]).sum()
    plain = (net(x[0])[0][:, -1] * direction[0, :, -1]).sum()
    mine = torch.autograd.grad(last, weights)
    for a, b in zip(mine, torch.autograd.grad(plain, list(net.parameters())), strict=True):
        torch.testing.assert_close(a[0], b, rtol=0, atol=1e-12)


def test_an_lstm_in_bfloat16_is_nn_lstm_in_bfloat16_and_its_gradients_keep_their_dtype():
    nets, x, direction, weights = lstm_case(2, 3, 5, 2)
    out = layers.lstm(x, *weights, dtype=torch.bfloat16)
    gradients = torch.autograd.grad((out * direction).sum(), [x, *weights])
    assert {out.dtype, *(g.dtype for g in gradients)} == {F64}
    batched = batched_lstm(x.bfloat16(), *(w.bfloat16() for w in weights)).double()
    torch.testing.assert_close(out, batched, rtol=0, atol=2**-6)
    for i, net in enumerate(nets):
        rounded = net.to(torch.bfloat16)
        expected = rounded(x[i].detach().bfloat16())[0]
        torch.testing.assert_close(out[i], expected.double(), rtol=0, atol=2**-8)
        plain = torch.autograd.grad((expected * direction[i]).sum(), list(rounded.parameters()))
        for mine, theirs in zip(gradients[1:], plain, strict=True):
            assert (mine[i] - theirs).norm() <= 2**-5 * theirs.double().norm()


def test_a_batched_lstm_refuses_to_be_differentiated_twice():
    _, x, _, weights = lstm_case(1, 2, 3, 1)
    loss = (batched_lstm(x, *weights) ** 2).sum()
    with pytest.raises(RuntimeError, match="batched_lstm cannot be differentiated twice"):
        torch.autograd.grad(loss, x, create_graph=True)


def test_the_loop_serves_the_cpu_and_the_batched_lstm_every_other_device(monkeypatch):
    _, x, _, weights = lstm_case(2, 3, 4, 2)
    here = layers.lstm(x, *weights)
    torch.testing.assert_close(here, batched_lstm(x, *weights), rtol=0, atol=1e-12)
    loops = []
    monkeypatch.setattr(torch, "lstm", lambda *_: loops.append(1))
    away = layers.lstm(x.to("meta"), *(w.to("meta") for w in weights))
    assert away.shape == here.shape
    assert loops == []
