"""A round over Flower: ask the nodes, check their answers, aggregate."""

import math
from collections import Counter
from dataclasses import dataclass
from functools import partial
from logging import WARNING
from typing import Annotated, Any

import torch
from flwr.app import ConfigRecord, Message, RecordDict
from flwr.common.logger import log

from fedlab_edu.data.clients import Sizes
from fedlab_edu.flower.messages import method_name, pack, read_answer
from fedlab_edu.flower.nodes import Nodes, content_of, named, replies, send
from fedlab_edu.rounds.draw import draw_work
from fedlab_edu.rounds.gather import Sums, Tile, Work
from fedlab_edu.rounds.run import Run
from fedlab_edu.validate import Checked, positive, real, whole

TRIES = 3  # of a round in which fewer clients than needed have answered
_bound = real("a number above 0, or inf", lambda x: x > 0)


@dataclass(frozen=True)
class Settings(Checked):
    """The settings of a server, which entries of the run config replace: "round-seconds", ...

    Args:
        nodes: N; the server waits until all have joined.
        rounds: to play in all, those of an earlier, interrupted Flower run included.
        clients: B, drawn for each round.
        least: the number of clients that must answer; a round with fewer is tried again, twice.
        round_seconds: how long clients have to answer; later answers do not count.
        join_seconds: how long the server waits for all nodes at first.
        path: a file on the server's machine, written after each round, from which the server
            resumes. `load_run` reads it, too. "" keeps no file.
        largest: the largest length of a client's change of w; longer ones do not count.
    """

    nodes: Annotated[int, partial(whole, least=1)]
    rounds: Annotated[int, partial(whole, least=0)]
    clients: Annotated[int, partial(whole, least=1)] = 10
    least: Annotated[int, partial(whole, least=1)] = 1
    round_seconds: Annotated[float, positive] = 600.0
    join_seconds: Annotated[float, positive] = 600.0
    path: str = ""
    largest: Annotated[float, _bound] = math.inf


class Rounds:
    """Plays the rounds of a run, named ``name``, with the nodes of a federation."""

    def __init__(self, nodes: Nodes, sizes: Sizes, settings: Settings, name: str) -> None:
        self.nodes, self.sizes, self.settings, self.name = nodes, sizes, settings, name

    def play(self, run: Run) -> Run:
        """Return the run after one round, with the clients that have answered in time."""
        work, least = draw_work(run, self.sizes, self.settings.clients), self.settings.least
        for _ in range(TRIES):
            answers, faults = self._ask(run, work)
            for node, why in faults.items():
                log(WARNING, "round %s: without node %s, %s", run.round + 1, node, why)
            if len(answers) >= least:
                return self._finish(run, work, answers)
        raise RuntimeError(
            f"in round {run.round + 1} {len(answers)} of {len(work.client)} clients have answered, "
            f"{TRIES} times; needed: {least}{named(faults)}"
        )

    def _ask(self, run: Run, work: Work) -> tuple[dict[int, Tile], dict[int, str]]:
        """Return the answers by their place in the round, and the faults by node."""
        seconds, online = self.settings.round_seconds, self.nodes.look()
        clients, counted = work.client.tolist(), _last_rounds(run)
        place = {self.nodes.of[i]: j for j, i in enumerate(clients)}
        how: Any = {"message_type": "train", "ttl": seconds, "group_id": str(run.round + 1)}
        requests = [
            Message(self._request(run, work, j, counted.get(clients[j], -1)), node, **how)
            for node, j in place.items()
            if node in online
        ]
        asked, answers = send(self.nodes.grid, requests), dict[int, Tile]()
        why = dict.fromkeys(place, "not connected")
        why |= dict.fromkeys(asked.values(), "no answer in time")
        for reply in replies(self.nodes.grid, asked, seconds):
            # an error comes from the SuperLink's own node
            node = asked[reply.metadata.reply_to_message_id]
            try:
                answers[place[node]] = self._read(reply, run, clients[place[node]])
                del why[node]
            except ValueError as error:
                why[node] = str(error)
        # a method demands a state_delta, or a weight, of all clients or of none
        kinds = {j: tuple(v is None for v in answer.update) for j, answer in answers.items()}
        usual = Counter(kinds.values()).most_common(1)
        for node, j in place.items():
            if j in answers and kinds[j] != usual[0][0]:
                del answers[j]
                why[node] = "its records are not those of the other clients"
        faults = {node: f"client {clients[place[node]]}: {fault}" for node, fault in why.items()}
        return answers, faults

    def _request(self, run: Run, work: Work, j: int, counted: int) -> RecordDict:
        """Return the content of the message to the client at a place in the round."""
        config: Any = {name: column.item() for name, column in work.c[j].columns.items()}
        config |= {"run": self.name, "seed": work.seeds[j], "round": run.round}
        config |= {"counted": counted, "method": method_name(run.method)}
        content = RecordDict({"arrays": pack(run.w), "config": ConfigRecord(config)})
        if run.server.h.any():
            content["h"] = pack(run.server.h)
        return content

    def _read(self, reply: Message, run: Run, client: int) -> Tile:
        n, classes = int(self.sizes.train[client]), self.sizes.classes
        return read_answer(content_of(reply), run.w, n, classes, self.settings.largest)

    def _finish(self, run: Run, work: Work, answers: dict[int, Tile]) -> Run:
        """Return the run after Agg and the tuner's step, with the clients that have answered."""
        at = sorted(answers)
        sums = Sums([run], [work.keep(at)], self.sizes)
        for place, j in enumerate(at):
            sums.add(sums.part(answers[j]._replace(place=torch.tensor([place]))))
        return sums.finish(drawn=len(work.client))[0]  # DP-FedAvg divides by all B


def _last_rounds(run: Run) -> dict[int, int]:
    """Return client -> its last round that counted, from 0."""
    first = run.round - len(run.history)
    return {i: first + t for t, r in enumerate(run.history) for i in r.client.tolist()}
