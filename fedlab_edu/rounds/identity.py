"""The identity of a run or a search: fingerprints of everything that decides its numbers."""

from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Any

import torch

from fedlab_edu.data.clients import Federation
from fedlab_edu.models.model import ONE_AT_A_TIME, Model
from fedlab_edu.rounds.fingerprint import Reader, state_of
from fedlab_edu.validate import require


def identity(model: Model, fed: Federation, **more: object) -> dict[str, Any]:
    """Return the fingerprints of a network, its loss, the data, and more values, by name.

    A dataclass counts attribute by attribute, and a tuple has a list of fingerprints. Test data do
    not count: no round reads them.

    Raises:
        ValueError: a value that pickle cannot take apart; the message names it.
    """
    reader = Reader()
    values = {"network": _network(model), "loss": model.loss}
    for name, data in (("training data", fed.train), ("validation data", fed.val)):
        values[name] = [data.x, data.y, list(data.rows)]
    found: dict[str, Any] = {}
    for name, value in (values | more).items():
        try:
            found |= _columns(reader, name, value)
        except TypeError as error:
            allowed = "what pickle can take apart, so that a file can tell what it belongs to"
            require(False, f"a part of {name}", str(error), allowed)
    return found


def differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Return the names in which two identities differ."""
    return [name for name in {**one, **other} if one.get(name) != other.get(name)]


def _columns(reader: Reader, name: str, value: Any) -> dict[str, Any]:
    """Return the fingerprints of a value: of a dataclass, and of a tuple of some, by attribute."""
    if _is_record(value):
        every = [_columns(reader, f"{name}.{key}", one) for key, one in _attributes(value)]
        return {key: one for found in every for key, one in found.items()}
    if type(value) is not tuple:
        return {name: reader.digest(value).hex()}
    if not value or not all(map(_is_record, value)):
        return {name: [reader.digest(one).hex() for one in value]}
    found: dict[str, Any] = {}
    for one in value:
        for key, part in _attributes(one):
            found.setdefault(f"{name}.{key}", []).append(reader.digest(part).hex())
    return found


def _is_record(value: object) -> bool:
    return is_dataclass(value) and not isinstance(value, type)


def _attributes(value: object) -> list[tuple[str, Any]]:
    return [("type", type(value)), *state_of(value).items()]


def _network(model: Model) -> list[object]:
    """Return all that a model's outputs depend on beside its weights.

    The network is built with a fixed seed; PyTorch's global generator stays as it was.
    """
    with ONE_AT_A_TIME, torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        built = model.net()
    return [built, *(value for name, value in state_of(model).items() if name != "loss")]
