"""The app of a node: Loc on the data of its own client, whose state stays here."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.clientapp.typing import Mod
from jaxtyping import Float
from torch import Tensor

from fedlab_edu.data.clients import Federation
from fedlab_edu.flower.messages import method_name, pack, unpack
from fedlab_edu.methods import ClientInput, FedAvg, Method
from fedlab_edu.models.model import Model
from fedlab_edu.rounds.checkpoint import read, write
from fedlab_edu.rounds.communicate import run_loc
from fedlab_edu.rounds.gather import is_finite
from fedlab_edu.rounds.run import check_types
from fedlab_edu.training.hparams import LocalHP
from fedlab_edu.training.scores import score
from fedlab_edu.validate import require


def client_app(
    model: Model | Callable[[Context], Model],
    data: Callable[[Context], Federation],
    method: Method | Callable[[Context], Method] | None = None,
    mods: Sequence[Mod] = (),
) -> ClientApp:
    """Return the app of a node.

    It answers a query with what the server may know of its client: its number ``partition-id``,
    |T_i|, |V_i|, the number of classes, the dtype, and d. A request to train brings the server's
    vectors, a seed and one configuration c. The answer has what Loc sends (``arrays``, and for some
    methods ``state_delta`` and ``weight``), ``num-examples`` |T_i|, whether the client is finite,
    and the loss and the error on V_i of w and of the personal model. Nothing else leaves the node.
    The records have the names of Flower's own strategies; these do not leave out diverged clients.

    Args:
        model, method: or a function of the context, to choose by the run config. The default method
            is FedAvg; the node refuses requests of a run of another method.
        data: returns a federation of one client, this node's.
        mods: Flower's modifiers, for requests to train alone.

    The client state stays on the node: in the folder that the node config names ``state-folder``,
    or, without one, in the memory of the node for as long as this Flower run lasts.
    """
    app = ClientApp()

    @app.query()
    def announce(message: Message, context: Context) -> Message:
        sizes, (own, _) = _own(data, context).sizes, _chosen(model, method, context)
        metrics: Any = {"client": context.node_config["partition-id"], "d": own.d}
        metrics |= {"train": int(sizes.train), "val": int(sizes.val), "classes": sizes.classes}
        kind = ConfigRecord({"dtype": str(sizes.dtype)})
        content = RecordDict({"metrics": MetricRecord(metrics), "config": kind})
        return Message(content, reply_to=message)

    @app.train(mods=[*mods])
    def train(message: Message, context: Context) -> Message:
        of_node, (own, its_method) = _own(data, context), _chosen(model, method, context)
        return Message(_train(own, of_node, its_method, message.content, context), reply_to=message)

    return app


def _own(data: Callable[[Context], Federation], context: Context) -> Federation:
    number = context.node_config.get("partition-id")
    ok = isinstance(number, int) and number >= 0
    require(ok, "partition-id", number, "a whole number of at least 0")
    fed = data(context)
    clients = len(fed) if isinstance(fed, Federation) else type(fed).__name__
    require(clients == 1, "clients of data(context)", clients, "1, this node's: fed[[i]]")
    return fed


def _chosen(model: Any, method: Any, context: Context) -> tuple[Model, Method]:
    model = model if isinstance(model, Model) else model(context)
    method = FedAvg() if method is None else method
    return model, method if isinstance(method, Method) else method(context)


def _train(
    model: Model, fed: Federation, method: Method, content: RecordDict, context: Context
) -> RecordDict:
    """Return the content of the answer to a request to train."""
    check_types(model, fed)
    config: Any = content.config_records["config"]
    ours = method_name(method)
    of_run = config.get("method", ours)
    require(of_run == ours, "method of the run", of_run, f"{ours}, the node's")
    c = LocalHP(**{name: config[name] for name in LocalHP().columns})
    device = fed.train.x.device
    w = unpack(content, "arrays").to(device)
    h = unpack(content, "h").to(device) if "h" in content else torch.zeros_like(w)
    state = method.init_state(w)
    if state is not None and config.get("counted", -1) >= 0:
        state = load_state(context, config).to(device)
    before = score(model, w, fed.val)
    round_, seeds = torch.tensor([config.get("round", 0)]), [config["seed"]]
    its_state = None if state is None else state[None]
    update = run_loc(method, ClientInput(model, fed.train, c, seeds, w, h, its_state, round_))
    after = score(model, update.personal, fed.val)
    finite = bool(is_finite(update, after))
    if state is not None:
        assert update.state is not None
        store_state(context, config, state, update.state[0] if finite else state)
    scores = {"before": torch.cat(before).tolist(), "after": torch.cat(after).tolist()}
    metrics = MetricRecord({"num-examples": int(fed.train.n), "finite": int(finite), **scores})
    if update.weight is not None:
        metrics["weight"] = float(update.weight[0])
    answer = RecordDict({"arrays": pack(update.model[0]), "metrics": metrics})
    if update.state_delta is not None:
        answer["state_delta"] = pack(update.state_delta[0])
    return answer


# A node keeps two states, of before and after its last round. The server names the last round of
# this client that counted; if the client was late, or the server was killed, it is the one before.


def load_state(context: Context, config: Any) -> Float[Tensor, " d"]:
    """Return the client state after the client's last round that counted.

    Raises:
        ValueError: the node has no such state, or its file is damaged.
    """
    path, round_, here = _path(context, config), str(config["counted"]), dict[str, Tensor]()
    if path is not None and path.exists():
        allowed = "a client state that this package has written, undamaged"
        here = read(path.read_bytes(), path, (), allowed, "nothing")
    elif path is None and "states" in context.state.array_records:
        here = dict(context.state.array_records["states"].to_torch_state_dict())
    seen, allowed = [*here], f"of round {round_}, the last of this client that counted"
    require(round_ in here, "rounds of the client states on this node", seen, allowed)
    return here[round_]


def store_state(
    context: Context, config: Any, before: Float[Tensor, " d"], after: Float[Tensor, " d"]
) -> None:
    """Keep the state with which a client began a round, and the one at its end."""
    begun, done = str(config.get("counted", -1)), str(config.get("round", 0))
    states, path = {begun: before.cpu(), done: after.cpu()}, _path(context, config)
    if path is None:
        arrays = {name: Array(state.numpy()) for name, state in states.items()}
        context.state["states"] = ArrayRecord(arrays)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(states, path)


def _path(context: Context, config: Any) -> Path | None:
    """Return the file of a run's client state on this node, or None to keep it in memory."""
    folder = context.node_config.get("state-folder")
    if folder is None:
        return None
    client, run = context.node_config.get("partition-id"), config.get("run", "run")
    require(str(run).isalnum(), "run", run, "letters and digits: it becomes part of a file's name")
    return Path(str(folder)) / f"client-{client}-{run}.pt"
