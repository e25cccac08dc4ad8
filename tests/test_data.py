"""Clients, partitions and sources: who owns what, by counting and by laws."""

import collections
import string
from fractions import Fraction
from math import floor

import pytest
import torch

from fedlab_edu import Clients, Federation, digits, shakespeare
from fedlab_edu.data import (
    by_group,
    decode,
    digit_images,
    dirichlet,
    encode,
    enough,
    federate,
    iid,
    roles,
    split,
)  # fmt: skip
from fedlab_edu.data.shakespeare import VOCABULARY, speeches, spoken, squeeze, windowed
from tests.reference import windows
from tests.vectors import case


def gen(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def owners(fed: Federation) -> collections.Counter[int]:
    """How often each example appears among all clients' training, validation and test data."""
    parts = (fed.train, fed.val, fed.test)
    return collections.Counter(int(r) for part in parts for rows in part.rows for r in rows)


def pairs_of(fed: Federation, client: int) -> list[tuple[str, str]]:
    """A client's windows in all parts, each with the character after it."""
    return [
        (decode(x), decode(y[None]))
        for part in (fed.train, fed.val, fed.test)
        for x, y in zip(*part.examples(client), strict=True)
    ]


# ------------------------------------------------------------------------------ text and splits


@pytest.mark.parametrize("name", ["windows-0", "windows-1"])
def test_windows_follow_the_independent_vectors(name):
    given, expected = case("data", name)
    pairs = windows(squeeze(given["text"]), given["length"])
    assert [list(pair) for pair in pairs] == expected["pairs"]
    if pairs:
        fed = windowed({"a role": squeeze(given["text"])}, given["length"], 1, False, None)
        assert pairs_of(fed, 0) == pairs


def test_a_step_takes_every_third_window():
    fed = windowed({"a role": "abcdefghijkl"}, 2, 3, False, None)
    assert pairs_of(fed, 0) == [("ab", "c"), ("de", "f"), ("gh", "i"), ("jk", "l")]


def test_splits_and_the_client_filter_follow_the_independent_vectors():
    given, expected = case("data", "splits")
    assert [[list(b) for b in split(m)] for m in given["m"]] == expected["bounds"]
    assert [enough(m) for m in given["m"]] == expected["kept"]


def test_rounding_takes_no_example_from_a_part_of_a_split():
    """1 - 0.4 - 0.4 is 0.19999999999999996."""
    for val in range(21):
        for test in range(21 - val):
            shares = [Fraction(k, 20) for k in (20 - val - test, val, test)]
            for n in range(1, 101):
                cuts = [floor(shares[0] * n), floor((1 - shares[2]) * n)]
                expected = [(0, cuts[0]), (cuts[0], cuts[1]), (cuts[1], n)]
                assert split(n, [*map(float, shares)]) == expected
            least = min(share for share in shares if share)
            assert [n for n in range(1, 25) if enough(n, [*map(float, shares)])] == [
                n for n in range(1, 25) if n * least >= 1
            ]


def test_gaps_follow_the_independent_vectors():
    given, expected = case("data", "gaps")
    bounds = [[list(b) for b in split(m, gap=length)] for m, length in given["m_length"]]
    assert bounds == expected["bounds"]


@pytest.mark.parametrize("fractions", [(0.8, 0.1), (0.9, 0.2, -0.1), (0.5, 0.1, 0.1)])
def test_fractions_that_are_none_are_refused(fractions):
    with pytest.raises(ValueError, match=r"fractions is \(.*allowed: three numbers"):
        split(10, fractions)


# --------------------------------------------------------------------------------- partitions


def test_equal_parts_differ_by_one_example_at_most_and_share_none():
    parts = iid(103, 10, gen())
    assert sorted(torch.cat(parts).tolist()) == list(range(103))
    assert {len(p) for p in parts} == {10, 11}


def test_groups_are_cut_into_consecutive_parts():
    parts = by_group(torch.tensor([5, 5, 5, 5, 2, 2, 5]), parts=2)
    assert [p.tolist() for p in parts] == [[4], [5], [0, 1, 2], [3, 6]]


@pytest.mark.parametrize("alpha", [0.05, 0.3, 1, 100])
def test_label_skew_gives_each_example_to_exactly_one_client_and_each_client_enough(alpha):
    y = digit_images()[1]
    parts = dirichlet(y, 12, alpha, gen(), minimum=3)
    assert sorted(torch.cat(parts).tolist()) == list(range(len(y)))
    assert min(len(p) for p in parts) >= 3


@pytest.mark.parametrize("alpha", [0.1, 1.0, 10.0])
def test_the_shares_of_a_class_have_the_mean_and_variance_of_the_dirichlet_law(alpha):
    clients, classes, each, draws = 4, 50, 200, 60
    y = torch.arange(classes).repeat_interleave(each)
    shares = [
        torch.stack([y[p].bincount(minlength=classes) for p in parts]).double() / each
        for parts in (dirichlet(y, clients, alpha, gen(i), minimum=0) for i in range(draws))
    ]
    counts = torch.cat(shares, dim=1)  # (clients, classes * draws)
    mean = 1 / clients
    variance = mean * (1 - mean) / (clients * alpha + 1)
    # 5 standard errors; the kurtosis of a share, a beta variable, is below 4 for these alpha
    n = counts.shape[1]
    error_of_mean, error_of_variance = (variance / n) ** 0.5, variance * (3 / n) ** 0.5
    assert counts.mean(1).tolist() == pytest.approx([mean] * clients, abs=5 * error_of_mean)
    assert counts.var(1).tolist() == pytest.approx([variance] * clients, abs=5 * error_of_variance)


def test_which_of_a_classes_examples_a_client_gets_is_drawn_too():
    y = torch.zeros(100, dtype=torch.long)
    one, other = dirichlet(y, 2, alpha=1e6, gen=gen(0))
    assert len(one) == 50
    assert sorted(one.tolist()) != list(range(50))
    assert sorted(torch.cat([one, other]).tolist()) == list(range(100))


def test_each_clients_images_are_mixed_before_they_are_split():
    for rows in digits().train.rows[:3]:
        assert rows.tolist() != sorted(rows.tolist())


def test_a_small_alpha_leaves_clients_few_classes_and_a_large_one_all():
    y = digit_images()[1]

    def classes(alpha: float) -> float:
        parts = dirichlet(y, 10, alpha, gen(3))
        return sum(len(y[p].unique()) for p in parts) / 10

    assert classes(0.05) < 5 < 9.9 < classes(1000)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"alpha": 0.0}, r"alpha is 0\.0; allowed: a finite number above 0"),
        ({"clients": 0}, "clients is 0; allowed: a whole number of at least 1"),
        ({"minimum": -1}, "minimum is -1; allowed: a whole number of at least 0"),
        ({"clients": 5, "tries": 1}, r"alpha is 1\.0; allowed: a value at which 5 clients get 2"),
        ({"clients": 6}, "clients is 6; allowed: up to 5, with 2 of 10 examples each"),
    ],
)
def test_label_skew_that_cannot_be_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        dirichlet(torch.arange(10), **{"clients": 2, "alpha": 1.0, "gen": gen(), **arguments})


# ---------------------------------------------------------------------- clients and federations


def clients(*sizes: int) -> Clients:
    n = sum(sizes)
    return Clients(torch.arange(n).float()[:, None], torch.arange(n), torch.arange(n).split(sizes))


def test_padding_repeats_a_clients_own_first_example():
    x, y, n = clients(3, 1).padded()
    assert y.tolist() == [[0, 1, 2], [3, 3, 3]]
    assert x[..., 0].tolist() == y.tolist()
    assert n.tolist() == [3, 1]
    with pytest.raises(ValueError, match=r"clients is \[2, 0\]; allowed: at least one example"):
        clients(2, 0).padded()


def test_choosing_clients_keeps_the_order_given_and_shares_the_examples():
    three = clients(2, 3, 1)
    chosen = three[torch.tensor([2, 0, 2])]
    assert [r.tolist() for r in chosen.rows] == [[5], [0, 1], [5]]
    assert chosen.x is three.x
    assert three.examples(1)[1].tolist() == [2, 3, 4]


def test_clients_and_federations_say_how_many_and_how_much():
    assert repr(clients(2, 1)) == "Clients(2 clients, 3 examples of shape (1,), float32)"
    fed = federate(torch.zeros(50, 1), torch.zeros(50).long(), iid(50, 5, gen()), classes=2)
    assert repr(fed) == (
        "Federation(5 clients, 2 classes: 40 training, 5 validation, 5 test examples)"
    )


def test_a_client_without_training_data_is_refused_by_name():
    one = clients(2, 1)
    with pytest.raises(ValueError, match=r"examples of client 1 \(Bob\) is 0; allowed: at least 1"):
        Federation(clients(3, 0), one, one, ("Ann", "Bob"), 5)


@pytest.mark.parametrize(
    ("x", "y", "rows", "message"),
    [
        (4, [0, 1, 0], [[0], [1]], r"targets of train is 3; allowed: 4, as many as inputs"),
        (3, [0, 1, 0], [[0], [3]], r"rows of train is \[0, 3\]; allowed: numbers from 0 to 2"),
        (3, [0, 1, 0], [[-1], [1]], r"rows of train is \[-1, 1\]; allowed: numbers from 0 to 2"),
        (3, [0, 5, 0], [[0], [1]], r"targets of train is \[0, 5\]; allowed: from 0 to 1"),
        (3, [0, -1, 0], [[0], [1]], r"targets of train is \[-1, 0\]; allowed: from 0 to 1"),
    ],
)
def test_rows_and_targets_out_of_range_are_refused(x, y, rows, message):
    part = Clients(torch.zeros(x, 1), torch.tensor(y), tuple(torch.tensor(r) for r in rows))
    with pytest.raises(ValueError, match=message):
        Federation(part, part, part, ("Ann", "Bob"), 2)


def test_parts_with_different_clients_are_refused():
    with pytest.raises(ValueError, match=r"clients in train, val, test, names is \[1, 2\]"):
        Federation(clients(1, 1), clients(1), clients(1, 1), ("a", "b"), 5)


def test_a_round_draws_distinct_clients_each_as_often_as_any_other():
    fed = federate(torch.zeros(50, 1), torch.zeros(50).long(), iid(50, 5, gen()), 2)
    draws = [fed.sample(2, gen(seed)).tolist() for seed in range(2000)]
    assert all(len(set(d)) == 2 for d in draws)
    counts = collections.Counter(i for d in draws for i in d)
    # each client is in a round with probability 2/5: 800 of 2000, standard deviation 21.9
    assert all(abs(counts[i] - 800) < 5 * 21.9 for i in range(5))


@pytest.mark.parametrize("number", [0, 6, -1])
def test_more_clients_than_there_are_cannot_be_drawn(number):
    fed = federate(torch.zeros(50, 1), torch.zeros(50).long(), iid(50, 5, gen()), 2)
    with pytest.raises(ValueError, match=f"clients is {number}; allowed: a whole number from 1 to"):
        fed.sample(number, gen())


def test_a_gpu_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    with pytest.raises(ValueError, match=r"device is 'cuda'; allowed: 'cpu' \(this PyTorch sees"):
        digits().to("cuda")
    with pytest.raises(ValueError, match="device is 'gpu'; allowed: 'cpu'"):
        digits().to("gpu")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(ValueError, match="device is 'cuda:2'; allowed: 'cpu', 'cuda:0', 'cuda:1'"):
        digits().to("cuda:2")


# ------------------------------------------------------------------------------------- digits


def test_each_writer_begins_by_counting_from_0_to_9_and_goes_on_after_that():
    _, y, writer = digit_images()
    assert writer.bincount().tolist() == [
        130, 126, 130, 130, 130, 130, 130, 123, 128, 130, 128, 130, 122, 130
    ]  # fmt: skip
    for who in range(14):
        labels = y[writer == who].tolist()
        labels = labels if who != 7 else [0, *labels]  # whose first 0 is missing
        assert labels[:17] == [*range(10), *range(7)]
        assert len(labels) > 120


@pytest.mark.parametrize("by", ["writer", "label", "iid"])
def test_every_digit_belongs_to_exactly_one_part_of_one_client(by):
    fed = digits(by=by, clients=14, alpha=0.5)
    assert owners(fed) == collections.Counter(range(1797))
    assert len(fed) == 14
    assert fed.classes == 10


def test_what_a_caller_does_to_its_digits_does_not_reach_the_next_caller():
    digits().train.x.zero_()
    assert digits().train.x.max() == 1


def test_parts_that_share_their_examples_share_them_on_another_device_too():
    fed = digits(clients=14).to("cpu", torch.float64)
    assert fed.train.x is fed.val.x is fed.test.x
    assert fed.train.x.dtype == torch.float64


def test_a_writers_parts_hold_that_writers_images_only():
    fed, writer = digits(clients=42), digit_images()[2]
    for i in range(42):
        assert set(writer[fed.train.rows[i]].tolist()) == {i // 3}
    assert fed.names[4] == "writer 2, part 2"


def test_the_partition_belongs_to_its_seed():
    one, same, other = (digits(by="label", seed=s).train.rows[0].tolist() for s in (1, 1, 2))
    assert one == same != other


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "colour"}, "by is 'colour'; allowed: 'writer', 'label', 'iid'"),
        ({"clients": 10}, "clients is 10; allowed: a multiple of 14 writers"),
        ({"clients": 0}, "clients is 0; allowed: a multiple of 14 writers"),
        ({"by": "iid", "clients": 2000}, "clients is 2000; allowed: from 1 to 1797"),
        ({"seed": -1}, "seed is -1; allowed: a whole number of at least 0"),
    ],
)
def test_digits_that_cannot_be_divided_so_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        digits(**options)


# -------------------------------------------------------------------------------- Shakespeare

PLAY = """# A Play

## ACT I

### SCENE I. A room.

_Enter ANN and
BOB_

**ANN**  
Good morrow, _To him_ friend.  
How now?

_Exit_

**BOB**  
_Aside_  
Well \\[enough\\]
"""


def test_roles_say_their_lines_without_headings_and_stage_directions():
    said = speeches(spoken(PLAY))
    assert said == {"ANN": "Good morrow, friend. How now?", "BOB": "Well [enough]"}


def test_all_of_shakespeare_has_1426_roles_in_38_plays():
    said = roles()
    assert len(said) == 1426
    assert len({name.rsplit("/", 1)[0] for name in said}) == 38
    hamlet = said["tragedies/hamlet/HAMLET"]
    assert hamlet.startswith("A little more than kin, and less than kind.")
    assert "To be, or not to be: that is the question:" in hamlet


def test_characters_survive_encoding_and_unknown_ones_are_one_number():
    text = string.printable
    assert decode(encode(text)) == text
    assert encode("é—").tolist() == [VOCABULARY - 1] * 2


def test_a_clients_windows_are_those_of_its_roles_text():
    fed = shakespeare(roles_used=3, length=12, step=5)
    for i, name in enumerate(fed.names):
        pairs = windows(roles()[name], length=12, step=5)
        known = [tuple("".join(c if c in string.printable else "\ufffd" for c in s) for s in p)
                 for p in pairs]  # fmt: skip
        assert pairs_of(fed, i) == known


def test_windows_are_a_view_of_the_text_not_80_copies_of_it():
    fed = shakespeare(roles_used=2)
    text = sum(len(roles()[name]) for name in fed.names)
    assert fed.train.x.untyped_storage().nbytes() == text


@pytest.mark.parametrize("step", [1, 3, 7])
def test_with_a_gap_no_character_is_in_two_parts(step):
    fed = shakespeare(roles_used=5, length=20, step=step, gap=True, seed=4)
    for i in range(5):
        last_trained = fed.train.rows[i].max() + 20  # of the character predicted
        for part in (fed.val, fed.test):
            if len(part.rows[i]):
                assert part.rows[i].min() >= last_trained
                last_trained = part.rows[i].max() + 20


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"length": 0}, "length is 0; allowed: a whole number of at least 1"),
        ({"step": 0}, "step is 0; allowed: a whole number of at least 1"),
        ({"roles_used": 0}, "roles_used is 0; allowed: from 1 to 1180"),
        ({"gap": True, "shuffle": True}, "gap is True; allowed: False if windows are shuffled"),
    ],
)
def test_windows_that_cannot_be_cut_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        shakespeare(**options)
