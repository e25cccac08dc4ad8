"""Plans, threads and sums of a round: the parts that make it fast change no number."""

import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from fedlab_edu import Clients, Federation, FedProx, LocalHP, communicate_all, digits, mlp, start
from fedlab_edu.methods import ClientUpdate
from fedlab_edu.rounds.gather import is_finite
from fedlab_edu.training import local as engine
from fedlab_edu.training import plan as plan_module
from fedlab_edu.training import threads
from fedlab_edu.training.plan import make_plan, make_tiles, minibatches, shuffles
from fedlab_edu.training.scores import Score, score, scores_of
from fedlab_edu.training.threads import run_parallel
from tests.fuzz import fuzz

JOBS = st.lists(
    st.tuples(st.integers(1, 40), st.integers(1, 12), st.integers(1, 3)), min_size=1, max_size=6
)


@given(JOBS)
@fuzz(60)
def test_each_step_of_a_plan_has_the_minibatches_of_the_jobs_at_work(jobs):
    jobs.sort(key=lambda job: -job[2] * -(-job[0] // min(job[1], job[0])))
    n, batch, epochs = (np.array(column) for column in zip(*jobs, strict=True))
    ends = np.cumsum(n)
    rows = [torch.arange(end - m, end) for m, end in zip(n, ends, strict=True)]
    plan = make_plan(rows, epochs, batch, list(range(len(jobs))))
    expected = [
        minibatches(shuffles(int(m), int(e), i), int(min(b, m))) for i, (m, b, e) in enumerate(jobs)
    ]
    for t, (k, b) in enumerate(zip(plan.at_work, plan.width, strict=True)):
        at = slice(plan.offset[t], plan.offset[t + 1])
        seen, share = plan.rows[at].view(k, b), plan.share[at].view(k, b)
        assert k == sum(len(own) > t for own in expected)
        for i in range(k):
            positions = expected[i][t][expected[i][t] >= 0]
            own = rows[i][positions]
            assert seen[i][share[i] > 0].tolist() == own.tolist()
            assert set(seen[i].tolist()) == set(own.tolist())  # a filler is one of its minibatch
            assert share[i].sum() == pytest.approx(1)
    assert len(plan.at_work) == len(expected[0])


def test_a_plan_is_as_long_as_its_examples_where_one_client_has_nearly_all():
    n = np.array([20_000] + [10] * 500)
    rows = torch.arange(int(n.sum())).split(n.tolist())
    one = np.ones(501, dtype=int)
    plan = make_plan(rows, one, 32 * one, list(range(501)))
    assert len(plan.rows) < 1.2 * n.sum() + 500 * 32
    assert max(plan.at_work) == 501


def test_windows_cover_all_steps_in_turn_and_hold_few_bytes():
    n = np.array([300, 70])
    plan = make_plan(torch.arange(370).split([300, 70]), n // n, n * 0 + 8, [0, 1])
    example = plan_module.WINDOW_BYTES // 40
    windows = plan.windows(example)
    assert [t for first, last in windows for t in range(first, last)] == list(range(38))
    sizes = [plan.offset[last] - plan.offset[first] for first, last in windows]
    assert max(sizes) <= 40
    assert plan.windows(1 << 40) == [(t, t + 1) for t in range(38)]  # never less than one step


@fuzz(100)
@given(st.lists(st.tuples(st.integers(1, 64), st.integers(1, 9)), min_size=1), st.integers(1, 9))
def test_tiles_hold_each_job_once_with_similar_widths_and_falling_steps(jobs, number):
    width, steps = (np.array(column) for column in zip(*jobs, strict=True))
    tiles = make_tiles(width, steps, number)
    assert sorted(np.concatenate(tiles).tolist()) == list(range(len(jobs)))
    assert max(map(len, tiles)) <= -(-len(jobs) // min(number, len(jobs)))
    for tile in tiles:
        assert 2 * width[tile].min() >= width[tile].max()
        assert (np.diff(steps[tile]) <= 0).all()


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_results_come_in_the_order_of_the_tasks_and_each_task_is_done_once(workers):
    done: Counter[int] = Counter()
    seen: list[int] = []

    def work(task: int) -> int:
        done[task] += 1
        assert torch.get_num_threads() == 1
        return -task

    before = torch.get_num_threads()
    run_parallel(work, range(50), seen.append, workers)
    assert seen == [-task for task in range(50)]
    assert set(done.values()) == {1}
    assert torch.get_num_threads() == before


def test_the_error_of_a_task_is_raised_and_threads_are_as_before():
    def work(task: int) -> int:
        if task == 3:
            raise ValueError("task 3")
        return task

    seen: list[int] = []
    with pytest.raises(ValueError, match="task 3"):
        run_parallel(work, range(1000), seen.append, 2)
    assert seen == list(range(len(seen)))
    assert not threads.inside_tile()
    run_parallel(work, [1, 2], seen.append, 2)  # and the threads go on working


def test_a_worker_of_one_thread_cuts_the_tiles_of_a_process_of_two(monkeypatch):
    monkeypatch.setattr(engine, "cores", lambda: 2)
    fed, model = digits(), mlp(64, 32, 10)
    fed = fed[[i % len(fed) for i in range(300)]]
    c, w = LocalHP(batch=8).each(300), torch.zeros(300, model.d)

    def tiles(_: int = 0) -> list[list[int]]:
        return [tile.tolist() for tile in engine.cut(model, fed.train, c, w)]

    inside = list[list[list[int]]]()
    run_parallel(tiles, [0], inside.append)
    assert len(tiles()) == 2
    assert inside == [tiles()]


def ragged() -> Federation:
    gen = torch.Generator().manual_seed(0)
    n = torch.randint(3, 60, (12,), generator=gen).tolist()
    x = torch.randn(sum(n), 9, generator=gen, dtype=torch.float64)
    data = Clients(x, torch.randint(3, (len(x),), generator=gen), torch.arange(len(x)).split(n))
    return Federation(data, data, data, tuple(map(str, range(12))), 3)


@pytest.mark.parametrize("cores", [1, 2, 3])
@pytest.mark.parametrize("tile_bytes", [1, 4_000, 1 << 30])
def test_rounds_do_not_depend_on_tiles_or_threads(cores, tile_bytes, monkeypatch):
    model, fed, c = mlp(9, 7, 3), ragged(), LocalHP(lr=0.1, momentum=0.5, mu=0.1, batch=8)

    def rounds() -> list[Tensor]:
        runs = [start(model, fed, c, seed=seed, method=FedProx()) for seed in range(3)]
        for _ in range(3):
            runs = communicate_all(runs, model, fed, 6)
        scores = [torch.stack([*r.before, *r.after]) for run in runs for r in run.history]
        return [*(run.w for run in runs), *scores]

    expected = rounds()
    monkeypatch.setattr(engine, "cores", lambda: cores)
    monkeypatch.setattr(engine, "WORTH_A_THREAD", 1)
    monkeypatch.setattr(engine, "CPU_TILE_BYTES", tile_bytes)
    seen = rounds()
    torch.testing.assert_close(seen, expected, rtol=0, atol=1e-12)
    assert all(torch.equal(a, b) for a, b in zip(seen, rounds(), strict=True))  # bit for bit


def test_scores_of_several_models_at_once_are_those_of_each_alone():
    model, data = mlp(9, 7, 3), ragged().train
    w = model.init().double()
    W = torch.stack([model.init(i).double() for i in range(12)])
    for several in ([w, W], [W, w], [W, W.flip(0)], [w, -w]):
        for seen, one in zip(scores_of(model, several, data), several, strict=True):
            torch.testing.assert_close(seen, score(model, one, data))


def test_a_row_is_finite_if_each_entry_is_even_if_their_sum_is_not():
    W = torch.full((3, 4), 3e38)
    W[1, 2] = torch.nan
    W[2, :2] = torch.tensor([torch.inf, -torch.inf])
    zeros = torch.zeros(3)
    finite = is_finite(ClientUpdate(W, W), Score(zeros, zeros))
    assert finite.tolist() == [True, False, False]


MEMORY = """
import resource, torch
from fedlab_edu import LocalHP, communicate, mlp, start
from fedlab_edu.data import federate
n = [100_000] + [10] * 1_999
x, model = torch.randn(sum(n), 16), mlp(16, 8, 10)
y = torch.randint(10, (len(x),))
fed = federate(x, y, torch.arange(len(x)).split(n), 10, (1.0, 0.0, 0.0))
run = start(model, fed, LocalHP(lr=0.1, batch=10))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
communicate(run, model, fed, 2000)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


@pytest.mark.processes
@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss has other units elsewhere")
def test_one_client_of_100000_among_2000_of_10_takes_no_memory_of_its_own_for_the_others():
    out = subprocess.run(
        [sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True
    ).stdout
    assert float(out) < 300  # MiB; 4,300 with a table of (steps, clients, batch)
