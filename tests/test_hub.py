"""Hugging Face data sets as federations, against the arrays and files that they were made from."""

import csv
import gc
import json
import os
import string
import sys
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from PIL import Image

from fedlab_edu import cnn_femnist
from fedlab_edu.data import decode
from fedlab_edu.data.hub import from_partitions, hub
from fedlab_edu.data.shakespeare import VOCABULARY
from tests.reference import windows

os.environ["FLWR_TELEMETRY_ENABLED"] = "0"
import datasets

M = 240
PIXELS = np.arange(M, dtype=np.uint8)[:, None, None].repeat(6, 1).repeat(6, 2)  # image i shows i
LABELS = [i % 4 for i in range(M)]
WRITERS = [f"w{i % 7}" for i in range(M)]


@pytest.fixture(autouse=True, scope="module")
def offline(tmp_path_factory):
    """Set `datasets` as it is where there is no network."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))  # flwr-datasets writes there
        yield


def picture(value: int, mode: str = "L", side: int = 6) -> Image.Image:
    return Image.new(mode, (side, side), value if mode in ("L", "I;16") else (value, 0, value // 2))


def table(images: list[Image.Image], labels: list[Any], **columns: list[Any]) -> datasets.Dataset:
    data = datasets.Dataset.from_dict({"image": images, "label": labels, **columns})
    return data.cast_column("image", datasets.Image())


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    """A file with the images, and what loads it without touching the reader's own cache."""
    folder = tmp_path_factory.mktemp("hub")
    data = table([Image.fromarray(p) for p in PIXELS], LABELS, writer=WRITERS)
    data = data.cast_column("label", datasets.ClassLabel(num_classes=5))
    data.to_parquet(folder / "images.parquet")
    return {
        "dataset": "parquet",
        "data_files": str(folder / "images.parquet"),
        "cache_dir": str(folder / "cache"),
    }


def owned(fed: Any, client: int) -> list[int]:
    """Which of the M images a client has, in all three parts, by what they show."""
    parts = (fed.train, fed.val, fed.test)
    shown = torch.cat([part.examples(client)[0][:, 0, 0, 0] for part in parts]) * 255
    return shown.round().long().tolist()


def test_a_column_makes_a_client_of_each_of_its_values(local):
    fed = hub(by="writer", **local)
    assert fed.names == tuple(f"w{k}" for k in range(7))
    for k in range(7):
        mine = [i for i in range(M) if WRITERS[i] == f"w{k}"]
        assert sorted(owned(fed, k)) == mine
        n = len(mine)  # 34 or 35, split as int(0.8 n), int(0.9 n)
        sizes = [len(part.rows[k]) for part in (fed.train, fed.val, fed.test)]
        assert sizes == [int(0.8 * n), int(0.9 * n) - int(0.8 * n), n - int(0.9 * n)]


def test_images_are_float32_from_0_to_1_with_the_labels_of_the_file(local):
    fed = hub(by="writer", **local)
    assert fed.classes == 5  # as the file's feature says, though no label is 4
    assert fed.train.x.shape == (M, 1, 6, 6)
    assert fed.train.x.dtype == torch.uint8
    assert fed.train.y.dtype == torch.int64
    for k in range(7):
        x, y = fed.train.examples(k)
        assert x.dtype == torch.float32
        shown = (x * 255).round().long()
        assert torch.equal(shown, shown[:, :1, :1, :1].expand_as(shown))
        assert y.tolist() == [LABELS[i] for i in shown[:, 0, 0, 0]]


def test_clients_of_a_column_are_drawn_by_the_seed(local):
    drawn = {hub(by="writer", clients=3, seed=s, **local).names for s in range(6)}
    assert len(drawn) > 1
    assert all(len(set(names)) == 3 for names in drawn)
    again = hub(by="writer", clients=3, seed=0, **local)
    first = hub(by="writer", clients=3, seed=0, **local)
    assert again.names == first.names
    assert [owned(again, i) for i in range(3)] == [owned(first, i) for i in range(3)]
    assert sorted(owned(first, 0)) == [i for i in range(M) if WRITERS[i] == first.names[0]]


def test_clients_of_a_column_of_classes_have_the_names_of_the_classes(tmp_path):
    data = table([picture(i) for i in range(24)], [0] * 24, domain=["real", "clipart"] * 12)
    data = data.cast_column("domain", datasets.ClassLabel(names=["clipart", "real"]))
    data.to_parquet(tmp_path / "f")
    fed = hub("parquet", by="domain", data_files=str(tmp_path / "f"), cache_dir=str(tmp_path / "c"))
    assert sorted(fed.names) == ["clipart", "real"]
    shown = {name: owned(fed, i)[0] % 2 for i, name in enumerate(fed.names)}
    assert shown == {"real": 0, "clipart": 1}


def test_values_with_too_few_examples_to_split_are_left_out(tmp_path):
    writers = ["many"] * 10 + ["few"] * 9  # ten is the least of which 10 % is one
    table([picture(i) for i in range(19)], [0] * 19, writer=writers).to_parquet(tmp_path / "f")
    fed = hub("parquet", by="writer", data_files=str(tmp_path / "f"), cache_dir=str(tmp_path / "c"))
    assert fed.names == ("many",)


def test_iid_deals_each_image_to_one_client_in_equal_parts(local):
    fed = hub(by="iid", clients=7, **local)
    hands = [owned(fed, i) for i in range(7)]
    assert sorted(chain(*hands)) == list(range(M))
    assert {len(hand) for hand in hands} == {34, 35}
    labels = torch.tensor([[sum(LABELS[i] == c for i in hand) for c in range(4)] for hand in hands])
    # the file goes round the classes; dealt in order, each hand would hold 8 or 9 of each class
    assert labels.min() < 8


def test_a_small_alpha_skews_the_labels_and_a_large_one_does_not(local):
    shares = {}
    for alpha in (0.3, 1e6):
        fed = hub(by="label", clients=4, alpha=alpha, seed=1, **local)
        hands = [owned(fed, i) for i in range(4)]
        assert sorted(chain(*hands)) == list(range(M))
        counts = torch.tensor([[sum(LABELS[i] == c for i in h) for c in range(4)] for h in hands])
        shares[alpha] = counts / counts.sum(1, keepdim=True)
    assert shares[1e6].sub(0.25).abs().max() < 0.05
    assert shares[0.3].max() > 0.5


def test_a_folder_of_images_for_each_class_is_a_federation(tmp_path):
    for name, value in (("cat", 50), ("dog", 200)):
        (tmp_path / "photos" / name).mkdir(parents=True)
        for i in range(10):
            picture(value).save(tmp_path / "photos" / name / f"{i}.png")
    fed = hub(
        "imagefolder", clients=2, data_dir=str(tmp_path / "photos"), cache_dir=str(tmp_path / "c")
    )
    assert fed.classes == 2
    for i in range(2):
        x, y = fed.train.examples(i)
        assert torch.equal(x[:, 0, 0, 0] * 255, torch.tensor([50.0, 200.0])[y])


def test_unshuffled_windows_keep_their_order_and_can_be_read_again(tmp_path):
    said = {"HAMLET": "To be, or not to be, that is the question", "OPHELIA": "My lord, I have it."}
    rows = [
        {"role": role, "x": text[i : i + 5], "y": text[i + 5]}
        for role, text in said.items()
        for i in range(len(text) - 5)
    ]
    datasets.Dataset.from_list(rows).to_parquet(tmp_path / "text")
    options = {"data_files": str(tmp_path / "text"), "cache_dir": str(tmp_path / "c")}
    fed = hub("parquet", x="x", y="y", by="role", shuffle=False, **options)
    assert fed.names == ("HAMLET", "OPHELIA")
    assert fed.classes == VOCABULARY == len(string.printable) + 1
    for k, text in enumerate(said.values()):
        n = len(text) - 5
        x, y = fed.train.examples(k)
        assert [decode(row) for row in x] == [text[i : i + 5] for i in range(int(0.8 * n))]
        assert decode(y) == text[5 : 5 + int(0.8 * n)]
        assert decode(fed.test.examples(k)[1]) == text[5 + int(0.9 * n) :]


def test_grey_images_among_colours_get_three_equal_channels():
    grey, colour = [picture(9)] * 5, [picture(8, "RGB")] * 4 + [picture(8, "RGB").convert("RGBA")]
    fed = from_partitions([table(grey, [0] * 5), table(colour, [1] * 5)])
    assert fed.train.x.shape[1:] == (3, 6, 6)
    assert (fed.train.examples(0)[0][0, :, 0, 0] * 255).tolist() == [9, 9, 9]
    for part in (fed.train, fed.test):
        assert (part.examples(1)[0][0, :, 0, 0] * 255).tolist() == [8, 0, 4]


def test_a_colour_image_is_its_array_with_the_channels_first():
    pixels = np.random.default_rng(0).integers(256, size=(10, 4, 7, 3), dtype=np.uint8)
    fed = from_partitions([table([Image.fromarray(p) for p in pixels], [0] * 10)])
    assert torch.equal(fed.train.x, torch.tensor(pixels.transpose(0, 3, 1, 2)))
    assert torch.equal(fed.train.examples(0)[0], fed.train.x[fed.train.rows[0]] / 255)


def test_a_side_gives_images_of_several_sizes_one(tmp_path):
    parts = [table([picture(7, side=s) for s in (4, 6, 9, 5)], [0] * 4)]
    with pytest.raises(ValueError, match=r"shapes of image .*\(1, 4, 4\).*`side` makes it so"):
        from_partitions(parts)
    fed = from_partitions(parts, side=3)
    assert fed.train.x.shape == (4, 1, 3, 3)
    assert fed.train.x.unique().tolist() == [7]


def test_lists_of_numbers_stay_as_they_are():
    x = [[0.5 * i, -1.0 * i] for i in range(10)]
    part = datasets.Dataset.from_dict({"features": x, "grade": [i % 3 for i in range(10)]})
    fed = from_partitions([part], x="features", y="grade")
    assert fed.train.x.tolist() == x
    assert fed.classes == 3


def test_the_format_of_a_partition_does_not_matter():
    part = table([picture(i) for i in range(10)], [i % 3 for i in range(10)])
    plain = from_partitions([part])
    for kind in ("torch", "numpy", "pandas", "arrow"):
        fed = from_partitions([part.with_format(kind)])
        assert torch.equal(fed.train.x, plain.train.x)
        assert torch.equal(fed.train.y, plain.train.y)
        one = part.with_format(kind, columns=["label"])
        assert torch.equal(from_partitions([one]).train.x, plain.train.x)
    lists = datasets.Dataset.from_dict({"image": [[0.5, 1.0]] * 5, "label": [0, 1, 0, 1, 0]})
    fed = from_partitions([lists.with_format("torch")])
    assert fed.train.x.tolist() == [[0.5, 1.0]] * 5


def test_a_transform_of_a_partition_is_applied():
    def dark(batch: dict[str, Any]) -> dict[str, Any]:
        arrays = [torch.tensor(np.array(image)) / 510 for image in batch["image"]]
        return {"pixels": arrays, "label": [1 - label for label in batch["label"]]}

    part = table([picture(i) for i in range(10)], [i % 2 for i in range(10)]).with_transform(dark)
    fed = from_partitions([part], x="pixels")
    assert (fed.train.x[:, 0, 0] * 510).round().tolist() == list(range(10))
    assert fed.train.y.tolist() == [1 - i % 2 for i in range(10)]
    with pytest.raises(ValueError, match=r"x is 'image'; allowed: one of the columns \['pixels'"):
        from_partitions([part])


def test_several_columns_of_numbers_stand_side_by_side():
    part = datasets.Dataset.from_dict({
        "age": [30, 40, 50], "height": [1.5, 1.75, 2.0], "smokes": [True, False, True],
        "pulse": [[60, 61], [70, 71], [80, 81]], "name": ["a", "b", "c"], "label": [0, 1, 0],
    })  # fmt: skip
    fed = from_partitions([part], x=["age", "height", "smokes", "pulse"])
    assert fed.train.x.tolist() == [
        [30.0, 1.5, 1.0, 60.0, 61.0], [40.0, 1.75, 0.0, 70.0, 71.0], [50.0, 2.0, 1.0, 80.0, 81.0]
    ]  # fmt: skip
    assert fed.train.x.dtype == torch.float32
    with pytest.raises(ValueError, match=r"name is \('a', 'b', 'c'\); allowed: numbers, in each"):
        from_partitions([part], x=["age", "name"])
    with pytest.raises(
        ValueError, match=r"x\[1\] is 'weight'; allowed: one of the columns \['age'"
    ):
        from_partitions([part], x=["age", "weight"])


def test_floats_are_targets_of_a_regression():
    part = datasets.Dataset.from_dict({"image": [[0.5]] * 4, "label": [0.5, -1.0, 2.0, 0.25]})
    fed = from_partitions([part.with_format("numpy")])
    assert fed.train.y.tolist() == [0.5, -1.0, 2.0, 0.25]
    assert fed.train.y.dtype == torch.float32
    assert fed.classes == 0


def test_strings_are_classes_in_alphabetical_order_and_classes_keep_their_names():
    one, other = ["dog", "cat", "dog"], ["ant", "dog"]
    parts = [table([picture(i) for i in range(len(words))], words) for words in (one, other)]
    fed = from_partitions(parts)
    assert fed.labels == ("ant", "cat", "dog")
    assert [fed.labels[k] for k in fed.train.y] == one + other
    named = [part.cast_column("label", datasets.ClassLabel(names=["dog", "cat", "ant", "cow"]))
             for part in parts]  # fmt: skip
    fed = from_partitions(named)
    assert fed.labels == ("dog", "cat", "ant", "cow")
    assert fed.classes == 4
    assert [fed.labels[k] for k in fed.train.y] == one + other
    letters = from_partitions([table([picture(i) for i in range(3)], ["b", "a", "b"])])
    assert (letters.classes, letters.labels) == (2, ("a", "b"))  # not the next characters of a text
    mixed = [named[0], parts[1].cast_column("label", datasets.ClassLabel(names=["ant", "dog"]))]
    with pytest.raises(ValueError, match=r"names of the classes in label is .*; allowed: the same"):
        from_partitions(mixed)


def test_a_hub_of_numbers_in_several_columns(tmp_path):
    rows = {"who": ["a"] * 10 + ["b"] * 10, "u": [i / 2 for i in range(20)], "v": list(range(20)),
            "price": [float(i) for i in range(20)]}  # fmt: skip
    datasets.Dataset.from_dict(rows).to_parquet(tmp_path / "f")
    options = {"data_files": str(tmp_path / "f"), "cache_dir": str(tmp_path / "c")}
    fed = hub("parquet", x=["u", "v"], y="price", by="who", shuffle=False, **options)
    assert fed.names == ("a", "b")
    assert fed.train.examples(1)[0].tolist() == [[i / 2, i] for i in range(10, 18)]
    assert fed.train.examples(1)[1].tolist() == list(range(10, 18))
    with pytest.raises(ValueError, match="x is 'w'; allowed: one of the columns"):
        hub("parquet", x=["u", "w"], y="price", by="who", **options)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("who", "a value of who is None; allowed: one in each row"),
        ("u", r"u \(1 of 13 values\) is \[None\]; allowed: "),
        ("price", r"price \(1 of 13 values\) is \[None\]; allowed: "),
    ],
)
def test_a_value_that_is_missing_in_a_table_is_named(column, message, tmp_path):
    rows: dict[str, list[Any]] = {"who": ["a"] * 13, "u": [0.5] * 13, "price": [1] * 13}
    rows[column][12] = None
    datasets.Dataset.from_dict(rows).to_parquet(tmp_path / "f")
    options = {"data_files": str(tmp_path / "f"), "cache_dir": str(tmp_path / "c")}
    with pytest.raises(ValueError, match=message):
        hub("parquet", x=["u"], y="price", by="who", **options)


# ------------------------------------- the papers' data sets, in files with the schema of the Hub


def png(pixels: np.ndarray) -> bytes:
    file = BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


def parquet(path: Path, columns: dict[str, tuple[Any, list[Any]]], features: dict) -> None:
    """Write a file as the Hub holds it: Arrow columns, with the features as JSON in the schema."""
    struct = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    arrays = {n: pa.array(v, struct if t == "image" else t) for n, (t, v) in columns.items()}
    about = {"huggingface": json.dumps({"info": {"features": features}})}
    pq.write_table(pa.table(arrays).replace_schema_metadata(about), path)


IMAGE, STRING = {"_type": "Image"}, {"dtype": "string", "_type": "Value"}
CHARACTERS = [*string.digits, *string.ascii_uppercase, *string.ascii_lowercase]
CIFAR = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]


def test_femnist_is_read_from_a_file_of_its_schema(tmp_path):
    rng = np.random.default_rng(0)
    pixels = rng.integers(256, size=(25, 28, 28), dtype=np.uint8)
    writers = ["f0000_14"] * 10 + ["f0001_41"] * 12 + ["f3999_12"] * 3
    characters = rng.integers(62, size=25).tolist()
    columns = {
        "image": ("image", [{"bytes": png(p), "path": f"{i}.png"} for i, p in enumerate(pixels)]),
        "writer_id": (pa.string(), writers),
        "hsf_id": (pa.int64(), [0] * 25),
        "character": (pa.int64(), characters),
    }
    parquet(tmp_path / "train-00000-of-00001.parquet", columns, {
        "image": IMAGE, "writer_id": STRING, "hsf_id": {"dtype": "int64", "_type": "Value"},
        "character": {"names": CHARACTERS, "_type": "ClassLabel"},
    })  # fmt: skip
    options = {"data_files": str(tmp_path / "train-*.parquet"), "cache_dir": str(tmp_path / "c")}
    fed = hub("parquet", y="character", by="writer_id", shuffle=False, **options)
    assert fed.names == ("f0000_14", "f0001_41")  # the third has too few images to split
    assert (fed.classes, fed.labels) == (62, tuple(CHARACTERS))
    assert fed.train.x.shape[1:] == (1, 28, 28)
    for i, (start, n) in enumerate([(0, 10), (10, 12)]):
        x, y = fed.train.examples(i)
        chosen = slice(start, start + int(0.8 * n))
        assert torch.equal(x[:, 0], torch.tensor(pixels[chosen]) / 255)
        assert y.tolist() == characters[chosen]
    assert cnn_femnist()(cnn_femnist().init(), fed.train.inputs(torch.arange(2))).shape == (2, 62)


def test_cifar_10_is_read_from_a_file_of_its_schema(tmp_path):
    pixels = np.random.default_rng(0).integers(256, size=(40, 32, 32, 3), dtype=np.uint8)
    labels = [i % 10 for i in range(40)]
    columns = {
        "img": ("image", [{"bytes": png(p), "path": None} for p in pixels]),
        "label": (pa.int64(), labels),
    }
    features = {"img": IMAGE, "label": {"names": CIFAR, "_type": "ClassLabel"}}
    parquet(tmp_path / "train-00000-of-00001.parquet", columns, features)
    options = {"data_files": str(tmp_path / "train-*"), "cache_dir": str(tmp_path / "c")}
    fed = hub("parquet", x="img", by="label", clients=2, alpha=1e6, **options)
    assert fed.labels == tuple(CIFAR)
    assert fed.train.x.shape == (40, 3, 32, 32)
    originals = (torch.tensor(pixels).permute(0, 3, 1, 2) / 255).flatten(1)
    seen = [int((originals == one).all(1).nonzero()) for one in (fed.train.x / 255).flatten(1)]
    assert sorted(seen) == list(range(40))
    assert fed.train.y.tolist() == [labels[i] for i in seen]


@pytest.mark.parametrize("shuffle", [True, False])
def test_a_data_sets_own_test_part_is_dealt_out_as_the_clients_test_data(tmp_path, shuffle):
    for part, labels in (("train", range(100, 120)), ("test", range(200, 207))):
        table = {"x": [float(v) for v in labels], "label": [v % 2 for v in labels]}
        pq.write_table(pa.table(table), tmp_path / f"{part}.parquet")
    files = {part: str(tmp_path / f"{part}.parquet") for part in ("train", "test")}
    fed = hub(
        "parquet", x="x", clients=2, test="test", fractions=(0.8, 0.2, 0.0), shuffle=shuffle,
        data_files=files, cache_dir=str(tmp_path / "c"),
    )  # fmt: skip
    assert [part.n.tolist() for part in (fed.train, fed.val)] == [[8, 8], [2, 2]]
    assert sorted(fed.test.n.tolist()) == [3, 4]
    seen = {
        name: sorted(x for i in range(2) for x in part.examples(i)[0].flatten().tolist())
        for name, part in (("train", fed.train), ("val", fed.val), ("test", fed.test))
    }
    assert sorted(seen["train"] + seen["val"]) == [float(v) for v in range(100, 120)]
    assert seen["test"] == [float(v) for v in range(200, 207)]
    assert all(
        torch.equal(y, x.flatten().long() % 2)
        for part in (fed.train, fed.val, fed.test) for i in range(2)
        for x, y in [part.examples(i)]
    )  # fmt: skip


def test_a_test_part_goes_with_clients_that_are_drawn():
    with pytest.raises(ValueError, match="test is 'test'; allowed: None, unless by is"):
        hub("parquet", by="writer", test="test")


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # of datasets' CSV reader
def test_shakespeare_is_read_from_a_file_of_its_schema(tmp_path):
    said = {
        "ALL_S_WELL_THAT_ENDS_WELL_HELENA": "I pray thee, Rosalind, sweet my coz, be merry, and "
        "from the crown of our father Duke learn to love me -- no; nor none.",
        "THE_TRAGEDY_OF_HAMLET_OPHELIA": 'My lord, I have "remembrances" of yours, '
        "That I have longed long to re-deliver; I pray you now receive them: 1, 2 and 3, null, NA.",
    }
    pairs = {who: windows(text, 80) for who, text in said.items()}
    with (tmp_path / "shakespeare.csv").open("w", newline="") as file:  # the Hub's is a CSV, too
        writer = csv.writer(file)
        writer.writerow(["character_id", "x", "y"])
        writer.writerows((who, x, y) for who, own in pairs.items() for x, y in own)
    options = {"data_files": str(tmp_path / "shakespeare.csv"), "cache_dir": str(tmp_path / "c")}
    fed = hub("csv", x="x", y="y", by="character_id", shuffle=False, **options)
    gc.collect()  # closes the file
    assert fed.names == tuple(said)
    assert fed.classes == VOCABULARY
    for i, own in enumerate(pairs.values()):
        x, y = fed.train.examples(i)
        kept = own[: int(0.8 * len(own))]
        assert [(decode(a), decode(b[None])) for a, b in zip(x, y, strict=True)] == kept


LISTS = datasets.Dataset.from_dict


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([], "examples of the smallest client is 0"),
        ([table([picture(0)] * 3, [0] * 3).select([])], "examples of the smallest client is 0"),
        ([table([picture(0)] * 2, [0, -1])], r"label is \[0, -1\]; allowed: class numbers of at"),
        ([table([picture(0)] * 2, [None, 1])], r"label is \[None, 1\]; allowed: class numbers, fl"),
        ([table([picture(0)] * 2, [None, "a"])], r"label is \[None, 'a'\]; allowed: class numbers"),
        ([table([picture(0)] * 2, [0.5, None])], r"label is \[0.5, None\]; allowed: class numbers"),
        (
            [table([picture(0), None], [0, 1])],
            "image is 'NoneType'; allowed: an image, as in the f",
        ),
        ([LISTS({"label": [1]})], r"x is 'image'; allowed: one of the columns \['label'\]"),
        ([LISTS({"image": [0.5]})], r"y is 'label'; allowed: one of the columns \['image'\]"),
        (
            [LISTS({"image": [0.5], "label": [0]}), LISTS({"image": [0.5], "target": [0]})],
            r"y is 'label'; allowed: one of the columns \['image', 'target'\]",
        ),
        ([{"image": [0.5], "label": [0]}], r"partitions\[0\] is 'dict'; allowed: a datasets.Data"),
        (
            [LISTS({"image": [0.5], "label": [0]}).to_iterable_dataset()],
            r"partitions\[0\] is 'IterableDataset'; allowed: a datasets.Dataset, as Federated",
        ),
        ([LISTS({"image": [None, "ab"], "label": [0, 1]})], "image is .*; allowed: numbers of one"),
        ([LISTS({"image": ["ab", None], "label": [0, 1]})], "image is .*; allowed: strings of one"),
        ([LISTS({"image": [[1.0], [1.0, 2.0]], "label": [0, 1]})], "image is .*; allowed: numbers"),
        ([table([picture(0, "I;16")] * 2, [0, 1])], "mode of an image is 'I;16'; allowed: 8 bits"),
        ([LISTS({"image": ["ab", "c"], "label": [0, 1]})], r"lengths of image is \[1, 2\]"),
    ],
)
def test_what_a_federation_cannot_be_made_of_is_named(parts, message):
    with pytest.raises(ValueError, match=message):
        from_partitions(parts)


def test_one_partition_without_a_list_is_refused_by_name(unchecked):
    with pytest.raises(ValueError, match="partitions is 'Dataset'; allowed: a list of data sets"):
        from_partitions(LISTS({"image": [0.5], "label": [0]}))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"clients": 2, "x": "img"}, "x is 'img'; allowed: one of the columns"),
        ({"clients": 2, "y": "class"}, "y is 'class'; allowed: one of the columns"),
        ({"by": "label", "clients": 2, "y": "class"}, "y is 'class'; allowed: one of the columns"),
        ({"by": "author"}, "by is 'author'; allowed: one of the columns"),
        ({"by": "writer", "clients": 8}, "clients is 8; allowed: up to 7"),
        ({"by": "writer", "clients": 0}, "clients is 0; allowed: a whole number of at least 1"),
        ({"by": "iid"}, "clients is None; allowed: a whole number of at least 1"),
        ({"by": "label", "clients": 2, "alpha": 0}, "alpha is 0; allowed: a finite number above 0"),
        ({"clients": 2, "seed": -1}, "seed is -1; allowed: a whole number of at least 0"),
    ],
)
def test_what_cannot_be_divided_is_named(options, message, local):
    with pytest.raises(ValueError, match=message):
        hub(**options, **local)


def test_without_a_network_the_error_says_what_to_do(tmp_path):
    with pytest.raises(
        ConnectionError, match=r"connect to the internet and .* local files"
    ) as seen:
        hub("fedlab-edu/none-of-this-name", clients=2, cache_dir=str(tmp_path))
    assert isinstance(seen.value.__cause__, ConnectionError)


def test_without_flwr_datasets_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "flwr_datasets", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'fedlab_edu\[data\]'"):
        hub("ylecun/mnist", clients=2)
