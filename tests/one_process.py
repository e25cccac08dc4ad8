"""Flower in one process: a grid that hands each message to its node's app at once."""

import os
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import torch

from fedlab_edu import Federation, Run, mlp
from fedlab_edu.methods import Method

os.environ["FLWR_TELEMETRY_ENABLED"] = "0"
with warnings.catch_warnings():
    # typer, which Flower imports, uses a name that click will drop
    warnings.filterwarnings("ignore", "'click", DeprecationWarning)
    from flwr.app import Context, Error, Message, RecordDict
    from flwr.clientapp import ClientApp
    from flwr.serverapp import Grid
    from flwr.supercore.task_identity import TaskIdentity

    from fedlab_edu.flower import client_app, server_app

MODEL = mlp(64, 16, 10)
N = 14

TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = 1, 1, 1  # of this process


class OneProcess(Grid):
    """Hands each message to its node's client app at once; the last answer is back first.

    Args:
        app: the app of the node of a client.
        config: the node configuration of the node of a client, beside its number.
        change: gets the client, the request and the answer, and returns what the server gets, or
            None for nothing.
    """

    def __init__(
        self,
        app: Callable[[int], ClientApp],
        numbers: Iterable[int] = range(N),
        config: Callable[[int], dict[str, Any]] = lambda client: {},
        change: Callable[[int, Message, Message], Message | None] = lambda client, sent, got: got,
        run_config: dict[str, Any] | None = None,
    ) -> None:
        self.app, self.config, self.change = app, config, change
        self.run_config = run_config or {}
        self.sent: list[Message] = []
        self.nodes = {100 + 7 * j: number for j, number in enumerate(numbers)}
        self.states = {node: RecordDict() for node in self.nodes}
        self.waiting: dict[str, Message] = {}

    def get_node_ids(self) -> list[int]:
        return list(self.nodes)

    def answer(self, message: Message) -> Message:
        node = message.metadata.dst_node_id
        number = self.nodes[node]
        config = {"partition-id": number, **self.config(number)}
        context = Context(1, node, config, self.states[node], self.run_config)
        try:
            return self.app(number)(message, context)
        except Exception as error:  # as Flower's runtimes do
            return Message(Error(0, str(error)), reply_to=message)

    def push_messages(self, messages: Iterable[Message]) -> list[str]:
        ids = []
        for message in messages:
            self.sent.append(message)
            ids.append(str(len(self.sent)))
            message.metadata.__dict__["_message_id"] = ids[-1]
            client = self.nodes[message.metadata.dst_node_id]
            reply = self.change(client, message, self.answer(message))
            if reply is not None:
                self.waiting[ids[-1]] = reply
        return ids

    def pull_messages(self, message_ids: Iterable[str]) -> list[Message]:
        asked = set(message_ids)
        return [self.waiting.pop(i) for i in [*self.waiting][::-1] if i in asked]

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> list[Message]:
        return self.pull_messages(self.push_messages(messages))

    set_run = create_message = None
    run = None


def node_of(fed: Federation, method: Method | None = None) -> ClientApp:
    """The app of a node, whose data are those of its client alone."""
    return client_app(MODEL, lambda context: fed[[context.node_config["partition-id"]]], method)


def over_flower(
    run: Run, fed: Federation, rounds: int, grid: OneProcess, clients: int = 5, **settings: Any
) -> list[Run]:
    """The runs that the server app shows, from the one it is given to the last."""
    seen: list[Run] = []
    app = server_app(lambda config, sizes: run, watch=seen.append)
    config = {"nodes": len(fed), "rounds": run.round + rounds, "clients": clients}
    config |= {"join-seconds": 0.05} | {name.replace("_", "-"): x for name, x in settings.items()}
    app(grid, Context(1, 1, {}, RecordDict(), config))
    return seen


def assert_same(got: Run, expected: Run) -> None:
    torch.testing.assert_close(got.server, expected.server, rtol=0, atol=1e-12)
    assert got.round == expected.round
    for one, other in zip(got.history, expected.history, strict=True):
        for name in ("client", "row", "size"):
            assert getattr(one, name).tolist() == getattr(other, name).tolist()
        for a, b in zip((*one.before, *one.after), (*other.before, *other.after), strict=True):
            torch.testing.assert_close(a, b, rtol=0, atol=1e-12)
