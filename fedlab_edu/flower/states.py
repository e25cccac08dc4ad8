"""Client states on a node, one for each of the last two rounds.

The server names the last round of this client that counted. A node that was late, or whose server
was killed after the node had trained, has a newer state, too, which then does not count.
"""

from pathlib import Path
from typing import Any

from flwr.app import Array, ArrayRecord, Context
from jaxtyping import Float
from torch import Tensor

from fedlab_edu.rounds.checkpoint import read, write
from fedlab_edu.validate import require


def load_state(context: Context, config: Any) -> Float[Tensor, " d"]:
    """Return the client state after the client's last round that counted.

    Raises:
        ValueError: the node has no such state, or its file is damaged.
    """
    path, round_ = _path(context, config), str(config["counted"])
    if path is None:
        here: dict[str, Tensor] = {}
        if "states" in context.state.array_records:
            here = dict(context.state.array_records["states"].to_torch_state_dict())
    else:
        here = _read(path) if path.exists() else {}
    seen, allowed = [*here], f"of round {round_}, the last of this client that counted"
    require(round_ in here, "rounds of the client states on this node", seen, allowed)
    return here[round_]


def store_state(
    context: Context, config: Any, before: Float[Tensor, " d"], after: Float[Tensor, " d"]
) -> None:
    """Keep the state with which a client began a round, and the one at its end."""
    states = {str(config.get("counted", -1)): before, str(config.get("round", 0)): after}
    path = _path(context, config)
    if path is None:
        arrays = {name: Array(state.cpu().numpy()) for name, state in states.items()}
        context.state["states"] = ArrayRecord(arrays)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        write({name: state.cpu() for name, state in states.items()}, path)


def _path(context: Context, config: Any) -> Path | None:
    """Return the file of a run's client state on this node, or None to keep it in memory."""
    folder = context.node_config.get("state-folder")
    if folder is None:
        return None
    client, run = context.node_config.get("partition-id"), config.get("run", "run")
    require(str(run).isalnum(), "run", run, "letters and digits: it becomes part of a file's name")
    return Path(str(folder)) / f"client-{client}-{run}.pt"


def _read(path: Path) -> dict[str, Tensor]:
    allowed = "a client state that this package has written, undamaged"
    states = read(path.read_bytes(), path, (), allowed, "nothing")
    assert isinstance(states, dict)
    return states
