"""The app of the server: a run's tuner and Agg, round by round, with the clients that answer."""

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from logging import INFO
from pathlib import Path
from typing import Any
from uuid import uuid4

from flwr.app import Context
from flwr.common.logger import log
from flwr.serverapp import Grid, ServerApp

from fedlab_edu.data.clients import Sizes
from fedlab_edu.flower.nodes import Nodes
from fedlab_edu.flower.round import Rounds, Settings
from fedlab_edu.rounds.checkpoint import read, write
from fedlab_edu.rounds.run import Run
from fedlab_edu.validate import require, require_type


def server_app(
    make_run: Callable[[Mapping[str, Any], Sizes], Run],
    *,
    watch: Callable[[Run], object] | None = None,
    **settings: Any,
) -> ServerApp:
    """Return the app of the server.

    A client that fails, answers too late, or gives an answer that `read_answer` refuses leaves its
    round: it has no weight in the average and no score for the tuner, as if it had not been drawn.
    It does not count as diverged, so a slow row of the table is not punished. But it has fewer
    scores, and FedEx moves it less: where the baseline is above the scores of all rows, a slow row
    loses to a quick one with a higher error. Choose ``round_seconds`` for the slowest row.

    Args:
        make_run: returns the run before its first round, from the run config and the sizes that
            the nodes have announced: ``lambda config, sizes: start(model, sizes, tuner)``.
        watch: gets the run before the first round and after each, as in ``watch=runs.append``.
        settings: see `Settings`. Those without a default may come with the run config alone.

    Raises:
        ValueError: a setting out of range; a file of a run with clients of other sizes; a run that
            draws clients with replacement, or one of a method with client states that has begun
            elsewhere.
        TimeoutError: a client's node has not joined in time.
        RuntimeError: in a round fewer than ``least`` clients have answered, three times; the
            message names each node and its fault.
    """
    app = ServerApp()

    @app.main()
    def main(grid: Grid, context: Context) -> None:
        config = {name: context.run_config.get(name.replace("_", "-")) for name in _NAMES}
        given = settings | {name: value for name, value in config.items() if value is not None}
        play(grid, Settings(**given), lambda sizes: make_run(context.run_config, sizes), watch)

    return app


_NAMES = [field.name for field in fields(Settings)]


def play(
    grid: Grid,
    settings: Settings,
    make_run: Callable[[Sizes], Run],
    watch: Callable[[Run], object] | None = None,
) -> Run:
    """Play the rounds that are missing, and return the run; see `server_app`."""
    nodes = Nodes(grid, settings.nodes)
    sizes = nodes.join(settings.join_seconds)
    kept = f"{sizes.train.tolist()}, {sizes.val.tolist()}"
    path = Path(settings.path) if settings.path else None
    if path and path.exists():
        origin, run = _load(path)
        allowed = f"{origin['sizes']}, as when the run began"
        require(kept == origin["sizes"], "sizes of the clients", kept, allowed)
        log(INFO, "%s: resumes after round %s", path, run.round)
    else:
        origin, run = {"flower": uuid4().hex, "sizes": kept}, _begun(make_run(sizes))
    require(len(run.w) == nodes.d, "d of the run", len(run.w), f"{nodes.d}, as on the nodes")
    server = Rounds(nodes, sizes, settings, origin["flower"])
    if watch is not None:
        watch(run)
    while run.round < settings.rounds:
        run = server.play(run)
        if path:
            write((origin, run), path)
        if watch is not None:
            watch(run)
    return run


def _load(path: Path) -> tuple[dict[str, str], Run]:
    allowed = "a file that a Flower server has written, undamaged"
    found = read(path.read_bytes(), path, (), allowed, "nothing")
    ok = isinstance(found, tuple) and len(found) == 2 and "flower" in found[0]
    require(ok, "path", str(path), allowed)
    assert isinstance(found, tuple)
    return found


def _begun(run: Run) -> Run:
    """Check a run before its first round over Flower."""
    require_type("run", run, Run, "start(model, sizes)")
    require(not run.replacement, "replacement", True, "False: a node trains once in a round")
    kind, allowed = str(run.w.dtype), "a type that NumPy has, and so Flower: torch.float32"
    require(kind != "torch.bfloat16", "dtype of the run", kind, allowed)
    if run.method.init_state(run.w) is None:
        return run
    allowed = "0: client states live on the Flower nodes, from the first round on"
    require(run.round == 0, "rounds played", run.round, allowed)
    return replace(run, states=None)
