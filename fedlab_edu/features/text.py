"""The parts of a bag of n-grams of one text: tokens, n-grams, bins, weights.

`fedlab_edu.features.bags` processes many texts, with scikit-learn's n-grams and hashing. Khodak et
al., *Weight-Sharing Beyond NAS*, appendix A.
"""

import re
import string
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from jaxtyping import Float64

from fedlab_edu.tensors import as_array
from fedlab_edu.validate import extra, one_of, positive, require, whole

TOKENISERS = ("remove", "split", "nltk")

_ROUNDING = 1e-14  # of the logarithm of a ratio that is 1 on paper
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def tokeniser(name: str) -> Callable[[str], list[str]]:
    """Return a function from a text to its tokens, in order.

    Args:
        name: "remove" drops punctuation and splits at white space, "split" makes each punctuation
            mark a token of its own, and "nltk" is NLTK's word tokeniser, which knows clitics
            ("do n't"). Texts are not split into sentences, which would need a download, so a full
            stop inside a text stays with its word.
    """
    one_of(TOKENISERS)("tokeniser", name)
    if name == "remove":
        return lambda text: text.translate(_NO_PUNCTUATION).split()
    if name == "split":
        marks = re.escape(string.punctuation)
        return re.compile(rf"[^\s{marks}]+|[{marks}]").findall
    nltk: Callable[[str], list[str]] = extra("NLTK", "text").NLTKWordTokenizer().tokenize
    return nltk


def ngrams(tokens: Sequence[str], order: int) -> list[str]:
    """Return all runs of 1 to ``order`` tokens, the shorter ones first, each joined by a space."""
    lengths = range(1, whole("order", order, 1) + 1)
    return [" ".join(tokens[i : i + n]) for n in lengths for i in range(len(tokens) - n + 1)]


def hashed(
    grams: Sequence[str], bins: int, seed: int, binary: bool
) -> Float64[np.ndarray, " bins"]:
    """Count the n-grams in each bin; if ``binary``, return 1 where there are any.

    The bin is BLAKE2b, 8 bytes long and keyed with the seed (8 bytes, the lowest first), modulo
    ``bins``: the same on every machine. N-grams that share a bin are one feature.

    Source: Weinberger et al. (2009), *Feature Hashing for Large Scale Multitask Learning*, without
    their random signs; Khodak et al., *Weight-Sharing Beyond NAS*, section 3.2.
    """
    bins, key = whole("bins", bins, 1), whole("seed", seed, 0, 2**64 - 1).to_bytes(8, "little")
    digests = (
        blake2b(gram.encode("utf-8", "surrogatepass"), digest_size=8, key=key).digest()
        for gram in grams
    )
    places = [int.from_bytes(digest, "little") % bins for digest in digests]
    counts = np.bincount(np.array(places, dtype=np.int64), minlength=bins)
    return (counts > 0 if binary else counts).astype(np.float64)


def naive_bayes(pos: Any, neg: Any, alpha: float) -> Float64[np.ndarray, " n"]:
    """Return ``ln (p / |p|_1) / (q / |q|_1)`` with ``p = alpha + pos`` and ``q = alpha + neg``.

    A ratio of 1 up to rounding has the logarithm 0, which "l2" cannot scale up to a whole feature.

    Args:
        pos, neg: (n,), how often each feature occurs in the training set's two classes.

    Source: Wang and Manning (2012), *Baselines and Bigrams*, the log-count ratio.
    """
    positive("alpha", alpha)
    p, q = _counts("pos", pos) + alpha, _counts("neg", neg) + alpha
    require(p.shape == q.shape, "shape of neg", q.shape, f"{p.shape}, that of pos")
    weights: np.ndarray = np.log(p / p.sum()) - np.log(q / q.sum())
    return np.where(np.abs(weights) > _ROUNDING, weights, 0.0)


def inverse_frequency(counts: Any, a: float) -> Float64[np.ndarray, " n"]:
    """Return the weights ``a / (a + counts / sum of counts)``: 1 for features that do not occur.

    Source: Arora et al. (2017), *A Simple but Tough-to-Beat Baseline for Sentence Embeddings*,
    Algorithm 1.
    """
    positive("a", a)
    counts = _counts("counts", counts)
    require(counts.any(), "counts", counts[:9].tolist(), "at least one above 0")
    weights: np.ndarray = a / (a + counts / counts.sum())
    return weights


def _counts(name: str, counts: Any) -> np.ndarray:
    known = as_array(counts, name)
    ok = np.isfinite(known).all() and (known >= 0).all()
    require(ok, name, known[:9].tolist(), "finite numbers from 0 on")
    return known
