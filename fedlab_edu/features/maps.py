"""Feature maps: random Fourier features of numbers, and hashed, weighted n-grams of text.

Random draws are arguments. Khodak et al., *Weight-Sharing Beyond NAS*, section 3.2 and appendix A;
Rahimi and Recht (2008), *Random Features for Large-Scale Kernel Machines*.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from jaxtyping import Float64
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, Normalizer, StandardScaler

from fedlab_edu.check import number, require, whole

Features = Float64[np.ndarray, "N n"]
Map = Callable[[Any], Features]  # rows of examples to rows of features, each row on its own

_DRAWS = {
    "gaussian": np.random.Generator.standard_normal,
    "laplacian": np.random.Generator.standard_cauchy,
}
_SCALERS: dict[str | None, Any] = {
    None: FunctionTransformer,  # the identity
    "minmax": MinMaxScaler,
    "normalize": Normalizer,
    "standard": StandardScaler,
}

#: The space of random Fourier features: a kernel, the range of log10 gamma, and a preprocessing.
KERNELS = tuple(_DRAWS)
LOG10_GAMMA = (-5.0, 1.0)
PREPROCESSINGS = tuple(_SCALERS)


def preprocess(train: Any, x: Any, how: str | None) -> Float64[np.ndarray, "N d"]:
    """The rows of x, scaled by what the training set shows: x itself is never measured.

    Args:
        train: (M, d), the training set.
        x: (N, d).
        how: None leaves x as it is; "minmax" maps each column's range in the training set to
            [0, 1]; "standard" subtracts the column's mean and divides by its standard deviation
            (with 1/M); "normalize" divides each row by its Euclidean length. A column that is
            constant in the training set is shifted only, and a row of zeros stays.

    Raises:
        ValueError: an unknown preprocessing.

    Source: Khodak et al., *Weight-Sharing Beyond NAS*, section 3.2; their code has these four.
    """
    return _scaling(train, how)(x)


def fourier(x: Any, omega: Any, offset: Any, gamma: float, kernel: str) -> Features:
    """``sqrt(2/n) cos(s x omega + b)``: the mean of their scalar products is a kernel.

    s is ``sqrt(2 gamma)`` for "gaussian", the kernel ``exp(-gamma |x - x'|_2^2)``, and ``gamma``
    for "laplacian", the kernel ``exp(-gamma |x - x'|_1)``.

    Args:
        x: (N, d).
        omega, offset: (d, n) and b (n,), see `frequencies`.

    Raises:
        ValueError: an unknown kernel; gamma not above 0; shapes that do not match.

    Source: Rahimi and Recht (2008), Algorithm 1.
    """
    _check(kernel, gamma)
    x, omega, offset = (np.asarray(a, dtype=np.float64) for a in (x, omega, offset))
    shapes = x.shape, omega.shape, offset.shape
    ok = [len(s) for s in shapes] == [2, 2, 1] and x.shape[1:] + offset.shape == omega.shape
    require(ok, "shapes of x, omega, offset", shapes, "(N, d), (d, n), (n,)")
    scale = math.sqrt(2 * gamma) if kernel == "gaussian" else gamma
    features: np.ndarray = math.sqrt(2 / omega.shape[1]) * np.cos(scale * (x @ omega) + offset)
    return features


def frequencies(
    kernel: str, d: int, n: int, rng: np.random.Generator
) -> tuple[Float64[np.ndarray, "d n"], Float64[np.ndarray, " n"]]:
    """Omega (d, n), each entry normal for "gaussian" and Cauchy for "laplacian"; offset (n,).

    The offset is uniform on [0, 2 pi). Neither depends on gamma, so that all configurations of a
    kernel may share them.

    Raises:
        ValueError: an unknown kernel; d or n below 1.

    Source: Rahimi and Recht (2008), Algorithm 1 and figure 1.
    """
    _check(kernel)
    shape = whole("d", d, 1), whole("n", n, 1)
    return _DRAWS[kernel](rng, size=shape), rng.uniform(0, 2 * math.pi, size=n)


@dataclass(frozen=True)
class RandomFourier:
    """A configuration of random Fourier features.

    Args:
        kernel, gamma: see `fourier`.
        how: see `preprocess`.

    Raises:
        ValueError: an unknown kernel or preprocessing; gamma not above 0.

    Source: Khodak et al., *Weight-Sharing Beyond NAS*, appendix A.
    """

    kernel: str
    gamma: float
    how: str | None = None

    def __post_init__(self) -> None:
        _check(self.kernel, self.gamma)
        require(self.how in PREPROCESSINGS, "how", self.how, str(PREPROCESSINGS))

    def on(self, train: Any, omega: Any, offset: Any) -> Map:
        """The map of x (N, d): `preprocess`, of which ``train`` is measured now, and `fourier`."""
        scale = _scaling(train, self.how)
        return lambda x: fourier(scale(x), omega, offset, self.gamma, self.kernel)


def configurations(rng: np.random.Generator, k: int = 64) -> list[RandomFourier]:
    """k independent draws: kernel and preprocessing uniform, gamma ``10^U[-5, 1]``.

    Source: Khodak et al., *Weight-Sharing Beyond NAS*, appendix A, after Li et al. (2018).
    """
    k = whole("k", k, 1)
    kernels, hows = (rng.integers(len(of), size=k) for of in (KERNELS, PREPROCESSINGS))
    drawn = zip(kernels, 10 ** rng.uniform(*LOG10_GAMMA, size=k), hows, strict=True)
    return [RandomFourier(KERNELS[a], float(gamma), PREPROCESSINGS[b]) for a, gamma, b in drawn]


def fourier_maps(
    chosen: Sequence[RandomFourier],
    train: Any,
    n: int,
    rng: np.random.Generator,
    shared_frequencies: bool = True,
) -> list[Map]:
    """The map of each configuration, with n features.

    Args:
        train: (M, d), the training set, see `preprocess`.
        shared_frequencies: all configurations of a kernel have the same omega and offset, so that
            a weight means nearly the same to maps that are nearly the same. Otherwise each has its
            own, and a weight that fits one says nothing of another.

    Source: Khodak et al., *Weight-Sharing Beyond NAS*, section 3.1; only their code shares them.
    """
    train = np.asarray(train, dtype=np.float64)
    d = train.shape[1]
    if not shared_frequencies:
        return [c.on(train, *frequencies(c.kernel, d, n, rng)) for c in chosen]
    of_kernel = {kernel: frequencies(kernel, d, n, rng) for kernel in KERNELS}
    return [c.on(train, *of_kernel[c.kernel]) for c in chosen]


def ngrams(tokens: Sequence[str], order: int) -> list[str]:
    """All runs of 1 to ``order`` tokens, the shorter ones first, each joined by a space.

    Raises:
        ValueError: an order below 1.

    Source: Khodak et al., *Weight-Sharing Beyond NAS*, appendix A.
    """
    lengths = range(1, whole("order", order, 1) + 1)
    return [" ".join(tokens[i : i + n]) for n in lengths for i in range(len(tokens) - n + 1)]


def hashed(
    grams: Sequence[str], bins: int, seed: int, binary: bool
) -> Float64[np.ndarray, " bins"]:
    """How many of the n-grams fall into each bin; if ``binary``, 1 where any does.

    The bin is BLAKE2b, 8 bytes long and keyed with the seed (8 bytes, the lowest first), modulo
    ``bins``: the same on every machine. N-grams that share a bin are one feature.

    Raises:
        ValueError: no bin; a seed below 0 or of more than 64 bits.

    Source: Weinberger et al. (2009), *Feature Hashing for Large Scale Multitask Learning*, who have
    random signs as well; Khodak et al., *Weight-Sharing Beyond NAS*, section 3.2.
    """
    bins, key = whole("bins", bins, 1), whole("seed", seed, 0, 2**64 - 1).to_bytes(8, "little")
    digests = (blake2b(gram.encode(), digest_size=8, key=key).digest() for gram in grams)
    places = [int.from_bytes(digest, "little") % bins for digest in digests]
    counts = np.bincount(np.array(places, dtype=np.int64), minlength=bins)
    return (counts > 0 if binary else counts).astype(np.float64)


def naive_bayes(pos: Any, neg: Any, alpha: float) -> Float64[np.ndarray, " n"]:
    """Weights ``ln (p / |p|_1) / (q / |q|_1)`` with ``p = alpha + pos`` and ``q = alpha + neg``.

    Args:
        pos, neg: (n,), how often each feature occurs in the training set's two classes.

    Raises:
        ValueError: alpha not above 0, counts below 0.

    Source: Wang and Manning (2012), *Baselines and Bigrams*, the log-count ratio.
    """
    require(0 < number(alpha) < math.inf, "alpha", alpha, "a finite number above 0")
    p, q = _counts("pos", pos) + alpha, _counts("neg", neg) + alpha
    require(p.shape == q.shape, "shape of neg", q.shape, f"{p.shape}, that of pos")
    weights: np.ndarray = np.log(p / p.sum()) - np.log(q / q.sum())
    return weights


def inverse_frequency(counts: Any, a: float) -> Float64[np.ndarray, " n"]:
    """Weights ``a / (a + counts / sum of counts)``: 1 for what does not occur.

    Raises:
        ValueError: a not above 0; counts below 0, or all of them 0.

    Source: Arora et al. (2017), *A Simple but Tough-to-Beat Baseline for Sentence Embeddings*,
    Algorithm 1.
    """
    require(0 < number(a) < math.inf, "a", a, "a finite number above 0")
    counts = _counts("counts", counts)
    require(counts.any(), "counts", counts.tolist(), "at least one above 0")
    weights: np.ndarray = a / (a + counts / counts.sum())
    return weights


def _scaling(train: Any, how: str | None) -> Callable[[Any], np.ndarray]:
    require(how in PREPROCESSINGS, "how", how, str(PREPROCESSINGS))
    scaler = _SCALERS[how]().fit(np.asarray(train, np.float64))
    return lambda x: scaler.transform(np.array(x, np.float64))


def _counts(name: str, counts: Any) -> np.ndarray:
    known: np.ndarray = np.asarray(counts, dtype=np.float64)
    ok = np.isfinite(known).all() and (known >= 0).all()
    require(ok, name, known.tolist(), "finite numbers from 0 on")
    return known


def _check(kernel: str, gamma: float = 1.0) -> None:
    require(kernel in KERNELS, "kernel", kernel, str(KERNELS))
    require(0 < number(gamma) < math.inf, "gamma", gamma, "a finite number above 0")
