"""Feature shift: clients with similar labels whose inputs look different, one domain each.

The setting is that of Chen et al. (2023), section 4.2: few large clients, each with images of one
kind. Here they have digits under six sensors or Shakespeare by genre, without a download.
"""

from functools import cache

import torch
from jaxtyping import Float
from torch import Tensor

from fedlab_edu.data.clients import Federation
from fedlab_edu.data.digits import digit_images
from fedlab_edu.data.partition import by_group, federate
from fedlab_edu.data.shakespeare import check_windows, plays, speeches, spoken, windowed
from fedlab_edu.seeds import generator
from fedlab_edu.validate import require, require_type

SENSORS = ("original", "inverted", "blurred", "rotated", "thickened", "noisy")
NOISE = 0.25  # standard deviation, where white is 1


def seen(
    x: Float[Tensor, "n 1 H W"], sensor: str, gen: torch.Generator | None = None
) -> Float[Tensor, "n 1 H W"]:
    """Return images in [0, 1] as a sensor shows them, in [0, 1].

    Args:
        sensor: "original"; "inverted"; "blurred", by a Gaussian of one pixel; "rotated", a quarter
            turn to the left; "thickened", the maximum of each pixel and its three neighbours below
            and to the right; "noisy", with normal noise of `NOISE` added, then clipped.
        gen: source of the noise.
    """
    require(sensor in SENSORS, "sensor", sensor, f"one of {SENSORS}")
    require_type("x", x, Tensor, "images (n, 1, H, W)")
    require(x.is_floating_point(), "x", str(x.dtype), "images of floats")
    require(x.dim() == 4, "shape of x", tuple(x.shape), "(n, 1, H, W)")
    least, most = (float(end) for end in x.detach().aminmax()) if x.numel() else (0.0, 1.0)
    require(least >= 0 and most <= 1, "x", (least, most), "images of numbers from 0 to 1")
    require(sensor != "noisy" or gen is not None, "gen", gen, "a generator, for noise")
    if sensor == "original":
        return x.clone()
    if sensor == "inverted":
        return 1 - x
    if sensor == "rotated":
        return x.rot90(1, (2, 3))
    if sensor == "noisy":
        return (x + NOISE * torch.randn(x.shape, generator=gen)).clamp(0, 1)
    from scipy import ndimage  # here, because the import is slow

    images = x.detach().to(torch.promote_types(x.dtype, torch.float32)).numpy()
    if sensor == "blurred":
        images = ndimage.gaussian_filter(images, (0, 0, 1, 1), mode="constant")
    else:
        images = ndimage.grey_dilation(images, (1, 1, 2, 2))
    return torch.from_numpy(images).to(x.dtype)


def sensors(seed: int = 0) -> Federation:
    """Divide the digits among six clients, each named after its sensor, see `seen`.

    Images are (1, 8, 8) in [0, 1], each with one client. Clients' numbers of each digit differ
    by 1 at most; each splits its images 60 / 20 / 20 %. The seed is for partition, shuffles, noise.
    """
    x, y, _ = (t.clone() for t in digit_images())
    gen = generator(seed)
    dealt = torch.cat([own[torch.randperm(len(own), generator=gen)] for own in by_group(y)])
    rows = [dealt[i :: len(SENSORS)].sort().values for i in range(len(SENSORS))]
    for sensor, its in zip(SENSORS, rows, strict=True):
        x[its] = seen(x[its], sensor, generator(seed, 1))
    return federate(x, y, rows, 10, (0.6, 0.2, 0.2), gen, names=SENSORS)


@cache
def lines() -> dict[str, str]:
    """Return all that is said in each genre, play after play, without stage directions."""
    return speeches(
        (name.split("/")[0], said) for name, play in plays().items() for _, said in spoken(play)
    )


def genres(
    length: int = 80, step: int = 400, gap: bool = False, shuffle: bool = False, seed: int = 0
) -> Federation:
    """Build next-character prediction, where each of six genres of plays is a client.

    Windows are as in `shakespeare`, in the order of the plays, but one may span two speeches. Each
    client's are split 80 / 10 / 10 %.

    Args:
        length: characters in a window.
        step: characters from one window to the next. There are 4.6 million: with a step of 1 an
            epoch takes hours, with 400 the smallest client has about 1,200 windows.
        gap, shuffle: see `shakespeare`. seed: of the shuffle.
    """
    check_windows(length, step, gap, shuffle)
    return windowed(lines(), length, step, gap, generator(seed) if shuffle else None)
