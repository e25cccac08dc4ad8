"""``python -m benchmarks.peers``: the same round of FedAvg in other packages, beside ours.

MLP 784-128-10, 10 clients with 64 images for training and 16 for validation, minibatches of 32, one
epoch, lr 0.05. A round draws the order of the examples, trains, averages and, where the package
lets it, scores the received and the trained model of each client. Each peer runs in a process of
its own, on all cores unless the label says otherwise; a peer that is not installed is a row that
says so. Rounds that compile or connect are left out. The result is written to
``book/records/peers.json``, which the book plots.
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from itertools import cycle, pairwise
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

RECORD = Path(__file__).parents[1] / "book" / "records" / "peers.json"
B, N, V, BATCH, LR = 10, 64, 16, 32, 0.05


def data() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return images (B, n, 784) and classes (B, n), for training and for validation."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((B, N + V, 784), dtype=np.float32)
    y = rng.integers(10, size=(B, N + V))
    return x[:, :N], y[:, :N], x[:, N:], y[:, N:]


def timed(a_round: Callable[[], object], repeats: int = 30, warm_up: int = 5) -> list[float]:
    times = []
    for _ in range(warm_up + repeats):
        begin = perf_counter()
        a_round()
        times.append(perf_counter() - begin)
    return times[warm_up:]


def ours(threads: int | None = None) -> list[float]:
    import torch

    from benchmarks.rounds import plain_round
    from fedlab_edu import Federation, LocalHP, communicate, mlp, start
    from fedlab_edu.data import Clients

    def clients(x: np.ndarray, y: np.ndarray) -> Clients:
        rows = torch.arange(x.shape[0] * x.shape[1]).split(x.shape[1])
        return Clients(torch.from_numpy(x).flatten(0, 1), torch.from_numpy(y).flatten(), rows)

    x, y, vx, vy = data()
    train, val = clients(x, y), clients(vx, vy)
    model, fed = mlp(784, 128, 10), Federation(train, val, val, tuple("0123456789"), 10)
    run = start(model, fed, LocalHP(lr=LR, batch=BATCH))
    if threads is None:
        return timed(lambda: communicate(run, model, fed, B))
    torch.set_num_threads(threads)
    return timed(lambda: plain_round([run], model, fed))


def jax() -> list[float]:
    """jit(vmap(scan)) over clients, written by hand, with both scores."""
    import jax
    import jax.numpy as jnp

    x, y, vx, vy = (jnp.asarray(part) for part in data())

    def outputs(p: Any, x: Any) -> Any:
        return jax.nn.relu(x @ p[0] + p[1]) @ p[2] + p[3]

    def loss(p: Any, x: Any, y: Any) -> Any:
        return -jnp.take_along_axis(jax.nn.log_softmax(outputs(p, x)), y[:, None], 1).mean()

    def score(p: Any, x: Any, y: Any) -> Any:
        return loss(p, x, y), (outputs(p, x).argmax(1) != y).mean()

    def client(p: Any, x: Any, y: Any, vx: Any, vy: Any, key: Any) -> Any:
        rows = jax.random.permutation(key, N).reshape(-1, BATCH)

        def step(p: Any, at: Any) -> Any:
            g = jax.grad(loss)(p, x[at], y[at])
            return jax.tree_util.tree_map(lambda w, d: w - LR * d, p, g), None

        end, _ = jax.lax.scan(step, p, rows)
        return end, score(p, vx, vy), score(end, vx, vy)

    @jax.jit
    def a_round(p: Any, key: Any) -> Any:
        keys = jax.random.split(key, B)
        each, before, after = jax.vmap(client, (None, 0, 0, 0, 0, 0))(p, x, y, vx, vy, keys)
        return jax.tree_util.tree_map(lambda w: w.mean(0), each), before, after

    key = jax.random.PRNGKey(0)
    shapes = ((784, 128), (128,), (128, 10), (10,))
    p = [0.05 * jax.random.normal(key, shape) for shape in shapes]
    return timed(lambda: jax.block_until_ready(a_round(p, key)))


def fedjax() -> list[float]:
    """Training and averaging; no scores."""
    import jax
    import jax.numpy as jnp

    jax.tree_map = jax.tree_util.tree_map  # FedJAX's last release is older than this JAX
    import fedjax

    x, y, _, _ = data()

    def outputs(p: Any, batch: Any, _: Any = None) -> Any:
        return jax.nn.relu(batch["x"] @ p[0] + p[1]) @ p[2] + p[3]

    def loss(batch: Any, scores: Any) -> Any:
        return -jnp.take_along_axis(jax.nn.log_softmax(scores), batch["y"][:, None], 1)[:, 0]

    shapes = ((784, 128), (128,), (128, 10), (10,))
    key = jax.random.PRNGKey(0)
    p = [0.05 * jax.random.normal(key, shape) for shape in shapes]
    model = fedjax.Model(lambda _: p, outputs, outputs, loss, {})
    algorithm = fedjax.algorithms.fed_avg.federated_averaging(
        fedjax.model_grad(model),
        fedjax.optimizers.sgd(LR),
        fedjax.optimizers.sgd(1.0),
        fedjax.ShuffleRepeatBatchHParams(batch_size=BATCH, num_epochs=1),
    )
    clients = [
        (bytes([i]), fedjax.ClientDataset({"x": x[i], "y": y[i]}), jax.random.PRNGKey(i))
        for i in range(B)
    ]
    state = algorithm.init(p)
    return timed(lambda: jax.block_until_ready(algorithm.apply(state, clients)[0].params))


def pfl() -> list[float]:
    """Apple's pfl with a PyTorch model; it scores both models on the training data."""
    import torch
    from pfl.aggregate.simulate import SimulatedBackend
    from pfl.algorithm.base import NNAlgorithmParams
    from pfl.algorithm.federated_averaging import FederatedAveraging
    from pfl.callback.base import TrainingProcessCallback
    from pfl.data.dataset import Dataset
    from pfl.data.federated_dataset import FederatedDataset
    from pfl.hyperparam import NNEvalHyperParams, NNTrainHyperParams
    from pfl.metrics import Weighted
    from pfl.model.pytorch import PyTorchModel

    x, y, _, _ = (torch.from_numpy(part) for part in data())

    class Net(torch.nn.Sequential):
        def loss(self, x: Any, y: Any, eval: bool = False) -> Any:
            return torch.nn.functional.cross_entropy(self(x), y)

        @torch.no_grad()
        def metrics(self, x: Any, y: Any) -> Any:
            z = self(x)
            loss = torch.nn.functional.cross_entropy(z, y, reduction="sum").item()
            wrong = (z.argmax(1) != y).sum().item()
            return {"loss": Weighted(loss, len(y)), "error": Weighted(wrong, len(y))}

    net = Net(torch.nn.Linear(784, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
    turn = cycle(range(B))
    users = FederatedDataset(lambda i: Dataset((x[i], y[i])), lambda: next(turn))
    times, began = [], [perf_counter()]

    class Clock(TrainingProcessCallback):  # type: ignore[misc]
        def after_central_iteration(self, *args: Any, **options: Any) -> Any:
            times.append(perf_counter() - began[0])
            began[0] = perf_counter()
            return False, super().after_central_iteration(*args, **options)[1]

    sgd = partial(torch.optim.SGD, lr=1.0)
    model = PyTorchModel(net, torch.optim.SGD, sgd(net.parameters()))
    FederatedAveraging().run(
        algorithm_params=NNAlgorithmParams(
            central_num_iterations=35,
            evaluation_frequency=1,
            train_cohort_size=B,
            val_cohort_size=0,
        ),
        backend=SimulatedBackend(training_data=users, val_data=users),
        model=model,
        model_train_params=NNTrainHyperParams(
            local_num_epochs=1, local_learning_rate=LR, local_batch_size=BATCH
        ),
        model_eval_params=NNEvalHyperParams(local_batch_size=N),
        callbacks=[Clock()],
    )
    return times[5:]


def flower() -> list[float]:
    """Our FedAvg as a Flower app, in Flower's simulation: ten nodes, messages in between."""
    os.environ.update(FLWR_TELEMETRY_ENABLED="0", RAY_USAGE_STATS_ENABLED="0")
    import torch
    from flwr.simulation import run_simulation

    from fedlab_edu import Clients, Federation, LocalHP, mlp, start
    from fedlab_edu.flower import client_app, server_app

    x, y, vx, vy = (torch.from_numpy(part) for part in data())
    train = Clients(x.flatten(0, 1), y.flatten(), torch.arange(B * N).split(N))
    val = Clients(vx.flatten(0, 1), vy.flatten(), torch.arange(B * V).split(V))
    model, fed = mlp(784, 128, 10), Federation(train, val, val, tuple("0123456789"), 10)
    c, times = LocalHP(lr=LR, batch=BATCH), []
    server = server_app(
        lambda config, sizes: start(model, sizes, c),
        watch=lambda _: times.append(perf_counter()),
        nodes=B,
        rounds=6,
        clients=B,
    )
    client = client_app(model, lambda context: fed[[context.node_config["partition-id"]]])
    run_simulation(server, client, num_supernodes=B)
    return [b - a for a, b in pairwise(times[1:])]


PEERS: dict[str, Callable[[], list[float]]] = {
    "fedlab_edu": ours,
    "plain loop, 1 thread": partial(ours, 1),
    "plain loop, 2 threads": partial(ours, 2),
    "JAX by hand": jax,
    "FedJAX (no scores)": fedjax,
    "pfl": pfl,
    "fedlab_edu over Flower": flower,
}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.peers", description="Rounds of FedAvg.")
    parser.add_argument("--peer", choices=PEERS, help="measure one, and print its seconds as JSON")
    parser.add_argument("--python", default=sys.executable, help="that has the peers' packages")
    options = parser.parse_args(arguments)
    if options.peer:
        times = PEERS[options.peer]()
        unit = 1 if sys.platform == "darwin" else 1024  # bytes of ru_maxrss
        memory = unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(json.dumps({"times": times, "MiB": memory / 2**20}))
        return
    rows = {}
    print(
        f"{'a round of FedAvg':26}{'rounds':>8}{'median':>11}{'least':>11}{'most':>11}{'peak':>12}"
    )
    for name in PEERS:
        command = [options.python, "-m", "benchmarks.peers", "--peer", name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"{name:26}  {done.stderr.strip().splitlines()[-1][:80]}")
            continue
        found = json.loads(done.stdout.strip().splitlines()[-1])
        ms = [1e3 * pick(found["times"]) for pick in (median, min, max)]
        rows[name] = {"rounds": len(found["times"]), "ms": ms, "MiB": found["MiB"]}
        print(
            f"{name:26}{len(found['times']):8}{''.join(f'{t:8.1f} ms' for t in ms)}"
            f"{found['MiB']:8.0f} MiB",
            flush=True,
        )
    about = {"date": f"{datetime.now(UTC):%Y-%m-%d}", "cores": os.cpu_count()}
    RECORD.write_text(json.dumps({**about, "machine": platform.machine(), "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
