"""The same Loc and Agg as a Flower app: one process becomes messages between a server and nodes.

``play(run, model, fed, rounds, clients)`` is ``client_app(model, fed)`` on every node and
``server_app(run, fed, rounds, clients, watch=...)`` on the server. The two draw the same clients,
configurations and minibatches, so that the same run comes out, to rounding.
``flwr.simulation.run_simulation(server, client, num_supernodes=len(fed))`` runs both here.

Client i of the federation is the node whose configuration says ``partition-id = i``: a simulation
numbers its nodes so by itself, and ``flower-supernode --node-config "partition-id=3"`` sets it.
Flower reports its use to its makers, unless the environment has FLWR_TELEMETRY_ENABLED=0 before
this module is imported.
"""

import time
from collections.abc import Callable, Iterable
from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor

from fedlab_edu.check import require
from fedlab_edu.data.clients import Federation
from fedlab_edu.hparams import LocalHP
from fedlab_edu.local import Score, local_sgd, score
from fedlab_edu.model import Model
from fedlab_edu.run import Run, ask, tell

try:
    from flwr.app import ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
    from flwr.clientapp import ClientApp
    from flwr.serverapp import Grid, ServerApp
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("Flower is missing: pip install -e '.[flower]'") from error

JOIN_SECONDS = 60.0  # how long the server waits for all clients to be there


def client_app(model: Model, fed: Federation) -> ClientApp:
    """What runs on a node: Loc on the data of its own client, and on no other's.

    It answers a query with its client's number. It answers a request to train, which brings w, a
    seed and one setting c, with w_i, |T_i| and the loss and error of w and of w_i on V_i. The
    records have the names that Flower's own strategies expect.
    """
    app = ClientApp()

    @app.query()
    def who(message: Message, context: Context) -> Message:
        client = MetricRecord({"client": _client(context, fed)})
        return Message(RecordDict({"metrics": client}), reply_to=message)

    @app.train()
    def train(message: Message, context: Context) -> Message:
        i = [_client(context, fed)]
        config = message.content.config_records["config"]
        c = LocalHP(**{name: config[name] for name in LocalHP().columns})
        w = _unpack(message.content).to(fed.train.x.device)
        before = score(model, w, fed.val[i])
        W = local_sgd(model, w, fed.train[i], c, [cast(int, config["seed"])])
        after = score(model, W, fed.val[i])
        scores = {"before": torch.cat(before).tolist(), "after": torch.cat(after).tolist()}
        metrics = MetricRecord({"num-examples": int(fed.train[i].n), **scores})
        return Message(RecordDict({"arrays": _pack(W[0]), "metrics": metrics}), reply_to=message)

    return app


def server_app(
    run: Run, fed: Federation, rounds: int, clients: int = 10, *, watch: Callable[[Run], object]
) -> ServerApp:
    """What runs on the server: the run's tuner and Agg, for some more rounds with B clients.

    Args:
        fed: the clients' numbers of examples; the server looks at no example.
        watch: sees the run before the first round and after each. A Flower app returns nothing,
            so this is how the result gets out: ``watch=runs.append``, or a function that saves.

    Raises (in the app):
        ValueError: the nodes are not the clients of this federation, one for each.
        TimeoutError: some client's node has not joined in `JOIN_SECONDS`.
        RuntimeError: a node has failed.
    """
    require(rounds >= 0, "rounds", rounds, "at least 0")
    app = ServerApp()

    @app.main()
    def main(grid: Grid, context: Context) -> None:
        nodes, now = _join(grid, len(fed)), run
        watch(now)
        for _ in range(rounds):
            now = _communicate(now, grid, nodes, fed, clients)
            watch(now)

    return app


def _communicate(run: Run, grid: Grid, nodes: dict[int, int], fed: Federation, clients: int) -> Run:
    """`fedlab_edu.communicate`, its local training and scores done by the clients' nodes."""
    work = ask(run, fed, clients)
    chosen = [nodes[i] for i in work.client.tolist()]
    messages = []
    for j, (node, seed) in enumerate(zip(chosen, work.seeds, strict=True)):
        c = {name: column.item() for name, column in work.c[j].columns.items()}
        content = RecordDict({"arrays": _pack(run.w), "config": ConfigRecord({"seed": seed, **c})})
        messages.append(Message(content, node, "train", group_id=str(run.round + 1)))
    answers = _send(grid, messages)
    metrics = [answers[node].metric_records["metrics"] for node in chosen]
    sizes, expected = [m["num-examples"] for m in metrics], fed.train[work.client].n.tolist()
    require(sizes == expected, "num-examples", sizes, f"{expected}, as in the server's federation")
    before, after = (
        Score(*torch.tensor([m[when] for m in metrics], dtype=torch.float64).T)
        for when in ("before", "after")
    )
    W = torch.stack([_unpack(answers[node]) for node in chosen]).to(run.w)
    return tell(run, fed, work, W, before, after)


def _join(grid: Grid, clients: int) -> dict[int, int]:
    """Wait for a node for each client, and ask the nodes who they are: client -> node."""
    end = time.monotonic() + JOIN_SECONDS
    while len(ids := list(grid.get_node_ids())) < clients:
        if time.monotonic() > end:
            raise TimeoutError(f"{len(ids)} of {clients} nodes have joined in {JOIN_SECONDS} s")
        time.sleep(0.1)
    answers = _send(grid, [Message(RecordDict(), node, "query") for node in ids])
    who = {n: cast(int, a.metric_records["metrics"]["client"]) for n, a in answers.items()}
    allowed = f"each number from 0 to {clients - 1} once"
    require(sorted(who.values()) == list(range(clients)), "partition-id", [*who.values()], allowed)
    return {client: node for node, client in who.items()}


def _send(grid: Grid, messages: Iterable[Message]) -> dict[int, RecordDict]:
    """Each node's answer; they come in any order."""
    answers = {}
    for reply in grid.send_and_receive(messages):
        node = reply.metadata.src_node_id
        if reply.has_error():
            raise RuntimeError(f"node {node} has failed: {reply.error.reason}")
        answers[node] = reply.content
    return answers


def _client(context: Context, fed: Federation) -> int:
    number = context.node_config.get("partition-id")
    ok = isinstance(number, int) and 0 <= number < len(fed)
    require(ok, "partition-id", number, f"a whole number from 0 to {len(fed) - 1}")
    return cast(int, number)


def _pack(w: Float[Tensor, " d"]) -> ArrayRecord:
    return ArrayRecord([w.cpu().numpy()])


def _unpack(content: RecordDict) -> Float[Tensor, " d"]:
    return torch.tensor(content.array_records["arrays"].to_numpy_ndarrays()[0])
