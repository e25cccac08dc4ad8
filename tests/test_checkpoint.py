"""Runs in files: what is read goes on as if it had never stopped, and what is broken is refused."""

import dataclasses
import io
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from threading import Lock
from types import ModuleType
from unittest import mock

import numpy as np
import pytest
import torch
from torch import nn

from fedlab_edu import (
    Federation,
    FedPA,
    LocalHP,
    Run,
    ServerHP,
    digits,
    linear,
    load_run,
    save_run,
    start,
    train,
)
from fedlab_edu.models.copies import Copies
from fedlab_edu.models.model import cross_entropy
from fedlab_edu.rounds import checkpoint
from fedlab_edu.rounds.fingerprint import Reader
from tests.test_methods import METHODS
from tests.test_run import Noting

MODEL = linear(64, 10)


@pytest.fixture(scope="module")
def fed():
    return digits(clients=14)


def a_run(fed: Federation, name: str = "fedavg") -> Run:
    method, own = METHODS[name]
    c, b = LocalHP(**{"lr": 0.05, "epochs": 2, **own}), ServerHP(momentum=0.5, decay=0.9)
    return train(start(MODEL, fed, c, b, seed=3, method=method), MODEL, fed, 3, clients=5)


@pytest.mark.parametrize("name", METHODS)
def test_a_run_read_from_a_file_goes_on_as_if_it_had_never_stopped(name, fed, tmp_path):
    run = a_run(fed, name)
    save_run(run, tmp_path / "run")
    again = load_run(tmp_path / "run")
    one, other = (train(r, MODEL, fed, 3, clients=5) for r in (run, again))
    torch.testing.assert_close(one.server, other.server, rtol=0, atol=0)
    torch.testing.assert_close(one.states, other.states, rtol=0, atol=0)
    for a, b in zip(one.history, other.history, strict=True):
        torch.testing.assert_close(vars(a), vars(b), rtol=0, atol=0)
    assert other.method == METHODS[name][0]
    assert other.round == 6
    assert os.listdir(tmp_path) == ["run"]


def test_a_run_with_a_tuner_of_ones_own_is_read_where_its_class_is_named(fed, tmp_path):
    run = train(start(MODEL, fed, Noting()), MODEL, fed, 1, clients=2)
    save_run(run, tmp_path / "run")
    message = r"this one has \S+Noting, a class to name in `load_run`"
    with pytest.raises(ValueError, match=message) as told:
        load_run(tmp_path / "run")
    assert told.value.__context__ is None  # PyTorch's advice is to trust any file
    assert isinstance(load_run(tmp_path / "run", Noting).tuner, Noting)


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-100])


def flip(file: Path) -> None:
    """One bit of the weights."""
    raw = bytearray(file.read_bytes())
    raw[raw.index(torch.full((3,), 7.0).numpy().tobytes())] ^= 1
    file.write_bytes(raw)


def directory(file: Path) -> None:
    """The bit by which an archive says that an entry is a folder."""
    raw = bytearray(file.read_bytes())
    raw[raw.rindex(b"PK\x01\x02") + 38] ^= 0x10
    file.write_bytes(raw)


def signed(thing: object, file: Path) -> None:
    """Anything, in the form of a run's file."""
    torch.save(thing, file)
    file.write_bytes(file.read_bytes() + sha256(file.read_bytes()).digest())


def foreign(file: Path) -> None:
    signed({"w": torch.zeros(3)}, file)


def no_run(file: Path) -> None:
    signed(({}, torch.zeros(3)), file)


def plain_torch(file: Path) -> None:
    torch.save({"w": torch.zeros(3)}, file)


def empty(file: Path) -> None:
    file.write_bytes(b"")


def text(file: Path) -> None:
    file.write_text("not a run at all")


class Malicious:
    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[Callable[[str], int], tuple[str]]:
        return os.system, (f"touch {self.file.parent / 'ran'}",)


def malicious(file: Path) -> None:
    signed(Malicious(file), file)


class Called:
    """Calls something of this package that is no frozen dataclass and no named tuple."""

    def __init__(self, function: Callable[..., object], *args: object) -> None:
        self.function, self.args = function, args

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return self.function, self.args


def our_function(file: Path) -> None:
    signed(Called(checkpoint.write, 1, str(file.parent / "ran")), file)


def our_class(file: Path) -> None:
    signed(Called(Copies, None), file)


def our_command(file: Path) -> None:
    """The module of the command line, which runs the command where it is imported."""
    main = ModuleType("fedlab_edu.__main__")
    main.Run = type("Run", (), {"__module__": main.__name__})
    with mock.patch.dict(sys.modules, {main.__name__: main}):
        signed(main.Run(), file)


def plain_pickle(file: Path) -> None:
    raw = pickle.dumps(Malicious(file), protocol=2)
    file.write_bytes(raw + sha256(raw).digest())


def of_another_version(file: Path) -> None:
    """A run that lacks a field."""
    run = load_run(file)
    del run.__dict__["states"]
    signed(({}, run), file)


def no_origin(file: Path) -> None:
    signed((5, load_run(file)), file)


@pytest.mark.parametrize(
    "damage",
    [
        cut,
        flip,
        directory,
        foreign,
        no_run,
        plain_torch,
        empty,
        text,
        malicious,
        our_function,
        our_class,
        our_command,
        plain_pickle,
        of_another_version,
        no_origin,
    ],
    ids=lambda f: f.__name__,
)
def test_what_is_not_a_whole_run_is_refused_and_left_as_it_was(damage, fed, tmp_path):
    file, run = tmp_path / "run", a_run(fed)
    marked = torch.cat([torch.full((3,), 7.0), run.w[3:]])
    save_run(dataclasses.replace(run, server=run.server._replace(w=marked)), file)
    damage(file)
    before = file.read_bytes()
    with pytest.raises(
        ValueError, match=r"path is '.*run'; allowed: a file that `save_run` has written"
    ):
        load_run(file)
    assert file.read_bytes() == before
    assert not (tmp_path / "ran").exists()


def test_what_cannot_be_written_whole_leaves_the_old_file(fed, tmp_path, monkeypatch):
    file, run = tmp_path / "run", a_run(fed)
    save_run(run, file)
    before = file.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space left"):
        save_run(train(run, MODEL, fed, 1, clients=2), file)
    assert file.read_bytes() == before
    assert os.listdir(tmp_path) == ["run"]


@pytest.mark.parametrize("error", [OSError("no space left"), KeyboardInterrupt()], ids=repr)
def test_a_full_disk_or_ctrl_c_in_the_middle_of_writing_stays_what_it_is(
    error, fed, tmp_path, monkeypatch
):
    class Stopping(io.FileIO):
        def write(self, content: bytes) -> int:
            if not left:
                raise error
            left.pop()
            return super().write(content)

    file, run = tmp_path / "run", start(MODEL, fed)
    save_run(run, file)
    left: list[int] = []
    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", lambda path, mode: Stopping(path, "x+"))
        with pytest.raises(type(error)):
            save_run(run, file)
        for writes in range(1, 60):
            left[:] = range(writes)
            with suppress(type(error)):
                save_run(run, file)
            assert os.listdir(tmp_path) == ["run"]
    assert left  # of so many writes the last were not needed
    assert load_run(file).round == 0


def test_a_link_stays_a_link_and_what_it_points_to_is_written(fed, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    link, file = tmp_path / "link", tmp_path / "elsewhere" / "run"
    link.symlink_to(file)
    for seed in (1, 2):  # what it points to is not there yet, and then it is
        save_run(start(MODEL, fed, seed=seed), link)
        assert link.is_symlink()
        assert load_run(file).seed == load_run(link).seed == seed
    assert os.listdir(tmp_path / "elsewhere") == ["run"]


@pytest.mark.parametrize("letter", ["x", "\N{SNOWMAN}"])
def test_a_name_of_255_bytes_is_written_as_any_other(letter, fed, tmp_path):
    path = tmp_path / (255 // len(letter.encode()) * letter)
    save_run(start(MODEL, fed, seed=3), path)
    assert load_run(path).seed == 3
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_or_a_device_is_refused_and_stays_what_it_is(fed, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path):
        for act in (partial(save_run, start(MODEL, fed)), load_run):
            with pytest.raises(
                ValueError, match=r"^path is '.*'; allowed: a new name, or a file's$"
            ):
                act(path)
    assert pipe.is_fifo()
    assert [*tmp_path.iterdir()] == [pipe]


@pytest.mark.parametrize("path", [None, b"run", io.BytesIO(), 3])
@pytest.mark.usefixtures("unchecked")
def test_what_is_no_path_is_refused_by_name(path, fed):
    for act in (partial(save_run, start(MODEL, fed)), load_run):
        with pytest.raises(ValueError, match=r"^path is '\w+'; allowed: a str or a Path: the name"):
            act(path)


def test_others_may_read_what_they_may_read_of_any_new_file(fed, tmp_path):
    save_run(start(MODEL, fed), tmp_path / "run")
    (tmp_path / "any").touch()
    assert (tmp_path / "run").stat().st_mode == (tmp_path / "any").stat().st_mode


def test_several_threads_may_read_at_once(fed, tmp_path):
    save_run(a_run(fed), tmp_path / "run")
    with ThreadPoolExecutor(4) as pool:
        runs = list(pool.map(load_run, [tmp_path / "run"] * 40))
    assert {run.round for run in runs} == {3}


def test_numbers_of_numpy_are_read_as_they_were_written(fed, tmp_path):
    method = FedPA(rho=np.float64(0.2))
    save_run(start(MODEL, fed, seed=np.int64(3), method=method), tmp_path / "run")
    again = load_run(tmp_path / "run")
    assert again.seed == 3
    assert again.method == FedPA(rho=0.2)


def test_a_file_that_is_not_there_is_named():
    with pytest.raises(FileNotFoundError, match="no-such-run"):
        load_run("no-such-run")


@dataclasses.dataclass(frozen=True)
class Cached(FedPA):
    @cached_property
    def twice(self) -> float:
        return 2 * self.rho


class Wider(FedPA):
    """A method with a field more, and no dataclass itself."""

    def __init__(self, more: float) -> None:
        super().__init__()
        object.__setattr__(self, "more", more)


@dataclasses.dataclass(frozen=True, slots=True)
class Slotted(FedPA):
    more: float = 0.0


def test_what_a_class_of_ones_own_holds_beside_its_fields_is_read_again(fed, tmp_path):
    cached, wider = Cached(rho=0.5), Wider(3.0)
    assert cached.twice == 1
    for method in (cached, wider, Slotted(rho=0.5, more=3.0)):
        save_run(start(MODEL, fed, method=method), tmp_path / "run")
        again = load_run(tmp_path / "run", Cached, Wider, Slotted).method
        assert type(again) is type(method)
        assert again == method
        assert getattr(again, "more", None) == getattr(method, "more", None)


@dataclasses.dataclass
class Pair:
    a: object
    b: object


@dataclasses.dataclass(slots=True)
class Slots:
    a: object


@dataclasses.dataclass
class Scaled:
    """A loss of one's own: an object that can be called."""

    by: float

    def __call__(self, outputs: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return self.by * cross_entropy(outputs, y)


def scaled(by: float) -> float:
    return by


def test_a_property_that_is_kept_once_computed_changes_no_fingerprint():
    method = Cached(rho=0.5)
    before = Reader().digest(method)
    assert method.twice == 1
    assert Reader().digest(method) == before


def test_fingerprints_differ_wherever_a_number_or_a_name_does():
    F = torch.float64
    values = [
        torch.zeros(4), torch.zeros(4, dtype=F), torch.zeros(2, 2), torch.zeros(5), torch.ones(4),
        np.zeros(4000), np.concatenate([np.zeros(2000), [1.0], np.zeros(1999)]),
        [1, 2], (1, 2), [[1], 2], [12], ["1", 2], [1.0, 2], {1: 2}, {1: 2, 3: 4}, {2: 1},
        Pair(1, 2), Pair(2, 1), Pair((1,), 2), None, True, 1, "1", b"1", LocalHP, ServerHP,
        LocalHP(), LocalHP(lr=[0.1]), LocalHP(lr=0.2), ServerHP(), FedPA(), FedPA(rho=0.5),
        linear, cross_entropy, partial(scaled, 2), partial(scaled, 3), partial(scaled),
        partial(scaled, by=2), partial(scaled, by=3), partial(linear, 2), Scaled(1), Scaled(2),
        partial(Scaled(1), 2), partial(Scaled(2), 2), Slots(torch.zeros(4000)),
        Slots(torch.cat([torch.zeros(2000), torch.ones(1), torch.zeros(1999)])), Wider(1), Wider(2),
        {"a", "b"}, {"a"}, ["a", "b"],
    ]  # fmt: skip
    prints = [Reader().digest(value) for value in values]
    assert len(set(prints)) == len(values)
    assert prints == [Reader().digest(value) for value in values]
    # a network's layers are a dictionary, too, and their order is that of the computation
    assert Reader().digest({1: 2, 3: 4}) != Reader().digest({3: 4, 1: 2})
    assert Reader().digest(torch.arange(6).view(2, 3).T) == Reader().digest(
        torch.tensor([[0, 3], [1, 4], [2, 5]])
    )


@pytest.mark.processes
def test_a_process_that_has_imported_no_tuner_reads_a_run_with_one(tmp_path):
    from fedlab_edu.methods.private import DPFedAvg
    from fedlab_edu.tuners.fedex import FedEx

    table = LocalHP(lr=[0.1, 0.2], batch=8)
    begun = start(MODEL, digits(clients=14), FedEx(table), method=DPFedAvg(noise=0.5))
    save_run(train(begun, MODEL, digits(clients=14), 1), tmp_path / "run")
    code = """
import sys
from fedlab_edu.rounds.checkpoint import load_run
assert not any(name.startswith("fedlab_edu.tuners.fedex") for name in sys.modules)
run = load_run(sys.argv[1])
print(type(run.tuner).__name__, run.method.noise, run.round)
"""
    words = [sys.executable, "-c", code, str(tmp_path / "run")]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["FedEx", "0.5", "1"]


def test_a_run_that_could_not_be_read_again_is_refused_and_not_written(tmp_path):
    fed = digits(clients=14)
    begun = start(MODEL, fed, Noting())
    run = dataclasses.replace(begun, tuner=dataclasses.replace(begun.tuner, told=(np.float64(1),)))
    with pytest.raises(ValueError, match=r"run is .*numpy.*; allowed: .* store float"):
        save_run(run, tmp_path / "run")
    assert not [*tmp_path.iterdir()]


PARTS = {
    "a function without a name": lambda: 0,
    "a lock": Lock(),
    "a parametrized layer": nn.utils.parametrizations.weight_norm(nn.Linear(2, 2)),
}


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_a_run_with_a_part_that_pickle_does_not_take_is_refused_in_one_line(part, fed, tmp_path):
    save_run(start(MODEL, fed), tmp_path / "run")
    before = (tmp_path / "run").read_bytes()
    run = start(MODEL, fed, dataclasses.replace(Noting(), told=(part,)))
    with pytest.raises(ValueError, match=r"^a part of what is saved is .*; allowed: what pickle"):
        save_run(run, tmp_path / "run")
    assert (tmp_path / "run").read_bytes() == before


@pytest.mark.usefixtures("unchecked")
def test_arguments_of_another_kind_are_named_when_runs_are_saved_and_read(fed, tmp_path):
    path, run = tmp_path / "run", start(MODEL, fed)
    save_run(run, path, MODEL, fed)
    for act in (partial(save_run, run, path), partial(load_run, path)):
        with pytest.raises(ValueError, match=r"^model is 'Federation'; allowed: a Model"):
            act(model=fed, fed=MODEL)
    for also, seen in (((MODEL, fed), "Model"), (([Noting],), "list"), ((Noting(),), "Noting")):
        with pytest.raises(ValueError, match=rf"^also is 'a {seen}'; allowed: classes of your own"):
            load_run(path, *also)
    with pytest.raises(ValueError, match=r"^also is <class .*Noting'>; allowed: .* as \(MyTuner,"):
        checkpoint.read(path.read_bytes(), path, Noting, "", "")
