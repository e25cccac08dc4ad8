"""JAX by hand, and FedJAX."""

import os
from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.peers import BATCH, LR, SHAPES, B, N, data, timed


def initial() -> list[Any]:
    key = jax.random.PRNGKey(0)
    return [0.05 * jax.random.normal(key, shape) for shape in SHAPES]


def outputs(p: Any, x: Any) -> Any:
    return jax.nn.relu(x @ p[0] + p[1]) @ p[2] + p[3]


def losses(outputs: Any, y: Any) -> Any:
    return -jnp.take_along_axis(jax.nn.log_softmax(outputs), y[:, None], 1)[:, 0]


def loss(p: Any, x: Any, y: Any) -> Any:
    return losses(outputs(p, x), y).mean()


def score(p: Any, x: Any, y: Any) -> Any:
    return loss(p, x, y), (outputs(p, x).argmax(1) != y).mean()


def by_hand() -> list[float]:
    """Time ``jit(vmap(scan))`` over clients, with both scores."""
    x, y, vx, vy = (jnp.asarray(part) for part in data())

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

    p, key = initial(), jax.random.PRNGKey(0)
    return timed(lambda: jax.block_until_ready(a_round(p, key)))


def on_one_core() -> list[float]:
    """Time `by_hand` on one core: JAX counts the cores when it first computes."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    return by_hand()


def with_fedjax() -> list[float]:
    """Time training and averaging, without scores."""
    jax.tree_map = jax.tree_util.tree_map  # FedJAX's last release is older than this JAX
    import fedjax

    p, (x, y, _, _) = initial(), data()

    def apply(p: Any, batch: Any, _: Any = None) -> Any:
        return outputs(p, batch["x"])

    model = fedjax.Model(lambda _: p, apply, apply, lambda b, out: losses(out, b["y"]), {})
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
