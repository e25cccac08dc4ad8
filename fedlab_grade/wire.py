"""Encode messages between the grader and a student's process: JSON, and tensors as bytes.

Nothing that arrives is run, and no type is taken from the other side: what is not plainly a
number, a text, a tensor, an array, or a list, tuple or dict of these, arrives as an `Unknown` or is
refused. A few types of Python's and PyTorch's own arrive as what they are a kind of: range as a
list, torch.Size as a tuple, OrderedDict and defaultdict as dicts.

A message is two lengths of four bytes each, that much JSON, which has dtypes and shapes, and that
many bytes of tensors, one after the other.
"""

import io
import json
import math
import struct
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fedlab_grade.callables import Functions, Malformed, name_of

MAX_JSON = 4 << 20  # bytes; one of them can cost fifty as Python objects
MAX_MESSAGE = 64 << 20  # bytes; tensors cost what they weigh
MAX_PARTS = 200_000
MAX_DEPTH = 100
MAX_AXES = 64  # of a tensor
MAX_KEYS = 10_000  # of all dicts: keys of one hash cost the square of their number
MAX_KINDS = 100  # of values that are not sent: each is a class, and takes a kilobyte
MAX_DIGITS = 4000  # of an int: Python prints 4300
_TOO_LONG = 10**MAX_DIGITS  # once: it takes 70 microseconds, and an answer may hold many ints
HEAD = struct.Struct(">II")
NONE = Functions()

_DTYPES = {str(t).removeprefix("torch."): t for t in (
    torch.float64, torch.float32, torch.float16, torch.bfloat16,
    torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool,
)}  # fmt: skip
_KINDS = {np.dtype(name) for name in ("f8", "f4", "f2", "i8", "i4", "i2", "i1", "u1", "?")}


class Refused(TypeError):
    """A value that cannot be sent."""


class Unknown:
    """A stand-in for a value that was not sent; its class has the name of that value's."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


def encode(value: object, place: Callable[[Any], int | None] = NONE.known) -> bytes:
    """Return a value as a message.

    Args:
        place: the number under which the other side calls a callable; None sends it as unknown.

    Raises:
        Refused: the value is too large, too deep, or refers to itself.
    """
    writer = _Writer(place)
    body = _to_json(writer.part(value, 0)).encode()
    if len(body) > MAX_JSON:
        raise Refused(f"more than {MAX_JSON >> 20} MB of text and numbers")
    blob = b"".join(writer.blocks)
    return HEAD.pack(len(body), len(blob)) + body + blob


class _Writer:
    def __init__(self, place: Callable[[Any], int | None]) -> None:
        self.place = place
        self.blocks: list[bytes] = []
        self.parts, self.keys, self.room = 0, 0, MAX_MESSAGE

    def store(self, tensor: Tensor) -> list[object]:
        # A view can claim entries that take no memory: they would, here.
        self.room -= tensor.numel() * tensor.element_size()
        if self.room < 0:
            raise Refused(f"more than {MAX_MESSAGE >> 20} MB of tensors")
        # Of one entry or none the stride may be any, and then PyTorch shows no bytes.
        flat = tensor.detach().contiguous().as_strided((tensor.numel(),), (1,))
        self.blocks.append(flat.view(torch.uint8).numpy().tobytes())
        return [str(tensor.dtype).removeprefix("torch."), list(tensor.shape)]

    def part(self, value: Any, depth: int) -> object:
        self.parts += 1
        if self.parts > MAX_PARTS:
            raise Refused(f"more than {MAX_PARTS:,} parts")
        if depth > MAX_DEPTH:
            raise Refused(f"lists in lists, deeper than {MAX_DEPTH}")
        kind = type(value)
        if value is None or kind in (bool, str, float):
            return value
        if kind is int:
            if not -_TOO_LONG < value < _TOO_LONG:
                raise Refused(f"an int of more than {MAX_DIGITS} digits")
            return value
        if kind in (list, range):
            return [self.part(x, depth + 1) for x in value]
        if kind in (tuple, torch.Size):
            return {"tuple": [self.part(x, depth + 1) for x in value]}
        if kind in (dict, OrderedDict, defaultdict):
            self.keys += len(value)
            if self.keys > MAX_KEYS:
                raise Refused(f"dicts with more than {MAX_KEYS:,} keys")
            return {"dict": [[self.part(x, depth + 1) for x in one] for one in value.items()]}
        if kind in (Tensor, torch.nn.Parameter):
            odd = _odd(value)
            return {"unknown": f"{odd} tensor"} if odd else {"tensor": self.store(value)}
        if kind is np.ndarray:
            native = value.dtype.newbyteorder("=")
            if native not in _KINDS:
                return {"unknown": f"{value.dtype} array"}
            plain = np.array(value, order="C", dtype=native)
            return {"array": self.store(torch.from_numpy(plain))}
        if isinstance(value, np.generic) and kind.__module__ == "numpy" and value.dtype in _KINDS:
            return {"scalar": self.store(torch.from_numpy(np.array([value])))}
        if callable(value) and (number := self.place(value)) is not None:
            return {"function": number}
        return {"unknown": name_of(kind)}


def receive(read: Callable[[int], bytes], function: Callable[[int], object] = NONE.at) -> Any:
    """Return the value of the next message, of which `read` returns so many bytes."""
    body, blob = HEAD.unpack(read(HEAD.size))
    if body > MAX_JSON or blob > MAX_MESSAGE:
        raise Malformed("too long a message")
    text, reader = read(body), _Reader(read(blob), function)
    try:
        value = _Decoder(parse_int=_int, object_hook=reader.part).decode(text.decode("ascii"))
    except Malformed:
        raise
    except (ValueError, LookupError, TypeError, RuntimeError, AttributeError) as error:
        raise Malformed(f"no message: {type(error).__name__}") from None
    if reader.read < blob:
        raise Malformed("more bytes than tensors")
    _check_depth(value)
    return value


def unpack(message: bytes, function: Callable[[int], object] = NONE.at) -> Any:
    """Return the value of a message that is whole."""
    return receive(io.BytesIO(message).read, function)


def _check_depth(value: object) -> None:
    """Refuse what `encode` would: a test cannot walk through a deeper value."""
    level, depth = [value], 0
    while level:
        if depth > MAX_DEPTH:
            raise Malformed(f"lists in lists, deeper than {MAX_DEPTH}")
        level = [x for part in level if type(part) in (list, tuple, dict) for x in _inside(part)]
        depth += 1


def _inside(part: Any) -> Iterable[Any]:
    return chain(part, part.values()) if type(part) is dict else part


class _Reader:
    def __init__(self, blob: bytes, function: Callable[[int], object]) -> None:
        self.blob, self.function = blob, function
        self.keys, self.read = 0, 0
        self.kinds: dict[str, type[Unknown]] = {}

    def part(self, named: dict[str, Any]) -> Any:
        """Return what an object of JSON stands for; those within it have had their turn."""
        ((key, inner),) = named.items()
        if key == "function" and type(inner) is int and inner >= 0:
            return self.function(inner)
        if key == "unknown" and type(inner) is str:
            return self._unknown(inner)
        if key == "tuple" and type(inner) is list:
            return tuple(inner)
        if key == "dict" and type(inner) is list:
            self.keys += len(inner)
            if self.keys > MAX_KEYS:
                raise Malformed("too many keys")
            out = {}
            for name, value in inner:  # an alarm can ring between two of them, and not in dict()
                out[name] = value
            return out
        if key in ("tensor", "array", "scalar"):
            tensor = self.tensor(*inner)
            numbers = tensor if key == "tensor" else tensor.numpy()
            return numbers[0] if key == "scalar" else numbers
        raise Malformed(f"an unknown part {key[:20]!r}")

    def tensor(self, name: str, shape: list[int]) -> Tensor:
        """Return the next tensor of the message."""
        if (
            type(shape) is not list
            or len(shape) > MAX_AXES
            or any(type(n) is not int or n < 0 for n in shape)
        ):
            raise Malformed("no shape")
        dtype = _DTYPES[name]
        data = self.blob[self.read : self.read + math.prod(shape) * dtype.itemsize]
        self.read += math.prod(shape) * dtype.itemsize
        if self.read > len(self.blob):
            raise Malformed("fewer bytes than tensors")
        if not data:
            return torch.empty(shape, dtype=dtype)
        if dtype is torch.bool:  # other bytes than 0 and 1 are no bools
            return torch.frombuffer(bytearray(data), dtype=torch.uint8).reshape(shape) != 0
        return torch.frombuffer(bytearray(data), dtype=dtype).reshape(shape)

    def _unknown(self, name: str) -> Unknown:
        name = "".join(c for c in name[:60] if c.isalnum() or c in "_ ").strip() or "value"
        if name not in self.kinds:
            if len(self.kinds) >= MAX_KINDS:
                raise Malformed("too many kinds of values")
            self.kinds[name] = type(name, (Unknown,), {})
        return self.kinds[name]()


def _int(text: str) -> int:
    if len(text.lstrip("-")) > MAX_DIGITS:
        raise Malformed(f"an int of more than {MAX_DIGITS} digits")
    return int(text)


# Taken now: a student's file may put something else in the place of json.dumps.
_to_json = json.JSONEncoder().encode
_Decoder = json.JSONDecoder


def _odd(tensor: Tensor) -> str:
    """Return why a tensor cannot be sent; "" if it can."""
    what = {
        "nested": tensor.is_nested,
        "meta": tensor.is_meta,
        "quantised": tensor.is_quantized,
        str(tensor.layout).removeprefix("torch."): tensor.layout is not torch.strided,
        tensor.device.type: tensor.device.type != "cpu",
        str(tensor.dtype).removeprefix("torch."): tensor.dtype not in _DTYPES.values(),
    }
    found = next((name for name, is_so in what.items() if is_so), "")
    # Lazily conjugated or negated, it would be sent as it lies in memory.
    return found or ("conjugated" if tensor.is_conj() or tensor.is_neg() else "")
