"""Data of one's own: what `federate` takes, against plain lists, and what it refuses by name."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import ChainDataset, Dataset, IterableDataset, Subset, TensorDataset

from fedlab_edu import Clients, Federation, digits
from fedlab_edu.data import by_group, dirichlet, federate, iid, split
from tests.fuzz import fuzz

X = [[0.0, 1.5], [2.0, -3.0], [4.0, 0.5], [1.0, 1.0], [7.5, 8.0]]
Y = [2, 0, 1, 1, 0]
ROWS = [[0, 2], [4, 1, 3]]
ALL = (1.0, 0.0, 0.0)  # all examples are for training


pytestmark = pytest.mark.usefixtures("unchecked")


class Pairs(Dataset[Any]):
    """A map-style data set of the pairs of two lists."""

    def __init__(self, x: Any, y: Any) -> None:
        self.x, self.y = x, y

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, i: int) -> Any:
        return self.x[i], self.y[i]


def held(fed: Federation) -> list[list[tuple[list[float], float]]]:
    """The examples of each client as plain numbers."""
    pairs = [zip(*fed.train.examples(i), strict=True) for i in range(len(fed))]
    return [[(x.tolist(), y.item()) for x, y in own] for own in pairs]


EXPECTED = [[(X[r], Y[r]) for r in own] for own in ROWS]


def test_columns_whose_labels_stand_in_another_order_are_refused():
    x, y = pd.DataFrame(X), pd.Series(Y)
    shuffled = y.sample(frac=1, random_state=1)
    assert shuffled.index.tolist() != y.index.tolist()
    with pytest.raises(ValueError, match=r"^index of y is .*; allowed: the labels of x in their"):
        federate(x, shuffled, rows=ROWS)
    assert held(federate(x.loc[shuffled.index], shuffled, ROWS, fractions=ALL)) == [
        [(X[i], Y[i]) for i in shuffled.index[own]] for own in ROWS
    ]
    federate(x, shuffled.to_numpy(), rows=ROWS)


def test_labels_of_a_table_s_rows_are_refused_where_they_are_no_row_numbers():
    x = pd.DataFrame(X)
    user = pd.Series([0, 1, 0, 1, 1])
    labels, numbers = (
        (lambda by: [*by.groups.values()]), (lambda by: [*by.indices.values()])
    )  # fmt: skip
    plain = [[(X[i], Y[i]) for i in own] for own in ([0, 2], [1, 3, 4])]
    for rows in (labels(user.groupby(user)), numbers(user.groupby(user))):
        assert held(federate(x, Y, rows, fractions=ALL)) == plain
    turned, by = x[::-1], user[::-1].groupby(user[::-1])
    with pytest.raises(ValueError, match=r"^rows of client 0 is .*; allowed: row numbers, as of"):
        federate(turned, Y[::-1], labels(by))
    back = [[*reversed(own)] for own in plain]
    assert held(federate(turned, Y[::-1], numbers(by), fractions=ALL)) == back


@pytest.mark.parametrize(
    ("x", "kind"),
    [
        (lambda: torch.quantize_per_tensor(torch.zeros(2, 2), 0.1, 0, torch.qint8), "qint8"),
        (lambda: torch.zeros(2, 2, device="meta"), "meta"),
        (lambda: torch.zeros(2, 2).to(torch.float8_e5m2), "float8_e5m2"),
        (lambda: torch.nested.nested_tensor([torch.zeros(2), torch.zeros(3)]), "nested"),
    ],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_tensors_without_plain_numbers_are_refused_by_name(x, kind):
    with pytest.raises(ValueError, match=rf"^x is '.*{kind}.*'; allowed: numbers of one shape"):
        federate(x(), [0, 1], [[0, 1]])


def test_numbers_that_int64_does_not_hold_are_refused_in_tensors_as_in_arrays():
    numbers = [0, 2**63]
    array, tensor = np.array(numbers, np.uint64), torch.tensor(numbers, dtype=torch.uint64)
    for y in (array, tensor, numbers, np.array(numbers, object)):
        with pytest.raises(ValueError, match=r"^y is \[0, 9223372036854775808\]; allowed: class"):
            federate([[1.0], [2.0]], y, [[0, 1]])


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (X, Y),
        (tuple(map(tuple, X)), tuple(Y)),
        (np.array(X), np.array(Y, dtype=np.uint8)),
        (np.array(X, dtype=np.float32)[:, ::-1][:, ::-1], np.array(Y, dtype=">i2")),
        (pd.DataFrame(X, columns=["a", "b"]), pd.Series(Y, index=list("vwxyz"))),
        (torch.tensor(X), torch.tensor(Y, dtype=torch.int32)),
        ([torch.tensor(one) for one in X], [torch.tensor(one) for one in Y]),
        ([np.array(one) for one in X], [np.int64(one) for one in Y]),
        (torch.tensor(X, requires_grad=True), np.array(Y, dtype=np.uint64)),
        (pd.DataFrame(X).astype("Float64"), pd.Series(Y, dtype="Int64")),
        (pd.DataFrame(X).astype(object), pd.Series(Y, dtype=object)),
    ],
    ids=["lists", "tuples", "arrays", "odd arrays", "pandas", "tensors", "lists of tensors",
         "lists of arrays", "with gradient", "nullable", "objects"],
)  # fmt: skip
@pytest.mark.parametrize(
    "rows",
    [
        ROWS,
        [np.array(r) for r in ROWS],
        [torch.tensor(r) for r in ROWS],
        [pd.Index(r) for r in ROWS],
        [pd.Series(r, dtype=object) for r in ROWS],
    ],
    ids=["lists", "arrays", "tensors", "columns", "objects"],
)
def test_arrays_lists_and_columns_of_all_kinds_give_the_same_federation(x, y, rows):
    fed = federate(x, y, rows, fractions=ALL)
    assert held(fed) == EXPECTED
    assert fed.classes == 3
    assert fed.labels == ()
    assert fed.train.y.dtype == torch.int64
    assert not fed.train.x.requires_grad


def test_columns_of_flags_beside_numbers_are_0_and_1():
    x = pd.DataFrame({"size": [0.5, 2.0], "new": [True, False]})
    assert federate(x, [0, 1], [[0, 1]]).train.x.tolist() == [[0.5, 1.0], [2.0, 0.0]]


def test_a_column_of_arrays_is_one_array():
    x = pd.Series([np.float32([1, 2]), np.float32([3, 4])])
    assert torch.equal(federate(x, [0, 1], [[0, 1]]).train.x, torch.tensor([[1.0, 2.0], [3, 4]]))


@pytest.mark.parametrize(
    ("x", "kind"),
    [
        (X, torch.float32),
        ([[np.float64(v) for v in row] for row in X], torch.float64),
        (np.array(X), torch.float64),
        (np.array(X, dtype=np.float16), torch.float16),
        (torch.tensor(X, dtype=torch.bfloat16), torch.bfloat16),
        (np.array(X).astype(int), torch.int64),
        (np.abs(np.array(X)).astype(np.uint8), torch.uint8),
    ],
)
def test_inputs_keep_their_precision_and_pythons_floats_get_pytorchs(x, kind):
    assert federate(x, Y, ROWS).train.x.dtype == kind


@pytest.mark.parametrize(
    "data",
    [
        TensorDataset(torch.tensor(X), torch.tensor(Y)),
        Pairs(X, Y),
        Pairs(torch.tensor(X), Y),
        Pairs(np.array(X, dtype=np.float32), [torch.tensor(y) for y in Y]),
        Subset(TensorDataset(torch.tensor([*X, [9.0, 9.0]]), torch.tensor([*Y, 2])), range(5)),
        Subset(Pairs(X[::-1], Y[::-1]), [4, 3, 2, 1, 0]),
    ],
    ids=["TensorDataset", "pairs", "pairs of a tensor", "pairs of an array", "Subset", "in order"],
)
def test_data_sets_of_pairs_are_federated_without_y(data):
    fed = federate(data, rows=ROWS, fractions=ALL)
    assert held(fed) == EXPECTED
    assert fed.train.x.dtype == torch.float32


def test_strings_become_numbers_of_classes_in_alphabetical_order_whose_names_are_kept():
    words = ["dog", "ant", "cat", "cat", "ant"]
    own = np.array(words, np.dtypes.StringDType())
    for y in (words, np.array(words), own, pd.Series(words), pd.Series(words, dtype="category"),
              pd.array(words, dtype="string")):  # fmt: skip
        fed = federate(X, y, ROWS, fractions=ALL)
        assert held(fed) == EXPECTED
        assert fed.labels == ("ant", "cat", "dog")
        assert fed.classes == 3
    assert federate(Pairs(X, words), rows=ROWS).to("cpu").labels == ("ant", "cat", "dog")


def test_floats_are_targets_of_a_regression_in_the_precision_of_the_inputs():
    y = [0.5, -1.0, 2.25, 3.0, 4.0]
    for given_y in (y, np.array(y), torch.tensor(y, dtype=torch.float64)):
        fed = federate(X, given_y, ROWS, fractions=ALL)
        assert held(fed) == [[(X[r], y[r]) for r in own] for own in ROWS]
        assert fed.train.y.dtype == fed.train.x.dtype == torch.float32
        assert fed.classes == 0
    assert repr(fed).startswith("Federation(2 clients, regression: 5 training")
    assert fed.to("cpu", torch.float64).train.y.dtype == torch.float64
    column = federate(X, [[v] for v in y], ROWS)
    assert column.train.y.shape == (5, 1)  # as networks with one output have them


def test_whole_numbers_are_targets_of_a_regression_where_there_are_no_classes():
    fed = federate(X, [-7, 100, 3, 2, 5], ROWS, classes=0, fractions=ALL)
    assert fed.train.y.tolist() == [-7.0, 100.0, 3.0, 2.0, 5.0]
    assert fed.train.y.dtype == torch.float32


def test_clients_may_share_examples():
    fed = federate(X, Y, [[0, 1], [1, 2], [0, 1]], fractions=ALL)
    assert [own.tolist() for own in fed.train.rows] == [[0, 1], [1, 2], [0, 1]]


def test_true_and_false_are_the_classes_1_and_0():
    fed = federate(X, [True, False, True, True, False], ROWS)
    assert (fed.train.y.tolist(), fed.classes) == ([1, 0, 1, 1, 0], 2)


def test_groups_and_skewed_labels_may_be_strings():
    names = ["w2", "w1", "w2", "w1", "w1"]
    assert [r.tolist() for r in by_group(pd.Series(names))] == [[1, 3, 4], [0, 2]]
    gen = torch.Generator().manual_seed(0)
    parts = dirichlet(names * 4, 2, 10.0, gen)
    assert sorted(torch.cat(parts).tolist()) == list(range(20))


IMAGES = np.zeros((5, 4, 4), dtype=np.uint8)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"x": None}, r"x is None; allowed: numbers of one shape: a tensor, an array"),
        ({"x": [[1.0, 2.0], [3.0]]}, r"x is \[\[1.0, 2.0\], \[3.0\]\]; allowed: numbers of one"),
        ({"x": [torch.zeros(2), torch.zeros(3)]}, r"x is .*; allowed: numbers of one shape"),
        ({"x": [["a"], ["b"]]}, r"x is \[\['a'\], \['b'\]\]; allowed: numbers"),
        ({"x": []}, r"x is \[\]; allowed: at least one example"),
        ({"x": 3.0}, r"x is 3.0; allowed: at least one example"),
        ({"x": torch.zeros(5, 0)}, r"x is .*; allowed: at least one example"),
        ({"x": [[1.0, float("nan")]] * 5}, r"x \(5 of 10 values\) is \[nan.*; allowed: finite"),
        ({"x": np.array(X) * 1j}, "x is .*; allowed: numbers of one shape"),
        ({"x": torch.tensor(X).to_sparse()}, "x is 'torch.sparse_coo, .*; allowed: numbers"),
        ({"x": np.ma.masked_less(X, 0)}, "x is .*; allowed: numbers of one shape"),
        ({"x": np.array(X) > 1}, "dtype of x is 'bool'; allowed: floats, or whole numbers"),
        ({"x": IMAGES}, r"dtype of x is 'uint8'; allowed: floats where .* x / 255.0 for images"),
        ({"x": torch.tensor(IMAGES).int()}, r"dtype of x is 'int64'; allowed: floats where"),
        ({"x": X[:4]}, "targets y is 5; allowed: 4, as many as inputs x"),
        ({"y": None}, "y is None; allowed: targets, unless x is a Dataset of pairs"),
        ({"y": [[2], [0], [1], [1], [0]]}, r"targets of train is \(5, 1\); allowed: \(5,\): y\[:"),
        ({"y": [2, 0, -1, 1, 0]}, r"targets of train is \[-1, 0, 1, 2\]; allowed: from 0 to 2"),
        ({"y": [2, 0, "1", 1, 0]}, r"y is \[2, 0, '1', 1, 0\]; allowed: class numbers, floats"),
        ({"y": ["a", "b", None, "a", "b"]}, r"y is \['a', 'b', None.*; allowed: class numbers"),
        ({"y": [0.5, 1, 2, 3, float("inf")]}, r"y is .*inf\]; allowed: finite numbers"),
        ({"y": [0.0, 1.0, 2.0, 0.0, 1.0], "classes": 3}, r"y.long\(\), if there are classes"),
        ({"x": Y, "y": X}, r"shape of y is \(5, 2\); allowed: \(5,\), .*: x comes first"),
        ({"x": Y, "y": IMAGES}, r"shape of y is \(5, 4, 4\); allowed: \(5,\), .*: x comes first"),
        ({"classes": 2}, r"targets of train is \[0, 1, 2\]; allowed: from 0 to 1"),
        ({"classes": "3"}, r"classes is '3'; allowed: a whole number of at least 0"),
        ({"y": list("abcab"), "classes": 5}, r"labels is 3; allowed: 5, as many as classes"),
        ({"rows": None}, r"rows is None; allowed: the row numbers of each client: iid"),
        ({"rows": 10}, r"rows is 10; allowed: the row numbers of each client"),
        (
            {"rows": {(0, 1): [2], (3, 4): [0]}},
            r"rows is \{\(0, 1\): .*; allowed: .* the values\(\)",
        ),
        (
            {"rows": [np.array([0, True], object)]},
            r"rows of client 0 is \[0, True\]; allowed: a list",
        ),
        ({"rows": []}, "clients is 0; allowed: at least one"),
        ({"rows": [0, 0, 1, 1, 1]}, r"rows of client 0 is 0; allowed: .* by_group\(owners\)"),
        ({"rows": torch.tensor([0, 1])}, r"rows of client 0 is 0; allowed: a list"),
        ({"rows": ROWS[0]}, r"rows of client 0 is 0; allowed: a list of whole numbers from 0 to 4"),
        ({"rows": [[0], [1.0]]}, r"rows of client 1 is \[1.0\]; allowed: a list of whole"),
        ({"rows": [[0], torch.tensor([1.0])]}, r"rows of client 1 is \[1.0\]; allowed: a list of"),
        ({"rows": [[True, False], [1]]}, r"rows of client 0 is \[True, False\]; allowed: a list"),
        ({"rows": [np.arange(5) < 2, [1]]}, r"rows of client 0 is \[True, True, False"),
        ({"rows": [[0], [1, True]]}, r"rows of client 1 is \[1, True\]; allowed: a list"),
        ({"rows": [[0], [-1]]}, r"rows of client 1 is \[-1\]; allowed: .* from 0 to 4, each once"),
        ({"rows": [[0], [5]]}, r"rows of client 1 is \[5\]; allowed: .* from 0 to 4, each once"),
        ({"rows": [[0], [2**70]]}, r"rows of client 1 is \[1180591620717411303424\]; allowed: a"),
        ({"rows": [[0, 1, 0, 1], [2]]}, r"rows of client 0 is \[0, 1\]; allowed: .* each once"),
        ({"rows": [[[0, 1]], [2]]}, r"rows of client 0 is \[\[0, 1\]\]; allowed: a list"),
        ({"rows": [["0"], [2]]}, r"rows of client 0 is \['0'\]; allowed: a list"),
        ({"rows": [[0], None]}, r"rows of client 1 is None; allowed: a list"),
        ({"rows": [[], [1, 2]]}, r"train examples of client 0 \(0\) is 0; allowed: at least 1"),
        ({"gen": 0}, r"gen is 'int'; allowed: a Generator: torch.Generator\(\).manual_seed"),
        ({"gap": 0.5}, r"gap is 0.5; allowed: a whole number of at least 0"),
        ({"fractions": 0.8}, r"fractions is 0.8; allowed: three numbers"),
        ({"fractions": "abc"}, r"fractions is 'abc'; allowed: three numbers"),
        ({"names": "ab"}, r"names is 'ab'; allowed: a name for each client"),
        ({"names": b"ab"}, r"names is b'ab'; allowed: a name for each client"),
        ({"names": ["Ann"]}, r"clients in train, val, test, names is \[1, 2\]; allowed: one"),
    ],
)
def test_what_a_federation_cannot_be_made_of_is_named(changes, message):
    arguments = {"x": X, "y": Y, "rows": ROWS, "fractions": ALL, **changes}
    with pytest.raises(ValueError, match=message):
        federate(**arguments)


class Stream(IterableDataset[Any]):
    def __iter__(self) -> Any:
        return iter(zip(X, Y, strict=True))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (Stream(), "x is 'Stream'; allowed: a Dataset with a length, whose examples are pairs"),
        (ChainDataset([Stream()]), "x is 'ChainDataset'; allowed: a Dataset with a length"),
        (TensorDataset(torch.tensor(X)), r"x\[0\] is 'tuple'; allowed: a Dataset with a length"),
        (Pairs(X, [None] * 5), "y is .*; allowed: class numbers"),
        (Pairs([[1.0], [1.0, 2.0]], [0, 1]), "x is .*; allowed: numbers of one shape"),
        (Pairs(IMAGES, Y), "dtype of x is 'uint8'; allowed: floats where"),
    ],
    ids=["stream", "streams", "no pairs", "no targets", "several shapes", "images"],
)
def test_data_sets_of_other_kinds_are_refused_by_name(data, message):
    with pytest.raises(ValueError, match=message):
        federate(data, rows=[[0, 1]])


@pytest.mark.parametrize("missing", [None, pd.NA])
@pytest.mark.parametrize("like", [1.5, "a"])
def test_of_a_long_column_only_the_values_that_are_missing_are_shown(missing, like):
    column = [like] * 30
    column[20] = missing
    with pytest.raises(
        ValueError, match=r"y \(1 of 30 values\) is \[(None|<NA>)\]; allowed: class"
    ):
        federate([[0.5]] * 30, pd.Series(column, dtype=object), [range(30)])


def test_a_data_set_has_its_own_targets():
    with pytest.raises(ValueError, match=r"y is \[\[0, 2\], .*; allowed: None, as x is a Dataset"):
        federate(Pairs(X, Y), ROWS)


@pytest.mark.parametrize(
    "group", [[2**64, 3], [1.0, 2.0], ["a", None], [("a", 1), ("b", 2)], (i for i in "ab"), []]
)
def test_groups_and_classes_are_whole_numbers_or_strings(group):
    allowed = r" is .*; allowed: .*a whole number below 2\^63 or a string for each example$"
    with pytest.raises(ValueError, match="^group" + allowed):
        by_group(group)
    with pytest.raises(ValueError, match="^y" + allowed):
        dirichlet(group, 2, 1.0, torch.Generator())


@pytest.mark.parametrize("value", ["10", 2.0, 0.5, True, None])
def test_partitions_take_whole_numbers_of_clients_only(value):
    gen = torch.Generator()
    with pytest.raises(ValueError, match=r"clients is .*; allowed: from 1 to 9, the examples"):
        iid(9, value, gen)
    with pytest.raises(ValueError, match=r"examples is .*; allowed: a whole number of at least 1"):
        iid(value, 2, gen)
    with pytest.raises(ValueError, match=r"clients is .*; allowed: a whole number of at least 1"):
        dirichlet(Y, value, 1.0, gen)
    with pytest.raises(ValueError, match=r"parts is .*; allowed: from 1 to 2, the smallest group"):
        by_group(["a", "a", "b", "b"], value)
    with pytest.raises(ValueError, match=r"n is .*; allowed: a whole number of at least 0"):
        split(value)
    with pytest.raises(ValueError, match=r"clients is .*; allowed: a multiple of 14 writers"):
        digits(clients=value)
    with pytest.raises(ValueError, match=r"gen is 'int'; allowed: a Generator"):
        iid(9, 2, 0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"y": torch.tensor([[0], [1]])}, r"shape of targets of train is \(2, 1\); allowed: \(2,"),
        ({"y": torch.tensor([0.0, 1.0])}, r"targets of train is \[0.0, 1.0\]; allowed: whole num"),
        ({"y": [0, 1]}, r"^y is \[0, 1\]; allowed: a tensor of all"),
        ({"x": np.zeros((2, 1))}, r"^x is \[\[0.0\], \[0.0\]\]; allowed: a tensor"),
        ({"rows": ([0], [1])}, r"^rows is \[0\]; allowed: an int64 tensor \(n_i,\) for"),
        ({"rows": (torch.tensor([0.0]), torch.tensor([1.0]))}, r"^rows is \[0.0\]; allow"),
        ({"rows": (torch.tensor([True]), torch.tensor([True]))}, r"^rows is \[True\]"),
        ({"rows": (torch.tensor(0), torch.tensor(1))}, "^rows is 0; allowed: an int64 tensor"),
    ],
)
def test_a_federation_made_by_hand_is_checked_too(changes, message):
    x, y, rows = torch.zeros(2, 1), torch.tensor([0, 1]), tuple(torch.tensor([[0], [1]]))

    def by_hand() -> Federation:
        part = Clients(**{"x": x, "y": y, "rows": rows, **changes})
        return Federation(part, part, part, ("Ann", "Bob"), 2)

    with pytest.raises(ValueError, match=message):
        by_hand()


# ------------------------------------------------------------------------------- random inputs


@dataclass
class Drawn:
    """A drawn argument, and the plain list that it stands for; None if it must be refused."""

    given: Any
    plain: Any


@st.composite
def inputs(draw: Any, M: int, faulty: bool) -> Drawn:
    half = st.integers(-8, 8).map(lambda i: i / 2)
    shape = draw(st.sampled_from([(), (1,), (3,), (2, 2), (1, 2, 2)]))
    size = int(np.prod(shape, dtype=int))
    real = draw(st.booleans())
    flat = draw(
        st.lists(half if real else st.integers(0, 99), min_size=M * size, max_size=M * size)
    )
    array = np.array(flat, dtype=np.float64 if real else np.int64).reshape(M, *shape)
    plain = array.astype(float).tolist() if real or len(shape) < 2 else None
    kinds = {
        "list": array.tolist,
        "list of arrays": lambda: list(array),
        "list of tensors": lambda: [torch.tensor(one) for one in array],
        "tensor": lambda: torch.tensor(array),
        "float32": lambda: array.astype(np.float32 if real else np.int32),
        "big-endian": lambda: array.astype(">f8" if real else ">i4"),
        "reversed": lambda: array[::-1].copy()[::-1],
        "read-only": lambda: np.broadcast_to(array, array.shape),
        "unsigned": lambda: array if real else array.astype(np.uint16),
        "table": lambda: pd.DataFrame(array) if array.ndim == 2 else array,
    }
    faults = {
        "NaN": lambda: np.where(np.arange(array.size).reshape(array.shape) == 0, np.nan, array),
        "strings": lambda: array.astype(str),
        "objects": lambda: [object()] * M,
        "ragged": lambda: [[0.0] * (i + 1) for i in range(M + 1)],
        "None": lambda: None,
        "complex": lambda: array * 1j,
        "flags": lambda: array > 0,
        "scalar": lambda: 1.5,
        "empty": lambda: [],
        "mixed": lambda: [*array.tolist()[1:], "x"],
    }
    return _drawn(draw, faults if faulty else kinds, None if faulty else plain)


@st.composite
def targets(draw: Any, M: int, faulty: bool) -> Drawn:
    sort = draw(st.sampled_from(["class", "real", "text", "flag"]))
    element = {
        "class": st.integers(0, 4), "real": st.integers(-9, 9).map(lambda i: i / 4),
        "text": st.text(max_size=2), "flag": st.booleans(),
    }[sort]  # fmt: skip
    plain = draw(st.lists(element, min_size=M, max_size=M))
    kinds = {
        "list": lambda: plain,
        "tuple": lambda: tuple(plain),
        "array": lambda: np.array(plain, dtype=object if sort == "text" else None),
        "series": lambda: pd.Series(plain, index=range(M, 0, -1)),
        "tensor": lambda: plain if sort == "text" else torch.tensor(plain),
        "tensors": lambda: plain if sort == "text" else [torch.tensor(one) for one in plain],
    }
    faults = {
        "short": lambda: plain[1:] or [],
        "column": lambda: [[0]] * M,
        "negative": lambda: [-1] * M,
        "mixed": lambda: ["a", *range(M - 1)] if M > 1 else [None],
        "NaN": lambda: [float("nan")] * M,
        "None": lambda: None,
        "dates": lambda: np.full(M, np.datetime64("2026-01-01")),
        "missing": lambda: pd.Series([pd.NA] * M),
    }
    return _drawn(draw, faults if faulty else kinds, None if faulty else plain)


@st.composite
def owners(draw: Any, M: int, faulty: bool) -> Drawn:
    order = draw(st.permutations(range(M)))
    cut = draw(st.integers(1, M))
    plain = [part for part in (order[:cut], order[cut:]) if part]
    kinds = {
        "lists": lambda: [list(own) for own in plain],
        "tuples": lambda: tuple(map(tuple, plain)),
        "arrays": lambda: [np.array(own, dtype=np.uint8) for own in plain],
        "tensors": lambda: [torch.tensor(own, dtype=torch.int32) for own in plain],
        "series": lambda: [pd.Series(own) for own in plain],
        "iterator": lambda: iter(plain),
    }
    wrong = draw(st.sampled_from([M, -1, 0.0, 0.5, True, "0", None, [0], 2**64, float("nan")]))
    faults = {
        "row": lambda: [*plain, [wrong]],
        "array row": lambda: [*plain, np.array([wrong], dtype=object)],
        "twice": lambda: [[*plain[0], plain[0][0]], *plain[1:]],
        "nested": lambda: [[list(own)] for own in plain],
        "flat": lambda: list(order),
        "number": lambda: len(plain),
        "no client": lambda: [],
        "empty client": lambda: [*plain, []],
        "mask": lambda: [np.ones(M, dtype=bool)],
        "floats": lambda: [torch.tensor(own).double() for own in plain],
    }
    return _drawn(draw, faults if faulty else kinds, None if faulty else plain)


def _drawn(draw: Any, kinds: dict, plain: Any) -> Drawn:
    return Drawn(kinds[draw(st.sampled_from(list(kinds)))](), plain)


@given(st.data(), st.integers(1, 6), st.booleans(), st.sampled_from(["", "", "x", "y", "rows"]))
@fuzz(25, 10_000)
def test_any_input_is_the_federation_of_its_plain_lists_or_refused_by_name(data, M, as_data, fault):
    x = data.draw(inputs(M, fault == "x"))
    y, rows = data.draw(targets(M, fault == "y")), data.draw(owners(M, fault == "rows"))
    whole = [len(one.given) == M for one in (x, y) if hasattr(one.given, "__len__")]
    pairs = as_data and whole == [True, True] and not isinstance(x.given, pd.DataFrame)
    pairs = pairs and not isinstance(y.given, pd.Series)
    arguments = (Pairs(x.given, y.given),) if pairs else (x.given, y.given)
    try:
        fed = federate(*arguments, rows=rows.given, fractions=ALL)
        refused = ""
    except ValueError as error:
        refused = str(error)
    wrong = None in (x.plain, y.plain, rows.plain)
    assert wrong == bool(refused), (refused, x, y, rows)
    if refused:
        named = r".*\b(x|y|rows|targets|examples|clients)\b.* is .*; allowed: "
        assert re.match(named, refused), refused
        return
    assert len(fed) == len(rows.plain)
    for i, own in enumerate(rows.plain):
        found_x, found_y = fed.train.examples(i)
        assert found_x.tolist() == [x.plain[r] for r in own]
        seen = [fed.labels[k] for k in found_y.tolist()] if fed.labels else found_y.tolist()
        assert seen == [y.plain[r] for r in own]
