"""The benchmarks: both sides do the same work, and the arithmetic is counted rightly."""

import json
import re
import sys

import pytest
import torch

from benchmarks import rounds, scale, shares
from benchmarks.__main__ import main, tables
from benchmarks.peers import B, N
from benchmarks.peers import __main__ as peers
from benchmarks.peers.with_torch import SETTING, problem
from benchmarks.plain import plain_loop
from benchmarks.rounds import measured, plain_round, ragged
from benchmarks.searches import feature_search, fedpop_search, raced
from benchmarks.speed import (
    compiled,
    in_tf32,
    operations,
    operations_per_example,
    speed,
    threads,
    with_threads,
)
from benchmarks.workloads import Workload, drawn, noise
from fedlab_edu import (
    Federation,
    LocalHP,
    char_lstm,
    communicate,
    communicate_all,
    digits,
    lenet5,
    mlp,
    start,
)
from tests import reference

TINY = mlp(9, 5, 3)
CPU = torch.device("cpu")


def tiny() -> Workload:
    """Clients of unequal sizes, one smaller than any minibatch, with settings of their own."""
    return Workload(TINY, noise((1, 3, 3), 3, [20, 3, 41, 9]), drawn(4))


def test_the_loop_to_beat_is_the_definition_of_local_training():
    model, clients, c = tiny()
    clients, w = clients.to("cpu", torch.float64), model.init(0).double()
    expected = reference.plain_loop(model, w, clients, c, [0, 1, 2, 3])
    seen = plain_loop(model, w, clients, c, [0, 1, 2, 3])
    torch.testing.assert_close(seen, expected, rtol=0, atol=1e-12)


def test_both_sides_of_a_comparison_end_with_the_same_weights():
    measured = speed(tiny(), CPU, repeats=1)
    assert measured["largest difference"] < 1e-5  # float32: the same to rounding
    assert min(measured["plain loop (s)"], measured["ours (s)"]) > 0


# Forward 2 i o for each weight matrix i x o, the same again for the gradient of the weights, and
# once more for the gradient of the inputs, which the first layer's inputs do not need.
LENET = 4 * 28**2 * 25 * 6 + 6 * (10**2 * 25 * 6 * 16 + 400 * 120 + 120 * 84 + 84 * 10)
# Characters are looked up, so that the first layer's inputs are weights, with a gradient.
LSTM = 6 * (80 * (8 * 1024 + 3 * 256 * 1024) + 256 * 101)


@pytest.mark.parametrize(
    ("model", "x", "expected"),
    [
        (mlp(784, 128, 10), torch.zeros(1, 784), 4 * 784 * 128 + 6 * 128 * 10),
        (lenet5(), torch.zeros(1, 1, 28, 28), LENET),
        (char_lstm(), torch.zeros(1, 80, dtype=torch.long), LSTM),
    ],
    ids=["mlp", "lenet5", "char_lstm"],
)
def test_the_operations_of_an_example_are_those_of_the_closed_form(model, x, expected):
    assert operations_per_example(model, x) == expected


def test_without_its_gradient_an_example_has_the_operations_of_the_forward_pass_alone():
    forward = 2 * 784 * 128 + 2 * 128 * 10
    assert operations_per_example(mlp(784, 128, 10), torch.zeros(1, 784), False) == forward


def test_the_shares_of_a_round_count_each_visit_in_training_and_in_both_scores():
    (model, clients, _), n = tiny(), 20 + 3 + 41 + 9
    fed = Federation(clients, clients, clients, tuple("abcd"), 3)
    run = start(model, fed, LocalHP(batch=8, epochs=3))
    _, parts, counts = shares.clocked(lambda: communicate(run, model, fed, 4), shares.OURS)
    assert counts == [3 * n, 2 * n, 0, 0]  # the tuner of one setting is not clocked
    assert min(parts[:2]) > 0 == sum(parts[2:])
    assert sum(parts) < 1


def test_a_workload_has_an_example_s_operations_for_each_visit_to_it():
    model, clients, _ = tiny()
    c = LocalHP(epochs=[1, 2, 3, 4], batch=8)
    visits = 1 * 20 + 2 * 3 + 3 * 41 + 4 * 9
    assert operations(Workload(model, clients, c)) == visits * (4 * 9 * 5 + 6 * 5 * 3)


def test_tf32_is_on_while_it_is_measured_and_off_again(monkeypatch):
    def switches() -> tuple[str, bool]:
        return torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32

    seen, before = [], switches()
    monkeypatch.setattr("benchmarks.speed.speed", lambda *_: seen.append(switches()))
    in_tf32(tiny(), CPU, 1)
    assert seen == [("high", True)]
    assert switches() == before


def test_compiled_gradients_are_beside_ours_and_a_missing_compiler_is_a_row(monkeypatch):
    seen: list[object] = []
    monkeypatch.setattr(torch, "compile", lambda gradients: seen.append(gradients) or gradients)
    monkeypatch.setattr("benchmarks.speed.which", lambda _: "g++")
    row = compiled(tiny(), 1)
    assert seen == [TINY.gradients]
    assert row["largest difference"] == 0
    assert row["ratio"] == row["compiled (s)"] / row["ours (s)"]
    monkeypatch.setattr("benchmarks.speed.which", lambda _: None)
    assert compiled(tiny(), 1) == {"first call (s)": "no C++ compiler"}


def test_a_gpu_has_rows_of_its_own_and_the_cpu_rows_of_whole_rounds():
    gpu, cpu = (
        [name for _, rows, _ in tables(torch.device(kind), 1) for name in rows]
        for kind in ("cuda", "cpu")
    )
    assert len(gpu) == len(set(gpu))
    assert "MLP 784-128-10, 10 clients of 64, TF32" in {*gpu} - {*cpu}
    assert {*rounds.SETTINGS} <= {*cpu}


def test_numbers_of_threads_are_tried_and_put_back():
    before = torch.get_num_threads()
    counts = threads(CPU)
    seen = [with_threads(n, lambda: (torch.get_num_threads(), torch.zeros(0)))[0] for n in counts]
    assert seen == counts
    assert counts[0] == 1
    assert torch.get_num_threads() == before


@pytest.mark.processes
def test_a_round_s_memory_holds_its_models_and_a_small_process_no_parent_s_peak():
    ballast = torch.ones(100 << 20)  # 400 MiB in this process
    seen = scale.in_a_small_process(scale.memory, 40, "cpu")
    del ballast
    assert seen["round adds"] > 40 * lenet5().d * 4 / 2**20
    assert seen["in all"] < 500


def test_both_sides_of_a_race_spend_the_same_rounds_and_keep_the_same_arms():
    measured = raced((50, 6), CPU)
    assert measured["same arms stay"]
    assert measured["rounds"] == 50
    assert measured["largest difference"] < 1e-4


def test_a_row_has_times_a_ratio_a_rate_and_a_difference(capsys):
    label = "MLP 784-128-10, 10 clients of 32"
    main(["--repeats", "1", "--only", label])
    *_, row = capsys.readouterr().out.splitlines()
    assert re.fullmatch(rf"{label}( +[\d.]+){{5}} +[\d.]+e[-+]\d+", row)


def test_a_search_among_feature_maps_is_timed_beside_its_sweep():
    found = feature_search(20, CPU)
    assert 1 <= found["rank of the pick"] <= 64
    assert found["ratio"] == found["64 fits (s)"] / found["6 shared (s)"]


def test_a_fedpop_search_is_timed_with_as_many_vectors_as_can_be_counted_by_hand():
    """Two members of ten vectors; then, three times, a copy's ten and the other's worst four."""
    measured = fedpop_search((8, 4), CPU)
    assert measured["tried"] == 20 + 3 * (10 + 4)
    assert measured["ratio"] == measured["search (s)"] / measured["members (s)"]


def test_a_round_of_the_plain_loop_ends_with_the_weights_of_ours():
    setting = ragged(mlp(64, 8, 10), digits(), 3, 1)
    runs = communicate_all(setting.runs, setting.model, setting.fed)
    plain = plain_round(setting.runs, setting.model, setting.fed)
    for run, w in zip(runs, plain, strict=True):
        torch.testing.assert_close(run.w, w, rtol=1e-4, atol=1e-5)


def test_a_row_of_rounds_has_times_of_both_and_the_share_of_training():
    found = measured(ragged(mlp(64, 8, 10), digits(), 2, 1))
    assert min(found.values()) >= 0
    assert found["least"] <= found["ours"] <= found["most"]
    loops = [value for name, value in found.items() if name.startswith("threads")]
    assert found["ratio"] == min(loops) / found["ours"]


def test_steps_of_many_clients_are_counted_by_hand():
    done = scale.rounds([64, 33, 1], repeats=1)
    assert (done["examples"], done["steps"]) == (98, 2 + 2 + 1)
    assert max(scale.long_tail(1000)) > 10 * sum(scale.long_tail(1000)) / 1000


def test_a_peer_prints_its_times_and_its_memory(capsys):
    peers.main(["--peer", "fedlab_edu"])
    found = json.loads(capsys.readouterr().out)
    assert len(found["times"]) == 30
    assert found["MiB"] > 10


def test_a_peer_that_does_not_run_is_a_row_that_says_why(monkeypatch, tmp_path, capsys):
    quick = {"times": [0.003, 0.001, 0.002], "MiB": 77.4}
    commands = {
        "here": f"print({json.dumps(json.dumps(quick))})",
        "elsewhere": "import a_package_that_is_not_installed",
    }
    monkeypatch.setattr(peers, "PEERS", commands)
    monkeypatch.setattr(peers, "command", lambda name: [sys.executable, "-c", commands[name]])
    peers.main(["--record", str(tmp_path / "record.json")])
    rows = json.loads((tmp_path / "record.json").read_text())["rows"]
    assert rows["here"] == {"rounds": 3, "ms": [2.0, 1.0, 3.0], "MiB": 77}
    assert rows["elsewhere"]["missing"].startswith("ModuleNotFoundError")
    assert "elsewhere" in capsys.readouterr().out


def test_the_record_of_the_peers_names_the_day_the_processor_and_the_versions():
    about = json.loads(peers.RECORD.read_text())
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", about["date"])
    assert about["processor"]
    assert about["versions"].keys() == peers.about()["versions"].keys()
    assert about["rows"].keys() == peers.PEERS.keys()


def test_the_peers_round_is_the_round_of_the_plain_loop():
    model, fed = problem()
    assert fed.sizes.train.tolist() == [N] * B
    run = communicate(start(model, fed, SETTING), model, fed, B)
    (expected,) = plain_round([start(model, fed, SETTING)], model, fed)
    torch.testing.assert_close(run.w, expected, rtol=1e-4, atol=1e-5)
