"""A communication round, `communicate`: a run goes in, and the run after the round comes out."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from fedlab_edu.check import require
from fedlab_edu.data.clients import Clients, Federation
from fedlab_edu.draws import generator, stream
from fedlab_edu.hparams import LocalHP
from fedlab_edu.memory import pieces
from fedlab_edu.methods import Answer, Given, Method
from fedlab_edu.model import Model
from fedlab_edu.run import Round, Run
from fedlab_edu.scores import Score, score


def communicate(run: Run, model: Model, fed: Federation, clients: int = 10) -> Run:
    """One communication round with B clients.

    Raises:
        ValueError: B is above the number of clients.

    Source: Khodak et al. (2021), Algorithm 2; with one configuration, McMahan et al. (2017),
    Algorithm 1.
    """
    return communicate_all([run], model, fed, clients)[0]


def communicate_all(
    runs: Sequence[Run], model: Model, fed: Federation, clients: int = 10
) -> list[Run]:
    """One round of each of A runs of one method, whose A B clients all train at once.

    The numbers are those of `communicate` for one run after the other; the time is not.

    Raises:
        ValueError: no run, or runs of different methods; B is above the number of clients.
    """
    require(runs, "runs", [*runs], "at least one")
    one = runs[0].method
    for other in (run.method for run in runs):
        # == may know only some of the fields of a class that inherits from a dataclass
        same = other is one or (type(other) is type(one) and vars(other) == vars(one))
        require(same, "methods of the runs", [one, other], "the same, or equal in all fields")
    # draw B clients, and a setting c_i ~ D_theta for each
    works = [ask(run, fed, clients) for run in runs]
    # w_i <- Loc_{c_i}(T_i, w), L_{V_i}(w) and L_{V_i}(w_i)
    replies = train(runs, works, model, fed.train, fed.val)
    # the average of the w_i, as they come in
    heard = gather(runs, works, replies, fed)
    # w <- Agg_b(w, {w_i}), theta <- update
    return [tell(*each, fed) for each in zip(runs, works, heard, strict=True)]


def play(
    run: Run,
    model: Model,
    fed: Federation,
    rounds: int,
    clients: int = 10,
    watch: Callable[[Run], object] | None = None,
) -> Run:
    """The run after some more rounds; ``watch`` sees the run before the first and after each."""
    require(rounds >= 0, "rounds", rounds, "at least 0")
    if watch is not None:
        watch(run)
    for _ in range(rounds):
        run = communicate(run, model, fed, clients)
        if watch is not None:
            watch(run)
    return run


class Work(NamedTuple):
    """The work of one run's round: B clients, the row of the table and so the setting that each
    trains with, and the seed of its minibatches."""

    client: Int[Tensor, " B"]
    arm: Int[Tensor, " B"]
    c: LocalHP
    seeds: list[int]


class Reply(NamedTuple):
    """The answers of some clients of a round.

    Fields:
        run: the number of the client's run in the list.
        place: the client's place in its run's round.
        client: the client's number in the federation.
        before, after: the scores of the model received, and of the client's own.
        sound: not diverged: all its vectors and its score are finite.
    """

    run: Int[Tensor, " k"]
    place: Int[Tensor, " k"]
    client: Int[Tensor, " k"]
    answer: Answer
    before: Score
    after: Score
    sound: Bool[Tensor, " k"]


class Heard(NamedTuple):
    """What the server of one run knows at the end of a round, and what its clients keep.

    Fields:
        average, moved: see `Method.agg`; without a sound client there is no average, but NaN.
        kept: client -> vector, for the clients of this round.
    """

    average: Float[Tensor, " d"]
    moved: Float[Tensor, " d"]
    kept: dict[int, Tensor]
    before: Score
    after: Score
    diverged: Bool[Tensor, " B"]


def ask(run: Run, fed: Federation, clients: int) -> Work:
    """Draw the clients of a run's next round, and let its tuner hand out configurations."""
    gen = generator(run.seed, run.round)
    client = fed.sample(clients, gen, run.replacement)
    arm = run.tuner.ask(clients, gen, who=client)
    seeds, drawn = [], Counter[int]()
    for i in client.tolist():
        # drawn once more in this round, a client has other minibatches; `personalise` has the key 1
        again = [drawn[i] + 1] if drawn[i] else []
        seeds.append(stream(run.seed, run.round, i, *again))
        drawn[i] += 1
    return Work(client, arm, run.tuner.table[arm], seeds)


def train(
    runs: Sequence[Run], works: Sequence[Work], model: Model, data: Clients, tests: Clients
) -> Iterator[Reply]:
    """Loc of all clients of all runs, and the scores on ``tests`` of the models that they receive
    and of those that they train.

    They come in pieces, so that memory does not grow with their number.
    """
    method, w = runs[0].method, runs[0].w
    run = torch.repeat_interleave(torch.tensor([len(work.client) for work in works]))
    place = torch.cat([torch.arange(len(work.client)) for work in works])
    client = torch.cat([work.client for work in works])
    c = LocalHP.concat([work.c for work in works])
    seeds = [seed for work in works for seed in work.seeds]
    for i in pieces(len(run), w.nbytes, w.device):
        given = _given(runs, run[i].tolist(), client[i].tolist())
        on = [seeds[j] for j in i]
        answer = method.loc(model, given, data[client[i]], c[i], on)
        _check(answer, method, (len(i), model.d), given.kept is not None)
        mine = tests[client[i]]
        before, after = score(model, given.w, mine), score(model, answer.own, mine)
        yield Reply(run[i], place[i], client[i], answer, before, after, sound(answer, after))


def _check(answer: object, method: Method, shape: tuple[int, int], keeps: bool) -> None:
    """Refuse what a method of one's own has forgotten."""
    loc = f"{type(method).__name__}.loc"
    require(isinstance(answer, Answer), loc, type(answer).__name__, "an Answer")
    assert isinstance(answer, Answer)
    for name, W in zip(answer._fields, answer, strict=True):
        if W is not None:
            require(tuple(W.shape) == shape, f"{loc}: shape of {name}", tuple(W.shape), f"{shape}")
    kept = "a vector" if answer.kept is not None else None
    allowed = "None where `first` gives None, and a vector for each client where it gives one"
    require((kept is not None) == keeps, f"{loc}: kept", kept, allowed)


def _given(runs: Sequence[Run], owner: list[int], clients: list[int]) -> Given:
    """What those clients have in hand, each a client of the run at its place in ``owner``."""
    played = torch.tensor([runs[a].round for a in owner])
    if len(runs) == 1:  # one vector for all: nothing is copied
        w, h = runs[0].server.w, runs[0].server.h
    else:
        w, h = (torch.stack([getattr(runs[a].server, name) for a in owner]) for name in "wh")
    kept, firsts = [], {a: runs[a].method.first(runs[a].w) for a in set(owner)}
    for a, i in zip(owner, clients, strict=True):
        memory = runs[a].kept
        require(memory is not None, "kept", None, "what clients keep; here it is on Flower's nodes")
        assert memory is not None
        kept.append(memory.get(i, firsts[a]))
    vectors = [k for k in kept if k is not None]
    return Given(w, h, torch.stack(vectors) if vectors else None, played)


def sound(answer: Answer, after: Score) -> Bool[Tensor, " k"]:
    """Which clients have not diverged."""
    finite = [v.isfinite().all(1).cpu() for v in answer if v is not None]
    return torch.stack([*finite, after.loss.isfinite()]).all(0)


def gather(
    runs: Sequence[Run], works: Sequence[Work], replies: Iterable[Reply], fed: Federation
) -> list[Heard]:
    """Add up what the clients of each run have answered, without those that have diverged."""
    A, method, w = len(runs), runs[0].method, runs[0].w
    total, moved, weight = (w.new_zeros(A, size) for size in (len(w), len(w), 1))
    whole = torch.stack([method.weigh(fed.train.n[work.client]).sum() for work in works])
    kept: list[dict[int, Tensor]] = [{} for _ in runs]
    shape = A, max(len(work.client) for work in works)
    scores, lost = torch.zeros(4, *shape, dtype=torch.float64), torch.zeros(shape, dtype=torch.bool)
    for run, place, client, answer, before, after, sound in replies:
        ends = torch.stack(after).masked_fill(~sound, torch.inf)
        scores[:, run, place] = torch.cat([torch.stack(before), ends]).to(scores)
        lost[run, place] = ~sound
        p = (sound * method.weigh(fed.train.n[client]) / whole[run]).to(w)  # at most 1
        sent = _without_nan(answer.sent, sound)
        shift = None if answer.moved is None else _without_nan(answer.moved, sound)
        for a, its in _by_run(run):
            weight[a] += p[its].sum()
            total[a] += p[its] @ sent[its]
            if shift is not None:
                moved[a] += shift[its].sum(0)
        if answer.kept is not None:
            for row in sound.nonzero()[:, 0].tolist():
                kept[int(run[row])][int(client[row])] = answer.kept[row].clone()
    average, moved = total / weight, moved / len(fed)
    return [
        Heard(average[a], moved[a], kept[a], Score(*s[:2]), Score(*s[2:]), lost[a, : s.shape[1]])
        for a, s in enumerate(
            scores[:, a, : len(work.client)].clone() for a, work in enumerate(works)
        )
    ]


def _by_run(run: Int[Tensor, " k"]) -> Iterator[tuple[int, slice]]:
    """Each run of a piece, and where its clients are, who follow one another."""
    numbers, counts = run.unique_consecutive(return_counts=True)
    first = 0
    for a, k in zip(numbers.tolist(), counts.tolist(), strict=True):
        yield a, slice(first, first + k)
        first += k


def _without_nan(W: Float[Tensor, "k d"], sound: Bool[Tensor, " k"]) -> Float[Tensor, "k d"]:
    """0 in the rows that are not sound, for 0 times NaN is NaN; a copy only where there are any."""
    return W if bool(sound.all()) else W.masked_fill(~sound[:, None].to(W.device), 0)


def tell(run: Run, work: Work, heard: Heard, fed: Federation) -> Run:
    """The run after its clients have answered; if all have diverged, the server does nothing."""
    t, server = run.round + 1, run.server
    if not heard.diverged.all():
        c = work.c[~heard.diverged]
        server = run.method.agg(server, heard.average, heard.moved, run.b, t, c)
    size = fed.val.n[work.client]
    old, new = (getattr(score, run.tuner.score) for score in (heard.before, heard.after))
    tuner = run.tuner.tell(work.arm, old, new, size)
    played = Round(work.client, work.arm, size, heard.before, heard.after, heard.diverged)
    return replace(
        run,
        server=server,
        kept=None if run.kept is None else {**run.kept, **heard.kept},
        tuner=tuner,
        round=t,
        history=(*run.history, played),
    )
