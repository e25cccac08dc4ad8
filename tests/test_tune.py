"""Spending a budget: what a search costs when it is interrupted, and what is refused."""

import os
import pty
import re
import signal
import subprocess
import sys
import termios
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from tqdm import tqdm

from fedlab_edu import (
    Estimate,
    Federation,
    FedProx,
    LocalHP,
    Scaffold,
    bayesian_search,
    digits,
    fedpop,
    fedtune,
    from_module,
    hyperband,
    linear,
    random_search,
    successive_halving,
    tune,
)
from fedlab_edu.models.model import cross_entropy
from fedlab_edu.rounds.checkpoint import read
from fedlab_edu.rounds.communicate import StopTraining
from fedlab_edu.search import tune as module
from fedlab_edu.search.baselines import make_arms, race
from fedlab_edu.search.distributions import Choice, Uniform
from fedlab_edu.search.race import Race
from fedlab_edu.search.schedules import bracket
from fedlab_edu.search.space import FEDEX, SearchSpace, Spaces
from fedlab_edu.training.scores import Score
from tests.test_run import Noting

MODEL = linear(64, 10)
NO_DROPOUT = replace(FEDEX, client=FEDEX.client.without("dropout"))
ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def fed():
    return digits(clients=14)


def halving(fed: Federation, **how) -> Race:
    return successive_halving(MODEL, fed, FEDEX, 24, 10, 2, 2, method=FedProx(), **how)


def same(one: Race, other: Race, rounding: float = 0.0) -> None:
    """All numbers of two races are equal, bit by bit or up to rounding."""
    assert (one.out, one.best) == (other.out, other.best)
    for ours, theirs in zip(one.traces, other.traces, strict=True):
        assert ours == pytest.approx(theirs, abs=rounding, nan_ok=True)
    for a, b in zip(one.runs, other.runs, strict=True):
        torch.testing.assert_close(a.server, b.server, rtol=rounding, atol=rounding)
        torch.testing.assert_close(a.states, b.states, rtol=rounding, atol=rounding)
        for x, y in zip(a.history, b.history, strict=True):
            torch.testing.assert_close(vars(x), vars(y), rtol=rounding, atol=rounding)


def stepped(search: Race, fed: Federation) -> Race:
    while not search.done:
        search = search.step(MODEL, fed, 3)
    return search


class Stop(Exception):
    """An error that stops a search in the middle."""


def interrupted(monkeypatch: pytest.MonkeyPatch, calls: int, error: type[BaseException]) -> None:
    """Let a search take so many steps, and raise in the next."""
    step, taken = Race.step, []

    def limited(*arguments):
        if len(taken) == calls:
            raise error
        taken.append(1)
        return step(*arguments)

    monkeypatch.setattr(Race, "step", limited)


@pytest.mark.parametrize("method", [FedProx(), Scaffold()], ids=["FedProx", "SCAFFOLD"])
@pytest.mark.parametrize(
    ("calls", "error"), [(0, Stop), (1, Stop), (4, KeyboardInterrupt), (9, Stop)]
)
def test_a_search_that_is_stopped_goes_on_where_it_was(
    method, calls, error, fed, tmp_path, monkeypatch
):
    spaces = replace(FEDEX, client=FEDEX.client.without("mu"))
    begun = successive_halving(MODEL, fed, spaces, 24, 10, 2, 2, method=method)
    with monkeypatch.context() as patch:
        interrupted(patch, calls, error)
        with pytest.raises(error):
            tune(begun, MODEL, fed, 3, path=tmp_path / "search", every=6)
    taken = []
    monkeypatch.setattr(Race, "step", lambda *a, step=Race.step: taken.append(1) or step(*a))
    again = tune(begun, MODEL, fed, 3, path=tmp_path / "search", every=6)
    assert len(taken) == 10 - calls  # no round is played twice
    same(again, stepped(begun, fed))
    assert os.listdir(tmp_path) == ["search"]


def test_a_search_that_is_finished_is_read_and_not_repeated(fed, tmp_path, monkeypatch):
    done = tune(halving(fed), MODEL, fed, 3, path=tmp_path / "search")
    interrupted(monkeypatch, 0, Stop)
    same(tune(halving(fed), MODEL, fed, 3, path=tmp_path / "search"), done)


SCRIPT = """
import sys
import torch
from fedlab_edu import FedProx, digits, linear, tune, successive_halving
from fedlab_edu.search.space import FEDEX
from fedlab_edu.search.race import Race
torch.set_num_threads(1)
fed, model = digits(clients=14), linear(64, 10)
search = successive_halving(model, fed, FEDEX, 48, 20, 2, 2, method=FedProx())
step = Race.step
def said(search, *arguments):
    print(search.used, flush=True)
    return step(search, *arguments)
Race.step = said
tune(search, model, fed, 3, path=sys.argv[1], every=1)
"""


def killed(file: Path, steps: int) -> int:
    """Play the search of the script, and kill it after so many steps; the round it began with."""
    command = [sys.executable, "-c", SCRIPT, str(file)]
    with subprocess.Popen(command, cwd=ROOT, text=True, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(steps)]
        process.kill()
    assert process.returncode == -signal.SIGKILL
    return int(said[0])


@pytest.mark.processes
@pytest.mark.nightly
def test_killed_again_and_again_it_ends_with_the_same_numbers(fed, tmp_path, monkeypatch):
    begun = successive_halving(MODEL, fed, FEDEX, 48, 20, 2, 2, method=FedProx())
    assert killed(tmp_path / "search", 3) == 0
    assert killed(tmp_path / "search", 4) > 0  # it did go on, and not begin anew
    expected, taken = stepped(begun, fed), []
    monkeypatch.setattr(Race, "step", lambda *a, step=Race.step: taken.append(1) or step(*a))
    same(tune(begun, MODEL, fed, 3, path=tmp_path / "search", every=1), expected)
    assert 0 < len(taken) < 20 - 4


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-100])


def flipped(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def empty(file: Path) -> None:
    file.write_bytes(b"")


def text(file: Path) -> None:
    file.write_text("my thesis")


@pytest.mark.parametrize("damage", [cut, flipped, empty, text])
def test_a_damaged_file_is_refused_and_left_as_it_was(damage, fed, tmp_path):
    file = tmp_path / "search"
    tune(halving(fed), MODEL, fed, 3, path=file)
    damage(file)
    before = file.read_bytes()
    with pytest.raises(ValueError, match=r"path is '.*search'; allowed: a file that `tune` has w"):
        tune(halving(fed), MODEL, fed, 3, path=file)
    assert file.read_bytes() == before
    assert os.listdir(tmp_path) == ["search"]


def another(fed: Federation) -> list[tuple[Race, Federation, int]]:
    """Searches that differ from ``halving(fed)`` with 3 clients in one thing each."""
    moved = replace(fed, val=replace(fed.val, y=(fed.val.y + 1) % 10))
    dealt = replace(fed, train=fed.train[[*range(1, 14), 0]])
    wider = digits(clients=14).to("cpu", torch.float64)
    begun = halving(fed)
    method = tuple(replace(run, method=FedProx()) for run in begun.runs)
    assert [run.method for run in method] == [run.method for run in begun.runs]
    return [
        (halving(fed, seed=1), fed, 3),
        (halving(fed), fed, 4),
        (halving(moved), moved, 3),
        (halving(dealt), dealt, 3),
        (halving(wider), wider, 3),
        (successive_halving(MODEL, fed, FEDEX, 25, 10, 2, 2, method=FedProx()), fed, 3),
        (random_search(MODEL, fed, FEDEX, 24, 10, method=FedProx()), fed, 3),
        (replace(begun, estimate=replace(begun.estimate, gamma=0.5)), fed, 3),
        (replace(begun, runs=tuple(replace(run, b=begun.runs[0].b) for run in begun.runs)), fed, 3),
    ]


def test_a_file_of_another_search_is_refused_and_left_as_it_was(fed, tmp_path):
    file = tmp_path / "search"
    tune(halving(fed), MODEL, fed, 3, path=file)
    before = file.read_bytes()
    for search, data, clients in another(fed):
        with pytest.raises(ValueError, match=r"^(path|total) is .*; allowed: .*$"):
            tune(search, MODEL, data, clients, path=file)
    bayes = bayesian_search(MODEL, fed, FEDEX, 24, 4, method=FedProx())
    with pytest.raises(ValueError, match=r"that search has another type, "):
        tune(bayes, MODEL, fed, 3, path=file)
    assert file.read_bytes() == before


def test_a_file_of_another_model_is_refused(fed, tmp_path):
    one, other = (
        from_module(nn.Sequential(nn.Flatten(), nn.Linear(64, 10), act))
        for act in (nn.ReLU(), nn.Tanh())
    )
    assert one.d == other.d
    begun = random_search(one, fed, NO_DROPOUT, 2, 1, method=FedProx())
    tune(begun, one, fed, 3, path=tmp_path / "search")
    with pytest.raises(ValueError, match=r"that search has another network$"):
        tune(begun, other, fed, 3, path=tmp_path / "search")
    assert tune(begun, one, fed, 3, path=tmp_path / "search").done


def test_test_data_do_not_tell_searches_apart(fed, tmp_path):
    done = tune(halving(fed), MODEL, fed, 3, path=tmp_path / "search")
    other = replace(fed, test=replace(fed.test, y=(fed.test.y + 1) % 10))
    same(tune(halving(other), MODEL, other, 3, path=tmp_path / "search"), done)


def with_tuner(fed: Federation, tuner: object) -> Race:
    (own,) = make_arms(LocalHP())
    return race(MODEL, fed, [own._replace(tuner=tuner)], [bracket((3,), 1, 2)])


def test_a_tuner_of_ones_own_is_named_before_the_first_round(fed, tmp_path, monkeypatch):
    begun, file = with_tuner(fed, Noting()), tmp_path / "search"
    with monkeypatch.context() as patch:
        interrupted(patch, 0, Stop)
        message = r"be read again, .*; this one has .*Noting, a class to name in `tune\(also=...\)`"
        with pytest.raises(ValueError, match=message):
            tune(begun, MODEL, fed, 3, path=file)
    assert os.listdir(tmp_path) == []
    done = tune(begun, MODEL, fed, 3, path=file, also=(Noting,))
    same(tune(begun, MODEL, fed, 3, path=file, also=(Noting,)), done)


class Keeping(Noting):
    """A tuner that keeps its third result in a form that no file may have."""

    def tell(self, result) -> "Keeping":
        told = result.after.loss.numpy() if len(self.told) == 2 else result.after.loss
        return replace(self, told=(*self.told, told))


def test_a_search_that_can_no_longer_be_read_does_not_take_the_place_of_one_that_can(fed, tmp_path):
    begun, file = with_tuner(fed, Keeping()), tmp_path / "search"
    for _ in range(2):  # the second call goes on after two rounds
        with pytest.raises(ValueError, match=r"a search that can be read again, .* has numpy\."):
            tune(begun, MODEL, fed, 3, path=file, also=(Keeping,), every=1)
    _, kept = read(file.read_bytes(), file, (Keeping,), "", "")
    assert kept.used == 2


def test_settings_that_are_numpys_numbers_are_read_again(fed, tmp_path):
    distributions = {
        "lr": Choice(tuple(np.logspace(-3, -1, 3))),
        "momentum": Uniform(np.float64(0.0), np.float64(0.5)),
    }
    spaces = Spaces(SearchSpace(distributions))
    total, cap = np.int64(4), np.int64(2)
    for search in (
        random_search.__wrapped__(MODEL, fed, spaces, total, cap),
        bayesian_search(MODEL, fed, spaces, total, cap, first=np.int64(1), seed=np.int64(1)),
    ):
        file = tmp_path / type(search).__name__
        done = tune(search, MODEL, fed, 3, path=file)
        assert tune(search, MODEL, fed, 3, path=file).best_score == done.best_score


def test_a_folder_that_cannot_be_written_is_said_before_more_rounds_are_played(
    fed, tmp_path, monkeypatch
):
    begun, file = halving(fed), tmp_path / "search"
    with monkeypatch.context() as patch:
        interrupted(patch, 4, Stop)
        with pytest.raises(Stop):
            tune(begun, MODEL, fed, 3, path=file)

    def refused(*arguments: object) -> None:
        raise PermissionError("read-only")

    with monkeypatch.context() as patch:
        patch.setattr(module, "write", refused)
        interrupted(patch, 0, Stop)
        with pytest.raises(PermissionError):
            tune(begun, MODEL, fed, 3, path=file)
    done = tune(begun, MODEL, fed, 3, path=file)
    monkeypatch.setattr(module, "write", refused)
    same(tune(begun, MODEL, fed, 3, path=file), done)  # nothing is left to be written


def test_a_call_that_fails_in_its_first_round_leaves_the_name_to_another_search(
    fed, tmp_path, monkeypatch
):
    file = tmp_path / "search"
    with monkeypatch.context() as patch:
        interrupted(patch, 0, Stop)
        with pytest.raises(Stop):
            tune(halving(fed), MODEL, fed, 3, path=file)
    assert os.listdir(tmp_path) == []
    begun = halving(fed, seed=1)
    with monkeypatch.context() as patch:
        interrupted(patch, 1, Stop)
        with pytest.raises(Stop):
            tune(begun, MODEL, fed, 3, path=file)
        with pytest.raises(Stop):  # the file is not this call's, and stays
            tune(begun, MODEL, fed, 3, path=file)
    same(tune(begun, MODEL, fed, 3, path=file), stepped(begun, fed))


def test_a_link_stays_and_a_path_means_what_it_meant_at_first(fed, tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere" / "search")
    monkeypatch.chdir(tmp_path)

    def moving(*arguments, step=Race.step):
        os.chdir(tmp_path / "elsewhere")
        return step(*arguments)

    monkeypatch.setattr(Race, "step", moving)
    done = tune(halving(fed), MODEL, fed, 3, path="link", every=6)
    assert (tmp_path / "link").is_symlink()
    assert os.listdir(tmp_path / "elsewhere") == ["search"]
    same(tune(halving(fed), MODEL, fed, 3, path="search"), done)


def test_pytorchs_own_random_numbers_stay_where_they_were(fed, tmp_path):
    before = torch.get_rng_state()
    tune(halving(fed), MODEL, fed, 3, path=tmp_path / "search")
    assert torch.equal(torch.get_rng_state(), before)


def weighted(by: float, outputs: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return by * cross_entropy(outputs, y)


def test_a_file_of_another_loss_is_refused(fed, tmp_path):
    net = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
    one, other = (from_module(net, partial(weighted, by)) for by in (1.0, 2.0))
    begun = random_search(one, fed, NO_DROPOUT, 2, 1, method=FedProx())
    tune(begun, one, fed, 3, path=tmp_path / "search")
    with pytest.raises(ValueError, match=r"that search has another loss$"):
        tune(begun, other, fed, 3, path=tmp_path / "search")


def test_a_file_is_written_as_often_as_is_asked(fed, tmp_path, monkeypatch):
    at: list[int] = []
    monkeypatch.setattr(module, "write", lambda value, path, check: at.append(value[1].used))
    begun = random_search(MODEL, fed, FEDEX, 21, 7, method=FedProx())  # 3 arms: 3 rounds a step
    tune(begun, MODEL, fed, 3, path=tmp_path / "search", every=6)
    assert at == [0, 6, 12, 18, 21]
    with pytest.raises(ValueError, match="every is 0; allowed: a whole number of at least 1"):
        tune(begun, MODEL, fed, 3, path=tmp_path / "search", every=0)


def test_a_folder_that_is_not_there_is_said_before_the_first_round(fed, tmp_path, monkeypatch):
    interrupted(monkeypatch, 0, Stop)
    with pytest.raises(FileNotFoundError, match=r"No such folder: '.*nowhere'$"):
        tune(halving(fed), MODEL, fed, 3, path=tmp_path / "nowhere" / "search")


def everything(terminal: int) -> str:
    """All that was written to the other end, which has been closed: then reading fails."""
    parts = []
    with suppress(OSError):
        while part := os.read(terminal, 1 << 16):
            parts.append(part)
    os.close(terminal)
    return b"".join(parts).decode()


def test_progress_is_shown_in_a_terminal_and_nowhere_else(fed, capfd):
    tune(halving(fed), MODEL, fed, 3)
    assert capfd.readouterr() == ("", "")
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 100))
    with os.fdopen(theirs, "w") as terminal, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stderr", terminal)
        patch.setattr(tqdm, "monitor_interval", 0)
        done = tune(halving(fed), MODEL, fed, 3)
    shown = everything(ours)
    assert re.search(r"24/24 .*round", shown)
    assert f"best={done.best_score:.3f}" in shown


def test_the_callback_sees_the_search_after_each_step_and_logs_it(fed, tmp_path):
    seen: list[Race] = []
    done = tune(halving(fed), MODEL, fed, 3, callback=seen.append)
    assert [search.used for search in seen] == [4, 8, 12, 14, 16, 18, 20, 22, 23, 24][-len(seen) :]
    assert seen[-1] is done
    same(done, stepped(halving(fed), fed))
    with pytest.raises(ValueError, match=r"callback is 3; allowed: a function, or None"):
        tune.__wrapped__(halving(fed), MODEL, fed, 3, callback=3)


@pytest.mark.parametrize("error", [StopTraining, KeyboardInterrupt, Stop])
def test_a_callback_that_stops_a_search_leaves_a_file_that_goes_on(error, fed, tmp_path):
    def stop(search: Race) -> None:
        if search.used > 8:
            raise error

    file, begun = tmp_path / "search", halving(fed)
    if error is StopTraining:
        half = tune(begun, MODEL, fed, 3, path=file, callback=stop)
        assert 8 < half.used < begun.total
        assert not half.done
    else:
        with pytest.raises(error):
            tune(begun, MODEL, fed, 3, path=file, callback=stop)
    _, kept = read(file.read_bytes(), file, (), "", "")
    assert 8 < kept.used < begun.total
    same(tune(begun, MODEL, fed, 3, path=file), stepped(begun, fed))


@pytest.mark.processes
def test_sigterm_writes_the_file_and_ends_the_process(fed, tmp_path):
    file = tmp_path / "search"
    command = [sys.executable, "-c", SCRIPT.replace("every=1", "every=10**6"), str(file)]
    with subprocess.Popen(command, cwd=ROOT, text=True, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(4)]
        process.send_signal(signal.SIGTERM)
    assert process.returncode == 128 + signal.SIGTERM
    _, kept = read(file.read_bytes(), file, (), "", "")
    assert kept.used >= int(said[-1]) > 0
    assert os.listdir(tmp_path) == ["search"]


@pytest.mark.parametrize(
    "own", [None, signal.SIG_IGN, lambda *_: None], ids=["none", "ignored", "own"]
)
def test_handlers_of_sigterm_are_afterwards_what_they_were(own, fed, tmp_path):
    before = signal.getsignal(signal.SIGTERM)
    seen: list[object] = []
    try:
        signal.signal(signal.SIGTERM, own or signal.SIG_DFL)
        begun = random_search(MODEL, fed, FEDEX, 2, 1, method=FedProx())
        for path in (None, tmp_path / "search"):
            tune(begun, MODEL, fed, 3, path=path,
                 callback=lambda _: seen.append(signal.getsignal(signal.SIGTERM)))  # fmt: skip
            assert signal.getsignal(signal.SIGTERM) == (own or signal.SIG_DFL)
        assert seen[0] == (own or signal.SIG_DFL)  # without a file there is nothing to write
        assert (seen[1] == own) == (own is not None)
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_search_in_another_thread_leaves_signals_alone(fed, tmp_path):
    begun = random_search(MODEL, fed, FEDEX, 2, 1, method=FedProx())
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(tune, begun, MODEL, fed, 3, path=tmp_path / "search").result().done


def more(fed: Federation, kind: str, total: int, cap: int = 2) -> Race:
    search = {"random": random_search, "hyperband": hyperband}[kind]
    return search(MODEL, fed, NO_DROPOUT, total, cap, method=FedProx())


@pytest.mark.parametrize(
    ("kind", "first", "then"),
    [
        ("random", (6, 2), (10, 2)),  # more arms
        ("random", (6, 2), (15, 5)),  # more rounds
        ("random", (6, 2), (20, 4)),
        ("hyperband", (20, 3), (40, 3)),  # more brackets
    ],
)
@pytest.mark.parametrize("stop", [False, True])
def test_a_search_whose_budget_is_raised_has_the_numbers_of_one_that_had_it_all_along(
    kind: str, first: tuple[int, int], then: tuple[int, int], stop: bool, fed: Federation,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    file, small, large = tmp_path / "search", more(fed, kind, *first), more(fed, kind, *then)

    def halfway(search: Race) -> None:
        if stop and search.used >= small.total // 2:
            raise StopTraining

    half = tune(small, MODEL, fed, 3, path=file, callback=halfway)
    taken: list[int] = []
    done = tune(large, MODEL, fed, 3, path=file, callback=lambda s: taken.append(s.used))
    assert taken[0] > half.used  # no round is played twice
    # rounds are added up in other tiles where other arms train beside them
    same(done, stepped(large, fed), rounding=1e-5)
    same(tune(large, MODEL, fed, 3, path=file), done)


def test_a_bayesian_search_may_get_a_larger_total(fed, tmp_path):
    def search(total: int):
        return bayesian_search(MODEL, fed, NO_DROPOUT, total, 1, first=2, method=FedProx())

    file = tmp_path / "search"
    tune(search(3), MODEL, fed, 3, path=file)
    done, whole = tune(search(5), MODEL, fed, 3, path=file), tune(search(5), MODEL, fed, 3)
    assert done.points == whole.points
    same(done, whole)
    with pytest.raises(ValueError, match="total is 4; allowed: at least 5, as before"):
        tune(search(4), MODEL, fed, 3, path=file)


def test_fedtune_may_get_a_larger_total_and_fedpop_may_not(fed, tmp_path):
    table = LocalHP(lr=[0.1, 0.2])
    tune(fedtune(MODEL, fed, table, 1), MODEL, fed, path=tmp_path / "fedtune")
    done = tune(fedtune(MODEL, fed, table, 3), MODEL, fed, path=tmp_path / "fedtune")
    assert done.history == tune(fedtune(MODEL, fed, table, 3), MODEL, fed).history
    spaces = Spaces(SearchSpace({"lr": Choice((0.1, 0.2))}))
    tune(fedpop(MODEL, fed, spaces, 2, 1), MODEL, fed, 3, path=tmp_path / "fedpop")
    for total, cap in ((3, 1), (4, 2)):
        search = fedpop(MODEL, fed, spaces, total, cap)
        message = r"has another total; its total, 2, has decided its earlier rounds$"
        with pytest.raises(ValueError, match=message):
            tune(search, MODEL, fed, 3, path=tmp_path / "fedpop")


def test_a_budget_that_would_change_earlier_rounds_is_refused(fed, tmp_path):
    file = tmp_path / "search"
    tune(halving(fed), MODEL, fed, 3, path=file)
    before = file.read_bytes()
    longer = successive_halving(MODEL, fed, FEDEX, 28, 10, 2, 2, method=FedProx())
    message = "total is 28; allowed: 24, as before; without eliminations also more arms or rounds"
    with pytest.raises(ValueError, match=message):
        tune(longer, MODEL, fed, 3, path=file)
    assert file.read_bytes() == before
    other = tmp_path / "other"
    tune(more(fed, "random", 6), MODEL, fed, 3, path=other)
    for smaller in (more(fed, "random", 4), more(fed, "random", 3, 1)):
        with pytest.raises(ValueError, match=r"^(path|total) is "):
            tune(smaller, MODEL, fed, 3, path=other)
    with pytest.raises(ValueError, match=r"brackets is .*stops=\(3,\).* allowed: .*stops=\(2,\)"):
        tune(more(fed, "random", 6, 3), MODEL, fed, 3, path=other)


def constant(fed: Federation, *lr: float, **how: Any) -> Race:
    return race(MODEL, fed, make_arms(LocalHP(lr=lr)), [bracket((2,), len(lr), 2)], **how)


@pytest.mark.parametrize(
    ("lr", "said"),
    [
        ((1e200, 1e201), "arm 0 is the best, but all clients of a round have diverged"),
        ((1e6, 1e7), "mean loss has grown from 2.* to .*e"),
        ((-0.0, 1e200), None),  # nothing is learnt, and nothing lost
        ((1e200, 0.1), None),
    ],
)
def test_a_search_whose_best_arm_has_diverged_says_so_once(lr, said, fed):
    begun = constant(fed, *lr, estimate=Estimate(score="loss"))
    assert begun.warning is None
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        done = tune(begun, MODEL, fed, 5)
    assert [str(one.message) for one in seen] == [
        f"{done.warning}; try lower learning rates" for _ in range(said is not None)
    ]
    assert (done.warning is None) == (said is None)
    assert said is None or re.search(said, done.warning or "")


def test_a_winner_that_is_worse_than_its_initial_weights_is_said(fed):
    done = stepped(constant(fed, 0.1), fed)
    history = done.runs[0].history
    assert done.warning is None
    n = history[0].size
    perfect = replace(history[0], before=Score(torch.zeros(len(n)), torch.zeros(len(n))))
    run = replace(done.runs[0], history=(perfect, history[1]))
    fallen = replace(done, runs=(run,))
    expected = f"its score, {done.best_score:.3g}, is worse than that of its initial weights, 0"
    near = Score(torch.ones(len(n)), torch.full((len(n),), 0.95 * done.best_score))
    noisy = replace(run, history=(replace(history[0], before=near), history[1]))
    assert replace(done, runs=(noisy,)).warning is None  # within a tenth it may be noise
    assert fallen.warning == f"arm 0 is the best, but {expected}"
    assert replace(fallen, runs=(replace(run, history=history[1:]),)).warning is None  # cut


def test_fedpop_members_that_all_diverge_are_said(fed):
    spaces = Spaces(SearchSpace({"lr": Choice((1e200, 1e201))}))
    with pytest.warns(UserWarning, match="no arm has a finite score; try lower learning rates"):
        assert tune(fedpop(MODEL, fed, spaces, 4, 2), MODEL, fed, 3).best_score == float("inf")
