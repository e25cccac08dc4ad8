"""The same Loc and Agg as a Flower app: messages between a server and nodes.

``train(run, model, fed, rounds, clients)`` becomes ``client_app(model, fed)`` on every node and
``server_app(run, fed, rounds, clients, watch=...)`` on the server. Both draw the same clients,
configurations and minibatches, so the run is the same up to rounding.
``flwr.simulation.run_simulation(server, client, num_supernodes=len(fed))`` runs both here.

Client i is the node with ``partition-id = i`` in its configuration. A simulation sets it; otherwise
``flower-supernode --node-config "partition-id=3"`` does. To switch off Flower's telemetry, set
FLWR_TELEMETRY_ENABLED=0 before this module is imported.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor

from fedlab_edu.data.clients import Federation
from fedlab_edu.methods import ClientInput, ClientUpdate, FedAvg, Method
from fedlab_edu.models.model import Model
from fedlab_edu.rounds.communicate import draw_work, finish_round
from fedlab_edu.rounds.gather import Sums, Tile, is_finite
from fedlab_edu.rounds.run import Run, check_types
from fedlab_edu.training.hparams import LocalHP
from fedlab_edu.training.scores import Score, score
from fedlab_edu.validate import require, require_type, whole

try:
    from flwr.app import ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
    from flwr.clientapp import ClientApp
    from flwr.serverapp import Grid, ServerApp
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("Flower is missing: pip install 'fedlab_edu[flower]'") from error

JOIN_SECONDS = 60.0  # how long the server waits for all nodes


def client_app(model: Model, fed: Federation, method: Method | None = None) -> ClientApp:
    """Return the app of a node, which runs Loc on the data of its own client.

    It answers a query with its client's number. A request to train brings the server's vectors, a
    seed and one configuration c. The answer has the client update, |T_i|, and the loss and error on
    V_i of w and of the personal model. The client state stays on the node. The records have the
    names of Flower's own strategies; these do not leave out diverged clients (``finite = 0``).
    The default method is FedAvg; the node refuses requests of a run of another method.
    """
    check_types(model, fed)
    app, method = ClientApp(), method or FedAvg()

    @app.query()
    def who(message: Message, context: Context) -> Message:
        client = MetricRecord({"client": _client(context, fed)})
        return Message(RecordDict({"metrics": client}), reply_to=message)

    @app.train()
    def train(message: Message, context: Context) -> Message:
        i = [_client(context, fed)]
        config = message.content.config_records["config"]
        of_run, ours = config.get("method", _named(method)), _named(method)
        require(of_run == ours, "method of the run", of_run, f"{ours}, the node's")
        c = LocalHP(**{name: config[name] for name in LocalHP().columns})
        device, content, state = fed.train.x.device, message.content, context.state
        w = _unpack(content, "arrays").to(device)
        h = _unpack(content, "h").to(device) if "h" in content else torch.zeros_like(w)
        has = "state" in state
        own = _unpack(state, "state").to(device) if has else method.init_state(w)
        before = score(model, w, fed.val[i])
        played = torch.tensor([cast(int, config.get("round", 0))])
        inputs = ClientInput(w, h, None if own is None else own[None], played)
        update = method.loc(model, inputs, fed.train[i], c, [cast(int, config["seed"])])
        after = score(model, update.personal, fed.val[i])
        finite = bool(is_finite(update, after))
        if update.state is not None and finite:
            state["state"] = _pack(update.state[0])
        scores = {"before": torch.cat(before).tolist(), "after": torch.cat(after).tolist()}
        n = int(fed.train[i].n)
        metrics = MetricRecord({"num-examples": n, "finite": int(finite), **scores})
        if update.weight is not None:
            metrics["weight"] = float(update.weight[0])
        reply = RecordDict({"arrays": _pack(update.model[0]), "metrics": metrics})
        if update.state_delta is not None:
            reply["state_delta"] = _pack(update.state_delta[0])
        return Message(reply, reply_to=message)

    return app


def server_app(
    run: Run, fed: Federation, rounds: int, clients: int = 10, *, watch: Callable[[Run], object]
) -> ServerApp:
    """Return the app of the server: the run's tuner and Agg, for some more rounds with B clients.

    Args:
        fed: only the clients' numbers of examples are read.
        watch: gets the run before the first round and after each, as in ``watch=runs.append``. A
            Flower app returns nothing, so this is the only way to get the result.

    Raises:
        ValueError: fewer than 0 rounds; a run that has begun, of a method with client states; a run
            that draws clients with replacement.

    Raises (in the app):
        ValueError: the nodes are not the clients of this federation, one for each.
        TimeoutError: a client's node has not joined in `JOIN_SECONDS`.
        RuntimeError: a node has failed.
    """
    require_type("run", run, Run, "start(model, fed)")
    require_type("fed", fed, Federation, "federate(x, y, rows)")
    rounds, clients = whole("rounds", rounds, 0), whole("clients", clients, 1, len(fed))
    require(not run.replacement, "replacement", True, "False: a node trains once in a round")
    if run.method.init_state(run.w) is not None:
        allowed = "0: client states live on the Flower nodes, from the first round on"
        require(run.round == 0, "rounds played", run.round, allowed)
        run = replace(run, states=None)
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
    """Return the run after one round; the nodes do the local training and the scoring."""
    work = draw_work(run, fed, clients)
    chosen = [nodes[i] for i in work.client.tolist()]
    messages = []
    for j, (node, seed) in enumerate(zip(chosen, work.seeds, strict=True)):
        c = {name: column.item() for name, column in work.c[j].columns.items()}
        told = ConfigRecord({"seed": seed, "round": run.round, "method": _named(run.method), **c})
        content = RecordDict({"arrays": _pack(run.w), "config": told})
        if run.server.h.any():
            content["h"] = _pack(run.server.h)
        messages.append(Message(content, node, "train", group_id=str(run.round + 1)))
    answers = _send(grid, messages)
    metrics = [answers[node].metric_records["metrics"] for node in chosen]
    sizes, expected = [m["num-examples"] for m in metrics], fed.train[work.client].n.tolist()
    require(sizes == expected, "num-examples", sizes, f"{expected}, as in the server's federation")
    before, after = (
        Score(*torch.tensor([m[when] for m in metrics], dtype=torch.float64).T)
        for when in ("before", "after")
    )
    models = torch.stack([_unpack(answers[node], "arrays") for node in chosen]).to(run.w)
    delta = weight = None
    if "state_delta" in answers[chosen[0]]:
        delta = torch.stack([_unpack(answers[node], "state_delta") for node in chosen]).to(run.w)
    if "weight" in metrics[0]:
        weight = torch.tensor([m["weight"] for m in metrics], dtype=torch.float64)
    here = torch.arange(len(chosen))
    finite = torch.tensor([bool(m["finite"]) for m in metrics])
    # personal models and client states stay on the nodes
    update = ClientUpdate(models, models, None, delta, weight)
    tile = Tile(torch.zeros_like(here), here, work.client, update, before, after, finite)
    sums = Sums([run], [work], fed)
    sums.add(sums.part(tile))
    return finish_round(run, *sums.gathered())


def _join(grid: Grid, clients: int) -> dict[int, int]:
    """Wait for one node per client, and return the map from client to node."""
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


def _named(method: Method) -> str:
    return f"{type(method).__qualname__}{vars(method)}"


def _pack(w: Float[Tensor, " d"]) -> ArrayRecord:
    return ArrayRecord([w.cpu().numpy()])


def _unpack(content: RecordDict, name: str) -> Float[Tensor, " d"]:
    return torch.tensor(content.array_records[name].to_numpy_ndarrays()[0])
