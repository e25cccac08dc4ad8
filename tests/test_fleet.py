"""A fleet that fails: late, dead, lying and restarted nodes, and a server that is killed."""

import re
import tomllib
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fedlab_edu import (
    Ditto,
    Federation,
    FedEx,
    LocalHP,
    Run,
    Scaffold,
    digits,
    load_run,
    mlp,
    start,
    train,
)
from fedlab_edu.cli import main
from fedlab_edu.methods import DPFedAvg, FedAvg, FedDyn, QFedAvg
from fedlab_edu.rounds.communicate import train_clients
from fedlab_edu.rounds.draw import draw_work
from fedlab_edu.rounds.gather import Sums
from tests.one_process import MODEL, N, OneProcess, assert_same, node_of, over_flower

from flwr.app import Array, ArrayRecord, Context, Error, Message, RecordDict  # isort: skip
from flwr.clientapp.mod import LocalDpMod  # isort: skip
from flwr.common.constant import ErrorCode  # isort: skip
from fedlab_edu.flower import client_app, server  # isort: skip

C = LocalHP(lr=0.1, batch=8)
TABLE = LocalHP(lr=[0.01, 0.1, 1.0], batch=8, epochs=[1, 2, 3])


@pytest.fixture(scope="module")
def fed():
    return digits(clients=N).to("cpu", torch.float64)


def without(run: Run, fed: Federation, gone: set[int], clients: int = 5) -> Run:
    """The run after a round, in this process, that the clients in ``gone`` have left."""
    work = draw_work(run, fed.sizes, clients)
    at = [j for j, i in enumerate(work.client.tolist()) if i not in gone]
    assert len(at) < clients
    work = work.keep(at)
    sums = Sums([run], [work], fed.sizes)
    train_clients([run], [work], MODEL, fed.train, fed.val, sums.part, sums.add)
    return sums.finish()[0]


def drawn(run: Run, fed: Federation, clients: int = 5) -> list[int]:
    return draw_work(run, fed.sizes, clients).client.tolist()


def with_w(w: np.ndarray) -> Callable[[RecordDict], None]:
    def lie(content: RecordDict) -> None:
        content["arrays"] = ArrayRecord([w])

    return lie


def with_metrics(**metrics: Any) -> Callable[[RecordDict], None]:
    def lie(content: RecordDict) -> None:
        content["metrics"].update(metrics)

    return lie


def with_bytes(stype: str, data: bytes) -> Callable[[RecordDict], None]:
    def lie(content: RecordDict) -> None:
        content["arrays"] = ArrayRecord({"w": Array("float64", (MODEL.d,), stype, data)})

    return lie


def lacking(name: str) -> Callable[[RecordDict], None]:
    def lie(content: RecordDict) -> None:
        del content[name]

    return lie


def more(content: RecordDict) -> None:
    content["state_delta"] = ArrayRecord([np.zeros(MODEL.d)])


LIES = {
    "NaN weights": (with_w(np.full(MODEL.d, nan)), "arrays - w is nan; allowed: finite, as"),
    "one weight": (with_w(np.ones(1)), r"dtype and shape of arrays is \('torch.float64', \(1,\)\)"),
    "a matrix": (with_w(np.ones((2, MODEL.d))), "dtype and shape of arrays"),
    "float32": (with_w(np.ones(MODEL.d, dtype=np.float32)), "'torch.float32'"),
    "huge weights": (with_w(np.full(MODEL.d, 1e30)), "length of arrays - w is .*; allowed: 10.0"),
    "words": (with_w(np.full(MODEL.d, "1")), "arrays is .*numpy.str_.*; allowed: an array of num"),
    "long floats": (with_w(np.ones(MODEL.d, np.longdouble)), "allowed: an array of numbers"),
    "no bytes": (with_bytes("numpy.ndarray", b""), "arrays is .*; allowed: an array of numbers"),
    "of another kind": (with_bytes("torch", b"w"), "arrays is .*; allowed: an array of numbers"),
    "no weights": (lacking("arrays"), r"records is \['metrics'\]; allowed: one named arrays"),
    "no metrics": (lacking("metrics"), r"records is \['arrays'\]; allowed: one named metrics"),
    "an error below 0": (with_metrics(after=[0.5, -100.0]), "error in after is -100.0"),
    "an error above 1": (with_metrics(before=[0.5, 1.5]), "error in before is 1.5"),
    "a NaN loss": (with_metrics(after=[nan, 0.5]), r"after is \[nan, 0.5\]; allowed: finite"),
    "one score": (with_metrics(after=[0.5]), r"after is \[0.5\]; allowed: the loss and the error"),
    "a number as scores": (with_metrics(after=0.5), "after is 0.5; allowed: the loss"),
    "more examples": (with_metrics(**{"num-examples": 10**6}), "num-examples is 1000000"),
    "half finite": (with_metrics(finite=2), "finite is 2; allowed: 0, 1"),
    "a weight": (with_metrics(weight=5.0), "its records are not those of the other clients"),
    "a change of its state": (more, "its records are not those of the other clients"),
}


@pytest.mark.parametrize("name", LIES)
def test_a_client_that_lies_leaves_the_round_and_its_node_is_named(name, fed, caplog):
    lie, message = LIES[name]
    run = start(MODEL, fed, FedEx(TABLE), seed=3)
    liar = drawn(run, fed)[2]

    def change(client: int, sent: Message, got: Message) -> Message:
        if client == liar and "config" in sent.content:
            lie(got.content)
        return got

    grid = OneProcess(lambda i: node_of(fed), change=change)
    got = over_flower(run, fed, 1, grid, largest=10.0)[-1]
    assert_same(got, expected := without(run, fed, {liar}))
    assert got.tuner.theta.tolist() == pytest.approx(expected.tuner.theta.tolist(), rel=1e-9)
    node = next(node for node, client in grid.nodes.items() if client == liar)
    assert f"without node {node}, client {liar}: " in caplog.text
    assert re.search(message, caplog.text)


def test_a_weight_below_0_leaves_the_round(fed, caplog):
    run = start(MODEL, fed, C, method=QFedAvg(2.0))
    liar = drawn(run, fed)[0]

    def change(client: int, sent: Message, got: Message) -> Message:
        if client == liar and "config" in sent.content:
            got.content["metrics"]["weight"] = -1.0
        return got

    got = over_flower(run, fed, 1, OneProcess(lambda i: node_of(fed, QFedAvg(2.0)), change=change))
    assert_same(got[-1], without(run, fed, {liar}))
    assert "weight is -1.0; allowed: a finite number of at least 0" in caplog.text


def silent(*gone: tuple[int, int]) -> Callable[[int, Message, Message], Message | None]:
    """Answers of these (client, round) are lost on the way."""

    def change(client: int, sent: Message, got: Message) -> Message | None:
        config = sent.content.config_records.get("config", {})
        return None if (client, config.get("round")) in gone else got

    return change


def test_a_client_that_is_late_leaves_the_round_and_has_not_diverged(fed):
    run = start(MODEL, fed, FedEx(TABLE), seed=3)
    late = drawn(run, fed)[1]
    grid = OneProcess(lambda i: node_of(fed), change=silent((late, 0)))
    got = over_flower(run, fed, 2, grid, round_seconds=0.3)
    first = without(run, fed, {late})
    assert_same(got[1], first)
    assert late not in got[1].history[0].client
    assert not got[1].history[0].diverged.any()
    assert_same(got[2], train(first, MODEL, fed, 1, clients=5))


def test_a_row_whose_clients_are_all_late_is_neither_punished_nor_rewarded(fed):
    """theta_j moves by normalisation alone: the ratio of two unheard rows stays."""
    tuner = FedEx(TABLE)
    run = start(MODEL, fed, tuner, seed=0)
    work = draw_work(run, fed.sizes, 9)
    slow = {i for i, row in zip(work.client.tolist(), work.row.tolist(), strict=True) if row > 0}
    assert 0 < len(slow) < 9
    assert {1, 2} <= set(work.row.tolist())
    grid = OneProcess(lambda i: node_of(fed), change=silent(*((i, 0) for i in slow)))
    got = over_flower(run, fed, 1, grid, clients=9, round_seconds=0.3)[-1]
    before, after = tuner.theta, got.tuner.theta
    assert after[1] / after[2] == pytest.approx(float(before[1] / before[2]), rel=1e-12)
    assert after[1] > before[1]  # the first baseline is 0: what was heard has lost


def test_too_few_answers_end_the_run_and_name_each_node(fed):
    run = start(MODEL, fed, C, seed=3)
    gone = drawn(run, fed)[:3]
    grid = OneProcess(lambda i: node_of(fed), change=silent(*((i, 0) for i in gone)))
    with pytest.raises(
        RuntimeError, match=r"in round 1 2 of 5 clients have answered, 3 times"
    ) as e:
        over_flower(run, fed, 1, grid, least=3, round_seconds=0.05)
    for i in gone:
        assert f"client {i}: no answer in time" in str(e.value)


def test_dp_fedavg_divides_by_all_clients_that_were_drawn(fed):
    method = DPFedAvg(clip=0.5, noise=0.0)
    run = start(MODEL, fed, C, method=method, seed=3)
    late = drawn(run, fed)[0]
    grid = OneProcess(lambda i: node_of(fed, method), change=silent((late, 0)))
    got = over_flower(run, fed, 1, grid, round_seconds=0.3)[-1]
    four = without(run, fed, {late})
    torch.testing.assert_close(got.w - run.w, (four.w - run.w) * 4 / 5, rtol=1e-9, atol=1e-12)


def twice_in(run: Run, fed: Federation, rounds: int, clients: int = 5) -> tuple[int, int]:
    """A client drawn at least twice, and its first round."""
    seen: dict[int, int] = {}
    for t in range(rounds):
        for i in drawn(replace(run, round=t), fed, clients):
            if i in seen:
                return i, seen[i]
            seen[i] = t
    raise AssertionError("no client is drawn twice")


@pytest.mark.parametrize("method", [Scaffold(), Ditto(), FedDyn()], ids=repr)
def test_the_state_of_a_client_that_was_late_goes_back_to_its_last_round_that_counted(
    method, fed, tmp_path
):
    run = start(
        MODEL,
        fed,
        LocalHP(lr=0.05, batch=8, mu=0.0 if method == Scaffold() else 0.1),
        method=method,
    )
    late, t = twice_in(run, fed, 4)
    grid = OneProcess(
        lambda i: node_of(fed, method),
        config=lambda i: {"state-folder": str(tmp_path)},
        change=silent((late, t)),
    )
    got = over_flower(run, fed, 4, grid, round_seconds=0.3)[-1]
    expected = run
    for r in range(4):
        if r == t:
            expected = without(expected, fed, {late})
        else:
            expected = train(expected, MODEL, fed, 1, clients=5)
    assert_same(got, expected)


class Killed(Exception):
    """The server is killed."""


@pytest.mark.parametrize("method", [FedAvg(), Scaffold()], ids=repr)
@pytest.mark.parametrize("moment", ["before a round is saved", "after"])
def test_a_server_that_is_killed_resumes_with_the_same_numbers(
    method, moment, fed, tmp_path, monkeypatch
):
    run, path = start(MODEL, fed, FedEx(TABLE), method=method, seed=3), tmp_path / "run.pt"

    def grid() -> OneProcess:  # new nodes, whose memory is empty
        return OneProcess(
            lambda i: node_of(fed, method), config=lambda i: {"state-folder": str(tmp_path / "s")}
        )

    whole = server.write

    def write(value: Any, to: Path) -> None:
        if moment == "after":
            whole(value, to)
        if value[1].round == 2:
            raise Killed
        whole(value, to)

    monkeypatch.setattr(server, "write", write)
    with pytest.raises(Killed):
        over_flower(run, fed, 4, grid(), path=str(path))
    assert load_run(path).round == (2 if moment == "after" else 1)
    monkeypatch.setattr(server, "write", whole)
    got = over_flower(run, fed, 4, grid(), path=str(path))[-1]
    assert_same(got, train(run, MODEL, fed, 4, clients=5))
    assert_same(load_run(path), got)


def test_a_node_that_has_lost_its_clients_state_is_left_out_by_name(fed, caplog):
    run = start(MODEL, fed, C, method=Scaffold())
    loser, _ = twice_in(run, fed, 4)
    grid = OneProcess(lambda i: node_of(fed, Scaffold()))
    over = next(node for node, i in grid.nodes.items() if i == loser)

    def change(client: int, sent: Message, got: Message) -> Message:
        if client == loser:
            grid.states[over].clear()  # the node is restarted after each answer
        return got

    grid.change = change
    over_flower(run, fed, 4, grid)
    assert (
        f"node {over}, client {loser}: rounds of the client states on this node is []"
        in caplog.text
    )


def test_a_file_of_a_run_with_other_clients_is_refused(fed, tmp_path):
    run, path = start(MODEL, fed, C), str(tmp_path / "run.pt")
    over_flower(run, fed, 1, OneProcess(lambda i: node_of(fed)), path=path)
    other = digits("label", clients=N, alpha=0.5).to("cpu", torch.float64)
    with pytest.raises(ValueError, match=r"sizes of the clients is .* as when the run began"):
        over_flower(run, fed, 2, OneProcess(lambda i: node_of(other)), path=path)


@pytest.mark.parametrize(
    ("setting", "seen"),
    [
        ({"least": 0}, "least is 0"),
        ({"round_seconds": 0}, "round_seconds is 0"),
        ({"largest": -1}, "largest is -1"),
        ({"nodes": 0}, "nodes is 0"),
    ],
)
def test_settings_of_the_run_config_are_checked(setting, seen, fed):
    with pytest.raises(ValueError, match=f"{seen}; allowed: a"):
        over_flower(start(MODEL, fed, C), fed, 1, OneProcess(lambda i: node_of(fed)), **setting)


# --- what leaves a client -------------------------------------------------------------------------

LEAVES = {
    FedAvg(): {"arrays"},
    Scaffold(): {"arrays", "state_delta"},
    Ditto(): {"arrays"},
    QFedAvg(1.0): {"arrays"},
}


@pytest.mark.parametrize("method", LEAVES, ids=repr)
def test_these_arrays_and_numbers_leave_a_client_and_no_others(method, fed):
    got: list[RecordDict] = []

    def change(client: int, sent: Message, answer: Message) -> Message:
        got.append(answer.content)
        return answer

    grid = OneProcess(lambda i: node_of(fed, method), change=change)
    c = LocalHP(lr=0.1, mu=0.1 if isinstance(method, Ditto) else 0.0)
    over_flower(start(MODEL, fed, c, method=method), fed, 1, grid)
    told, answers = got[:N], got[N:]
    for i, content in enumerate(told):
        assert not content.array_records
        assert dict(content["config"]) == {"dtype": "torch.float64"}
        n, v = len(fed.train.rows[i]), len(fed.val.rows[i])
        assert dict(content["metrics"]) == {
            "client": i, "train": n, "val": v, "classes": 10, "d": 64 * 16 + 16 + 160 + 10,
        }  # fmt: skip
    assert len(answers) == 5
    for content in answers:
        assert set(content.array_records) == LEAVES[method]
        for record in content.array_records.values():
            (array,) = record.to_numpy_ndarrays()
            assert array.shape == (MODEL.d,)
        assert not content.config_records
        weight = {"weight"} if isinstance(method, QFedAvg) else set()
        metrics = content["metrics"]
        assert set(metrics) == {"num-examples", "finite", "before", "after"} | weight
        assert len(metrics["before"]) == len(metrics["after"]) == 2


def test_flowers_local_dp_mod_noises_the_weights_but_neither_scores_nor_sizes(fed):
    mod = LocalDpMod(clipping_norm=1.0, sensitivity=1.0, epsilon=1.0, delta=1e-5)
    data = lambda context: fed[[context.node_config["partition-id"]]]  # noqa: E731
    run, answers = start(MODEL, fed, C), []
    for mods in ((), (mod,)):
        got: list[RecordDict] = []

        def change(client: int, sent: Message, answer: Message, got: Any = got) -> Message:
            got.append(answer.content)
            return answer

        grid = OneProcess(lambda i: client_app(MODEL, data, mods=mods), change=change)  # noqa: B023
        over_flower(run, fed, 1, grid)
        answers.append(got[N])
    plain, noisy = answers
    assert dict(plain["metrics"]) == dict(noisy["metrics"])
    a, b = (content["arrays"].to_numpy_ndarrays()[0] for content in answers)
    assert np.std(b - a) > 1  # sqrt(2 ln(1.25 / delta)) = 4.8


def test_the_app_that_is_written_has_no_dependencies_and_no_line_over_80_columns(tmp_path, capsys):
    assert main(["flower", "new", str(tmp_path / "fleet")]) == 0
    config = tomllib.loads((tmp_path / "fleet/pyproject.toml").read_text())
    assert config["project"]["dependencies"] == []
    assert set(config["tool"]["flwr"]["app"]["components"]) == {"serverapp", "clientapp"}
    for file in (tmp_path / "fleet/fleet").glob("*.py"):
        assert max(map(len, file.read_text().splitlines())) <= 80
    nodes = config["tool"]["flwr"]["app"]["config"]["nodes"]
    assert f"num-supernodes={nodes}\n" in capsys.readouterr().out  # else the server waits for more
    assert main(["flower", "new", str(tmp_path / "fleet")]) == 2
    assert "no app in" in capsys.readouterr().err


def test_the_app_that_is_written_plays_fedex_as_in_one_process(tmp_path, monkeypatch):
    main(["flower", "new", str(tmp_path / "app")])
    monkeypatch.syspath_prepend(str(tmp_path / "app"))
    client, server_side = (import_module(f"fleet.{name}_app").app for name in ("client", "server"))
    config = tomllib.loads((tmp_path / "app/pyproject.toml").read_text())
    config = config["tool"]["flwr"]["app"]["config"]
    config |= {"rounds": 2, "join-seconds": 0.05, "path": str(tmp_path / "run.pt")}
    grid = OneProcess(lambda i: client, range(10), run_config=config)
    server_side(grid, Context(1, 1, {}, RecordDict(), config))
    run = start(
        mlp(64, 32, 10),
        fed := digits("label", clients=10),
        FedEx(LocalHP(lr=[0.01, 0.1, 1.0], batch=8)),
    )
    expected, got = train(run, mlp(64, 32, 10), fed, 2, clients=5), load_run(tmp_path / "run.pt")
    torch.testing.assert_close(got.w, expected.w, rtol=1e-5, atol=1e-6)
    assert got.tuner.theta.tolist() == pytest.approx(expected.tuner.theta.tolist(), abs=1e-6)


def test_a_node_that_was_not_reached_is_asked_again(fed):
    lost: list[int] = []

    def change(client: int, sent: Message, got: Message) -> Message:
        if client == 3 and len(lost) < 2:
            lost.append(client)
            return Message(Error(ErrorCode.NODE_UNAVAILABLE, "no heartbeat"), reply_to=sent)
        return got

    run = start(MODEL, fed, C)
    grid = OneProcess(lambda i: node_of(fed), change=change)
    got = over_flower(run, fed, 1, grid, join_seconds=60)[-1]
    assert_same(got, train(run, MODEL, fed, 1, clients=5))
    assert len(lost) == 2


def test_sizes_are_enough_to_start_a_run_and_to_draw_its_clients(fed):
    tuner = FedEx(TABLE)
    one, other = (start(MODEL, known, tuner, seed=4) for known in (fed, fed.sizes))
    assert torch.equal(one.w, other.w)
    assert one.w.dtype == other.w.dtype == torch.float64
    assert fed.sizes.train.tolist() == [len(rows) for rows in fed.train.rows]
    assert fed.sizes.val.tolist() == [len(rows) for rows in fed.val.rows]
    assert drawn(one, fed) == drawn(other, fed)


def test_part_of_a_federation_has_the_examples_of_its_clients(fed):
    part = fed[[5, 2]]
    assert part.names == (fed.names[5], fed.names[2])
    for one, whole in ((part.train, fed.train), (part.val, fed.val), (part.test, fed.test)):
        for i, j in ((0, 5), (1, 2)):
            assert torch.equal(one.examples(i)[0], whole.examples(j)[0])
