"""The nodes of a federation, looked up before each round: which node holds which client."""

import time
from collections.abc import Iterable, Iterator
from logging import INFO, WARNING
from typing import Any

import torch
from flwr.app import Message, RecordDict
from flwr.common.constant import ErrorCode
from flwr.common.logger import log
from flwr.serverapp import Grid

from fedlab_edu.data.clients import Sizes
from fedlab_edu.validate import require, whole

POLL_SECONDS = 0.2
_SIZES = ("train", 1), ("val", 0), ("classes", 0), ("d", 1)  # each with the least that it can be
_UNREACHED = (
    ErrorCode.NODE_UNAVAILABLE,
    ErrorCode.MESSAGE_UNAVAILABLE,
    ErrorCode.REPLY_MESSAGE_UNAVAILABLE,
)


class Nodes:
    """The nodes of N clients, and what they have announced.

    Args:
        clients: N; the clients are numbered from 0.
    """

    def __init__(self, grid: Grid, clients: int) -> None:
        self.grid, self.clients = grid, clients
        self.of: dict[int, int] = {}  # client -> its node, the one that has announced itself last
        self.announced: dict[int, tuple[int, int]] = {}  # client -> |T_i|, |V_i|
        self.kind: tuple[int, str, int] | None = None  # classes, dtype and d, the same for all
        self.faults: dict[int, str] = {}  # node -> why it is refused
        self.known: set[int] = set()  # all nodes that were ever asked
        self.asked: dict[str, int] = {}  # query that is not answered yet -> node

    @property
    def d(self) -> int | None:
        """The number of weights of the nodes' model."""
        return self.kind and self.kind[2]

    def look(self) -> set[int]:
        """Ask new nodes who they are, read what has come in, and return the nodes online."""
        online = {*self.grid.get_node_ids()}
        new, self.known = sorted(online - self.known), self.known | online
        self.asked |= send(self.grid, [Message(RecordDict(), node, "query") for node in new])
        for reply in pull(self.grid, self.asked):
            node = self.asked.pop(reply.metadata.reply_to_message_id)
            if reply.has_error() and reply.error.code in _UNREACHED:
                self.known.discard(node)  # ask it again
                continue
            try:
                self._take(node, content_of(reply))
            except ValueError as error:
                self.faults[node] = str(error)
                log(WARNING, "node %s is left out: %s", node, error)
        return online

    def _take(self, node: int, content: RecordDict) -> None:
        metrics: Any = content.metric_records.get("metrics", {})
        client = whole("client", metrics.get("client"), 0, self.clients - 1)
        train, val, classes, d = (whole(name, metrics.get(name), low) for name, low in _SIZES)
        config: Any = content.config_records.get("config", {})
        kind = classes, str(config.get("dtype")), d
        ours, sizes = self.kind or kind, self.announced.get(client, (train, val))
        require(kind == ours, "classes, dtype and d", kind, f"{ours}, those of the first node")
        require((train, val) == sizes, "sizes", (train, val), f"{sizes}, announced before")
        if client in self.of:
            log(WARNING, "client %s: node %s in place of %s", client, node, self.of[client])
        self.kind, self.announced[client], self.of[client] = kind, sizes, node

    def join(self, seconds: float) -> Sizes:
        """Wait until each client has a node, and return what they have announced.

        Raises:
            TimeoutError: a client's node has not joined in time.
        """
        end, joined = time.monotonic() + seconds, -1
        while True:
            self.look()
            if len(self.of) > joined:
                joined = len(self.of)
                log(INFO, "%s of %s clients have joined", joined, self.clients)
            if joined == self.clients:
                break
            if time.monotonic() > end:
                missing = sorted({*range(self.clients)} - {*self.of})
                raise TimeoutError(
                    f"no node for the clients {missing} of {self.clients} in {seconds} s"
                    + named(self.faults)
                )
            time.sleep(POLL_SECONDS)
        assert self.kind is not None
        train, val = torch.tensor([self.announced[i] for i in range(self.clients)]).T
        dtype = getattr(torch, self.kind[1].removeprefix("torch."), None)
        return Sizes(train, val, self.kind[0], dtype if isinstance(dtype, torch.dtype) else None)


def named(faults: dict[int, str]) -> str:
    """Return lines of the nodes that have failed and their faults."""
    return "".join(f"\n  node {node}: {why}" for node, why in faults.items())


def content_of(reply: Message) -> RecordDict:
    """Return the content of a node's reply; raise a ValueError with the node's error."""
    if reply.has_error():
        raise ValueError(reply.error.reason)
    return reply.content


def send(grid: Grid, messages: list[Message]) -> dict[str, int]:
    """Send messages to different nodes, and return id of the message -> node."""
    ids = grid.push_messages(messages) if messages else []
    sent = zip(ids, messages, strict=True)
    return {id_: message.metadata.dst_node_id for id_, message in sent if id_}


def pull(grid: Grid, ids: Iterable[str]) -> Iterable[Message]:
    """Return the replies that are here."""
    return grid.pull_messages([*ids]) if ids else []


def replies(grid: Grid, ids: Iterable[str], seconds: float) -> Iterator[Message]:
    """Yield the replies to messages as they come in, until the time is over."""
    end, waiting = time.monotonic() + seconds, {*ids}
    while waiting:
        here = [*pull(grid, waiting)]
        waiting -= {reply.metadata.reply_to_message_id for reply in here}
        yield from here
        if time.monotonic() > end:
            return
        if waiting and not here:
            time.sleep(POLL_SECONDS)
