"""Data divided among clients: data sets of the package or of the Hub, or arrays of your own."""

from fedlab_edu.data.clients import Clients, Federation, Sizes
from fedlab_edu.data.digits import digit_images, digits
from fedlab_edu.data.hub import from_partitions, hub
from fedlab_edu.data.partition import by_group, dirichlet, enough, federate, iid, split
from fedlab_edu.data.shakespeare import decode, encode, passages, roles, shakespeare
from fedlab_edu.data.shift import genres, sensors

__all__ = [
    "Clients", "Federation", "Sizes", "by_group", "decode", "digit_images", "digits", "dirichlet",
    "encode", "enough", "federate", "from_partitions", "genres", "hub", "iid", "passages", "roles",
    "sensors", "shakespeare", "split",
]  # fmt: skip
