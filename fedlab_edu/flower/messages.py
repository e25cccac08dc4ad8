"""Messages between server and nodes: vectors and numbers in records, and checks of answers."""

from collections.abc import Mapping
from math import inf, isfinite
from typing import Any

import torch
from flwr.app import ArrayRecord, RecordDict
from jaxtyping import Float
from torch import Tensor

from fedlab_edu.methods import ClientUpdate, Method
from fedlab_edu.rounds.gather import Tile
from fedlab_edu.training.scores import Score
from fedlab_edu.validate import number, require


def pack(w: Float[Tensor, " d"]) -> ArrayRecord:
    """Return a record of one vector."""
    return ArrayRecord([w.cpu().numpy()])


def unpack(content: RecordDict, name: str) -> Tensor:
    """Return the only array of a record."""
    require(name in content.array_records, "records", sorted(content), f"one named {name}")
    arrays = content.array_records[name]
    require(len(arrays) == 1, f"arrays in {name}", len(arrays), "1")
    try:
        return torch.tensor(arrays.to_numpy_ndarrays()[0])
    except Exception as error:  # whatever NumPy and PyTorch raise for bytes that are no numbers
        require(False, name, f"{type(error).__name__}: {error}", "an array of numbers")
        raise


def method_name(method: Method) -> str:
    """Return a method with its settings, by which server and nodes compare theirs."""
    return f"{type(method).__qualname__}{vars(method)}"


def read_answer(
    content: RecordDict, w: Float[Tensor, " d"], n: int, classes: int, largest: float = inf
) -> Tile:
    """Check a client's answer, which may be hostile, and return it as a tile of one client.

    Personal models and client states stay on the nodes: in ``update`` the model stands for both.

    Args:
        w: the model that the client has received.
        n: |T_i|, as announced.
        largest: the largest length of ``model - w``, and of ``state_delta``.

    Raises:
        ValueError: a record or number is missing or of another type or shape; an answer that calls
            itself finite is not; another number of examples; an error outside [0, 1] that is not
            the loss of a model with one output; a weight below 0; a longer change.
    """
    require("metrics" in content.metric_records, "records", sorted(content), "one named metrics")
    metrics = content.metric_records["metrics"]
    seen = metrics.get("num-examples")
    require(seen == n, "num-examples", seen, f"{n}, as announced")
    finite = metrics.get("finite")
    require(finite in (0, 1), "finite", finite, "0, 1")
    before, after = (_scores(metrics, name, classes) for name in ("before", "after"))
    model = _vector(content, "arrays", w)
    delta = _vector(content, "state_delta", w) if "state_delta" in content else None
    if finite:
        scores = torch.cat(after)
        require(scores.isfinite().all(), "after", scores, "finite, as the client is")
        for name, change in (("arrays - w", model - w), ("state_delta", delta)):
            if change is not None:
                length = float(change.double().norm())
                require(isfinite(length), name, length, "finite, as the client is")
                require(length <= largest, f"length of {name}", length, f"{largest} at most")
    weight = None
    if "weight" in metrics:
        weight = torch.tensor([number(metrics["weight"])], dtype=torch.float64)
        ok = not finite or 0 <= weight < inf
        require(ok, "weight", metrics["weight"], "a finite number of at least 0")
    state_delta = None if delta is None else delta[None]
    update = ClientUpdate(model[None], model[None], None, state_delta, weight)
    place = torch.tensor([0])
    return Tile(place, update, before, after, torch.tensor([bool(finite)]))


def _vector(content: RecordDict, name: str, like: Float[Tensor, " d"]) -> Float[Tensor, " d"]:
    vector = unpack(content, name)
    seen, allowed = ((str(v.dtype), tuple(v.shape)) for v in (vector, like))
    require(seen == allowed, f"dtype and shape of {name}", seen, str(allowed))
    return vector


def _scores(metrics: Mapping[str, Any], name: str, classes: int) -> Score:
    """Return loss and error; one that is not finite has diverged."""
    seen = metrics.get(name)
    ok = isinstance(seen, list) and len(seen) == 2
    require(ok, name, seen, "the loss and the error")
    loss, error = map(number, seen or ())
    if isfinite(loss) and isfinite(error):
        is_loss = classes <= 2 and error == loss  # of a model with one output, see `score`
        require(0 <= error <= 1 or is_loss, f"error in {name}", error, "0 to 1")
    return Score(*torch.tensor([[loss], [error]], dtype=torch.float64))
