"""Inputs from columns of tables: images, texts, and numbers. See `hub.from_partitions`."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Num, UInt8
from torch import Tensor

from fedlab_edu.data.arrays import as_inputs, as_targets
from fedlab_edu.data.shakespeare import encode
from fedlab_edu.validate import require


def read_inputs(tables: Sequence[Any], x: str, side: int | None) -> Num[Tensor, "M ..."]:
    """Return the inputs in a column: images, strings of one length, or numbers."""
    first = next(iter(tables[0][x]))
    if hasattr(first, "convert"):
        images = (_pixels(x, one, side) for table in tables for one in table[x])
        return _images(images, sum(map(len, tables)), x)
    values = [one for table in tables for one in table[x][:]]
    if not isinstance(first, str):
        return as_inputs(values, x)
    ok = all(isinstance(text, str) for text in values)
    require(ok, x, values, "strings of one length")
    lengths = sorted(set(map(len, values)))
    require(len(lengths) == 1 and lengths[0], f"lengths of {x}", lengths, "one length")
    return encode("".join(values)).view(len(values), -1)


def side_by_side(tables: Sequence[Any], columns: Sequence[str]) -> Float[Tensor, "M k"]:
    """Return several columns of numbers as floats."""
    each = [as_targets([one for table in tables for one in table[c][:]], c) for c in columns]
    for column, (_, labels) in zip(columns, each, strict=True):
        require(not labels, column, labels, "numbers, in each of several columns")
    return torch.cat([found.float().reshape(len(found), -1) for found, _ in each], 1)


def _images(images: Iterator[UInt8[Tensor, "C H W"]], M: int, x: str) -> UInt8[Tensor, "M C H W"]:
    """Fill one tensor, so that no image is in memory twice."""
    first = next(images)
    found = first.new_empty(M, *first.shape)
    for i, image in enumerate(chain([first], images)):
        shapes = sorted({tuple(first.shape), tuple(image.shape)})
        same = image.shape[1:] == first.shape[1:]
        require(same, f"shapes of {x}", shapes, "one shape; `side` makes it so")
        if len(image) > found.shape[1]:  # the first one in colour
            found = found.repeat(1, len(image), 1, 1)
        found[i] = image
    return found


def _pixels(x: str, image: Any, side: int | None) -> UInt8[Tensor, "C H W"]:
    """Convert a PIL image to grey (1, H, W) or RGB (3, H, W)."""
    require(hasattr(image, "convert"), x, type(image).__name__, "an image, as in the first row")
    require(image.mode[0] not in "IF", "mode of an image", image.mode, "8 bits for each channel")
    image = image.convert("L" if image.mode in ("1", "L", "LA") else "RGB")
    pixels = torch.tensor(np.asarray(image if side is None else image.resize((side, side))))
    return pixels[None] if pixels.dim() == 2 else pixels.permute(2, 0, 1)
