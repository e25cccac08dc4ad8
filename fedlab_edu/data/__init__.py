"""Data divided among clients; `load` by name, or `federate` arrays of your own."""

from collections.abc import Callable
from typing import Any

from fedlab_edu.data.clients import Clients, Federation
from fedlab_edu.data.digits import digit_images, digits
from fedlab_edu.data.hub import from_partitions, hub
from fedlab_edu.data.partition import by_group, dirichlet, enough, federate, iid, split
from fedlab_edu.data.shakespeare import decode, encode, passages, roles, shakespeare, windows
from fedlab_edu.data.shift import genres, sensors
from fedlab_edu.data.sizes import Sizes
from fedlab_edu.validate import require

__all__ = [
    "Clients", "Federation", "Sizes", "by_group", "decode", "digit_images", "digits", "dirichlet",
    "encode", "enough", "federate", "from_partitions", "genres", "hub", "iid", "load", "passages",
    "roles", "sensors", "shakespeare", "split", "windows",
]  # fmt: skip


def load(name: str, device: str = "cpu", **options: Any) -> Federation:
    """Load a federation by name, such as "digits"; options go to the function of that name."""
    known: dict[str, Callable[..., Federation]] = {
        "digits": digits, "shakespeare": shakespeare, "sensors": sensors, "genres": genres,
    }  # fmt: skip
    allowed = ", ".join(map(repr, known)) + "; others come through fedlab_edu.data.hub"
    require(isinstance(name, str) and name in known, "name", name, allowed)
    return known[name](**options).to(device)
