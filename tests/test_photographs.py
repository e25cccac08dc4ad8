"""FedPop's photographs, from files of the same columns; images that stay bytes until used."""

import os
from collections import Counter
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from fedlab_edu import LocalHP, local_sgd, mlp, score
from fedlab_edu.data import Federation, federate
from fedlab_edu.data.hub import hub
from fedlab_edu.papers import experiment, photographs

os.environ["FLWR_TELEMETRY_ENABLED"] = "0"
import datasets

NAMES = ["aircraft", *photographs.CLASSES, "yoga"]


@pytest.fixture
def stored(tmp_path, monkeypatch):
    """Store images for the next call of `hub`; image i shows i in its first channels."""

    def store(names: list[str], domains: list[str], each: int) -> None:
        experiment._kept.cache_clear()
        rows = [(d, y) for _ in range(each) for d in range(len(domains)) for y in range(len(names))]
        images = [Image.new("RGB", (5, 5), (i // 256, i % 256, y)) for i, (_, y) in enumerate(rows)]
        columns = {"image": images, "domain": [d for d, _ in rows], "label": [y for _, y in rows]}
        data = datasets.Dataset.from_dict(columns).cast_column("image", datasets.Image())
        data = data.cast_column("domain", datasets.ClassLabel(names=domains))
        data.cast_column("label", datasets.ClassLabel(names=names)).to_parquet(tmp_path / "f")
        local = {"data_files": str(tmp_path / "f"), "cache_dir": str(tmp_path / "c")}

        def asked(name: str, **how: Any) -> Federation:
            assert how["side"] == 224
            return hub("parquet", **{**how, "side": 5}, **local)

        monkeypatch.setattr(experiment, "hub", asked)

    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setenv("HOME", str(tmp_path))
    return store


def test_domainnet_is_a_tenth_of_ten_classes_in_each_domain(stored):
    stored(NAMES, ["real", "sketch"], 40)  # 400 of the ten classes in each domain
    fed = photographs.DOMAINNET(0)
    assert fed.labels == photographs.CLASSES
    assert sorted(fed.names) == ["real", "sketch"]
    for part, n in ((fed.train, 32), (fed.val, 4), (fed.test, 4)):
        assert part.n.tolist() == [n, n]
    shown = fed.train.x[:, 2, 0, 0].tolist()  # the class in the file, from 0
    assert [fed.labels[y] for y in fed.train.y.tolist()] == [NAMES[i] for i in shown]
    images = fed.train.x[:, :2, 0, 0].tolist()
    assert len({*map(tuple, images)}) == 80


def test_pacs_is_a_tenth_of_each_domain(stored):
    stored(["dog", "elephant", "giraffe"], ["art", "photo", "sketch"], 37)  # 111 a domain
    fed = photographs.PACS(0)
    assert fed.labels == ("dog", "elephant", "giraffe")
    assert [len(part.x) for part in (fed.train, fed.val, fed.test)] == [33] * 3
    assert (fed.train.n + fed.val.n + fed.test.n).tolist() == [11] * 3


def test_office_home_has_8_2_and_2_images_of_each_class(stored):
    stored(["bed", "bike", "fan", "sofa", "pen"], ["Art", "Product"], 15)
    fed = photographs.OFFICE_HOME(0)
    for part, each in ((fed.train, 8), (fed.val, 2), (fed.test, 2)):
        for i in range(2):
            assert Counter(part.examples(i)[1].tolist()) == dict.fromkeys(range(5), each)


def test_the_paper_s_65_classes_split_without_a_remainder():
    x, fractions = np.zeros((780, 1)), (8 / 12, 2 / 12, 2 / 12)  # 12 images of 65 classes
    fed = federate(x, [0] * 780, [range(780)], fractions=fractions)
    assert [int(part.n) for part in (fed.train, fed.val, fed.test)] == [520, 130, 130]


def test_the_choice_of_photographs_is_always_the_same(stored):
    stored(NAMES, ["real", "sketch"], 20)
    one = photographs.DOMAINNET(0)
    experiment._kept.cache_clear()
    other = photographs.DOMAINNET(1)
    assert other.train.x is not one.train.x
    assert torch.equal(one.train.x, other.train.x)
    assert all(map(torch.equal, one.train.rows, other.train.rows))


PIXELS = np.random.default_rng(0).integers(256, size=(30, 3, 8, 8), dtype=np.uint8)
make = partial(federate, y=[i % 3 for i in range(30)], rows=[range(10), range(10, 30)])


def test_images_of_uint8_take_a_byte_a_pixel_and_become_floats_when_asked_for():
    fed = make(PIXELS)
    assert fed.train.x.dtype == torch.uint8
    assert fed.train.x.untyped_storage().nbytes() == PIXELS.size
    assert fed.train.x is fed.val.x is fed.test.x
    wanted = torch.tensor(PIXELS / 255, dtype=torch.float32)
    assert torch.allclose(fed.train.examples(1)[0], wanted[fed.train.rows[1]])
    assert torch.allclose(fed.train.padded()[0][1], wanted[fed.train.rows[1]])
    assert torch.allclose(fed.train.inputs(torch.tensor([[3], [7]])), wanted[[3, 7]][:, None])


def test_clients_with_images_of_uint8_train_as_with_those_of_floats():
    model, c = mlp(3 * 64, 5, 3), LocalHP(lr=0.1, epochs=2, batch=4)
    bytes_, floats = make(PIXELS), make(torch.tensor(PIXELS) / 255)
    w = model.init(0)
    W = [local_sgd(model, w, fed.train, c, [1, 2]) for fed in (bytes_, floats)]
    assert torch.equal(*W)
    assert torch.equal(*(score(model, W[0], fed.val).loss for fed in (bytes_, floats)))


def test_tokens_of_uint8_stay_whole_numbers():
    fed = federate(np.zeros((4, 6), dtype=np.uint8), [0, 1, 0, 1], [range(4)], fractions=(1, 0, 0))
    assert fed.train.examples(0)[0].dtype == torch.uint8
