"""Feature maps of numbers: preprocessing, and random Fourier features of a kernel.

Khodak et al., *Weight-Sharing Beyond NAS*, section 3.2 and appendix A, after Li et al. (2018),
*Hyperband*; Rahimi and Recht (2008), *Random Features for Large-Scale Kernel Machines*.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any

import numpy as np
import torch
from jaxtyping import Float64
from torch import Tensor

from fedlab_edu.tensors import as_array, as_float64, usable_device
from fedlab_edu.validate import Checked, one_of, positive, require, require_type, whole

#: From rows of examples to rows of features, row by row: an array, sparse matrix or tensor.
Map = Callable[[Any], Any]

_DRAWS = {
    "gaussian": np.random.Generator.standard_normal,
    "laplacian": np.random.Generator.standard_cauchy,
}

KERNELS = tuple(_DRAWS)
PREPROCESSINGS = (None, "minmax", "normalize", "standard")
LOG10_GAMMA = (-5.0, 1.0)

_HUGE = 1e150  # the square of a larger number is infinite


@dataclass(frozen=True)
class RandomFourier(Checked):
    """A configuration of random Fourier features, see `fourier` and `preprocess`."""

    kernel: Annotated[str, one_of(KERNELS)]
    gamma: Annotated[float, positive]
    how: Annotated[str | None, one_of(PREPROCESSINGS)] = None

    @classmethod
    def draw(cls, rng: np.random.Generator, k: int = 64) -> list["RandomFourier"]:
        """Draw k configurations of the paper's space: uniform choices, gamma ``10^U[-5, 1]``."""
        check_rng(rng)
        k = whole("k", k, 1)
        kernels, hows = (rng.integers(len(of), size=k) for of in (KERNELS, PREPROCESSINGS))
        drawn = zip(kernels, 10 ** rng.uniform(*LOG10_GAMMA, size=k), hows, strict=True)
        return [cls(KERNELS[a], float(gamma), PREPROCESSINGS[b]) for a, gamma, b in drawn]


def check_rng(rng: object) -> None:
    """Refuse all but a generator of NumPy's."""
    require_type("rng", rng, np.random.Generator, "np.random.default_rng(0)")


def preprocess(train: Any, how: str | None) -> Callable[[Any], Float64[np.ndarray, "N d"]]:
    """Return the function that scales rows x (N, d) by the statistics of the training set.

    It is faster on a few rows than scikit-learn's scalers.

    Args:
        train: (M, d), the training set.
        how: None leaves x as it is; "minmax" maps each column's range in the training set to
            [0, 1]; "standard" subtracts the column's mean and divides by its standard deviation
            (with 1/M); "normalize" divides each row by its Euclidean length. A column that is
            constant in the training set is shifted only, and a row of zeros stays.
    """
    one_of(PREPROCESSINGS)("how", how)
    train = as_array(train, "train")
    ok = train.ndim == 2 and train.size > 0 and (np.abs(train) < _HUGE).all()
    allowed = f"(M, d), not empty, finite numbers below {_HUGE:g}"
    require(ok, "train of shape", train.shape, allowed)
    d = train.shape[1]

    def rows(x: Any) -> np.ndarray:
        x = as_array(x, "x")
        require(x.ndim == 2 and x.shape[1] == d, "shape of x", x.shape, f"(N, {d})")
        return x

    if how is None:
        return rows
    if how == "normalize":

        def unit(x: Any) -> np.ndarray:
            y, _ = _scaled(rows(x), 1)
            return y / _not_zero(np.linalg.norm(y, axis=1, keepdims=True))

        return unit
    low, high = train.min(0), train.max(0)
    width = _not_zero(high - low)
    if how == "standard":  # the mean and deviation of a constant column are not exact
        varies = high > low
        low = np.where(varies, train.mean(0), low)
        part, exponents = _scaled(train, 0)
        width = np.where(varies, _not_zero(np.ldexp(part.std(0), exponents[0])), 1.0)
    return lambda x: (rows(x) - low) / width


def fourier(x: Any, omega: Any, offset: Any, gamma: float, kernel: str) -> Any:
    """Return ``sqrt(2/n) cos(s x omega + b)`` (N, n), whose scalar products have a kernel as mean.

    s is ``sqrt(2 gamma)`` for "gaussian", the kernel ``exp(-gamma |x - x'|_2^2)``, and ``gamma``
    for "laplacian", the kernel ``exp(-gamma |x - x'|_1)``.

    Args:
        x: (N, d).
        omega, offset: (d, n) and b (n,), see `frequencies`. If omega is a tensor, the features are
            one too, on its device; else an array.

    Source: Rahimi and Recht (2008), Algorithm 1.
    """
    one_of(KERNELS)("kernel", kernel)
    positive("gamma", gamma)
    given, (omega, offset) = omega, (_tensor(omega), _tensor(offset))
    x = _tensor(x).to(omega)
    shapes = tuple(tuple(a.shape) for a in (x, omega, offset))
    ok = [len(s) for s in shapes] == [2, 2, 1] and shapes[0][1:] + shapes[2] == shapes[1]
    ok = ok and shapes[2] != (0,)
    require(ok, "shapes of x, omega, offset", shapes, "(N, d), (d, n), (n,), n above 0")
    waves = _waves(x @ omega, offset, gamma, kernel)
    return waves if isinstance(given, Tensor) else waves.numpy()


def frequencies(
    kernel: str, d: int, n: int, rng: np.random.Generator
) -> tuple[Float64[np.ndarray, "d n"], Float64[np.ndarray, " n"]]:
    """Draw omega (d, n), normal for "gaussian" and Cauchy for "laplacian", and the offset (n,).

    The offset is uniform on [0, 2 pi). Neither depends on gamma, so all configurations of a kernel
    may share them.

    Source: Rahimi and Recht (2008), Algorithm 1 and figure 1.
    """
    one_of(KERNELS)("kernel", kernel)
    check_rng(rng)
    shape = whole("d", d, 1), whole("n", n, 1)
    return _DRAWS[kernel](rng, size=shape), rng.uniform(0, 2 * math.pi, size=n)


def fourier_maps(
    chosen: Iterable[RandomFourier], train: Any, n: int, rng: np.random.Generator,
    shared_frequencies: bool = True, held: Any = None, device: str | None = None,
) -> list[Map]:  # fmt: skip
    """Return the map of each configuration: `preprocess`, and `fourier` with n features.

    Args:
        train: (M, d), the training set, see `preprocess`.
        shared_frequencies: use one omega and offset per kernel, as the authors' code does, so that
            a weight means nearly the same to similar maps. Otherwise one fit suits few maps.
        held: an array that all maps will see, such as the validation set. With shared frequencies
            its products with omega are cached.
        device: make tensors there, as on "cuda"; None makes arrays.
    """
    place, chosen = "cpu" if device is None else usable_device(device), [*chosen]
    scalings = {how: preprocess(train, how) for how in {c.how for c in chosen}}
    d = np.shape(train)[1]

    def drawn(kernel: str) -> list[Tensor]:
        return [_tensor(a).to(place) for a in frequencies(kernel, d, n, rng)]

    shared = {kernel: drawn(kernel) for kernel in KERNELS} if shared_frequencies else {}

    @cache
    def kept(kernel: str, how: str | None) -> Tensor:
        return _tensor(scalings[how](held)).to(place) @ shared[kernel][0]

    def of(c: RandomFourier) -> Map:
        omega, offset = shared[c.kernel] if shared else drawn(c.kernel)

        def see(x: Any) -> Any:
            if shared and held is not None and x is held:
                product = kept(c.kernel, c.how)
            else:
                product = _tensor(scalings[c.how](x)).to(place) @ omega
            waves = _waves(product, offset, c.gamma, c.kernel)
            return waves.numpy() if device is None else waves

        return see

    return [of(c) for c in chosen]


def _waves(product: Tensor, offset: Tensor, gamma: float, kernel: str) -> Tensor:
    # NumPy's cosine takes five times as long
    scale = math.sqrt(2 * gamma) if kernel == "gaussian" else gamma
    return (scale * product).add_(offset).cos_().mul_(math.sqrt(2 / len(offset)))


def _tensor(a: Any) -> Tensor:
    if isinstance(a, Tensor):
        return a if a.is_floating_point() else as_float64(a, "x, omega or offset")
    return torch.from_numpy(np.require(as_array(a, "x, omega or offset"), None, ["C", "W"]))


def _scaled(x: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """Divide by powers of two, which is exact, so that no sum of squares along the axis is 0."""
    exponents = np.frexp(np.abs(x).max(axis, keepdims=True))[1]
    return np.ldexp(x, -exponents), exponents


def _not_zero(lengths: np.ndarray) -> np.ndarray:
    return np.where(lengths > 0, lengths, 1.0)
