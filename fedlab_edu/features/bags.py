"""Sparse feature maps of texts: hashed, weighted bags of n-grams.

Khodak et al., *Weight-Sharing Beyond NAS*, section 3.2 and appendix A.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Annotated, Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, HashingVectorizer
from sklearn.preprocessing import normalize
from sklearn.utils import murmurhash3_32

from fedlab_edu.features.linear import check_places
from fedlab_edu.features.maps import Map, check_rng
from fedlab_edu.features.text import TOKENISERS, inverse_frequency, naive_bayes, tokeniser
from fedlab_edu.validate import Checked, one_of, positive, require, whole

WEIGHTS = ("naive-bayes", "inverse-frequency")
PREPROCESSINGS = (None, "l2", "average")
ORDERS = (1, 2, 3)
LOG10_ALPHA = (-5.0, 2.0)

_ALL = 2**31 - 1  # columns of the shared counts


@dataclass(frozen=True)
class BagOfNGrams(Checked):
    """A configuration of a bag of n-grams.

    Args:
        tokeniser: see `tokeniser`.
        stop_words: leave out scikit-learn's English stop words.
        lowercase: convert texts to lower case.
        order: n-grams of 1 to ``order`` tokens.
        binary: whether an n-gram occurs, not how often.
        weights, alpha: "naive-bayes" is `naive_bayes`, "inverse-frequency" `inverse_frequency`,
            each with smoothing parameter alpha.
        how: None; "l2" divides a text's features by their Euclidean length, "average" by its number
            of tokens. A text without features stays.
        seed: of the hashing, see `bag_maps`.
    """

    tokeniser: Annotated[str, one_of(TOKENISERS)]
    stop_words: bool
    lowercase: bool
    order: Annotated[int, one_of(ORDERS)]
    binary: bool
    weights: Annotated[str, one_of(WEIGHTS)]
    alpha: Annotated[float, positive]
    how: Annotated[str | None, one_of(PREPROCESSINGS)]
    seed: Annotated[int, partial(whole, least=0, most=2**32 - 1)] = 0

    @classmethod
    def draw(
        cls, rng: np.random.Generator, k: int = 64, shared_seed: bool = False
    ) -> list["BagOfNGrams"]:
        """Draw k configurations of the paper's space: uniform choices, alpha ``10^U[-5, 2]``.

        With ``shared_seed`` an n-gram has the same bin in all maps; otherwise they share few bins.

        Source: seeds as in the authors' code, which draws alpha up to 10 only.
        """
        check_rng(rng)
        one_seed = int(rng.integers(2**32))

        def one() -> "BagOfNGrams":
            own_seed = int(rng.integers(2**32))  # drawn always: other draws stay the same
            return cls(
                tokeniser=TOKENISERS[rng.integers(3)],
                stop_words=bool(rng.integers(2)),
                lowercase=bool(rng.integers(2)),
                order=ORDERS[rng.integers(3)],
                binary=bool(rng.integers(2)),
                weights=WEIGHTS[rng.integers(2)],
                alpha=float(10 ** rng.uniform(*LOG10_ALPHA)),
                how=PREPROCESSINGS[rng.integers(3)],
                seed=one_seed if shared_seed else own_seed,
            )

        return [one() for _ in range(whole("k", k, 1))]


class Corpus:
    """Texts with cached counts of their n-grams, shared by all maps.

    An n-gram's column is its 31-bit hash by scikit-learn's `HashingVectorizer`: of a million
    n-grams about 470 collide. A lone surrogate becomes U+FFFD.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self.texts = list(texts)
        require(self.texts, "number of texts", 0, "at least 1")
        require(not isinstance(texts, str), "texts", "one string", "strings")
        kinds = {type(text).__name__ for text in self.texts if not isinstance(text, str)}
        require(not kinds, "texts", kinds, "strings")
        # hashing takes UTF-8, which has no lone surrogates
        self.texts = [
            text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            for text in self.texts
        ]
        self._tokens, self._counts = cache(self._cut), cache(self._count)

    def counts(self, c: BagOfNGrams) -> list[Any]:
        """Return sparse counts (N, 2^31 - 1) for each length n = 1, ..., order of n-grams."""
        kind = c.tokeniser, c.stop_words, c.lowercase
        return [self._counts(*kind, n) for n in range(1, c.order + 1)]

    def _cut(self, name: str) -> list[str]:
        cut = tokeniser(name)
        return [" ".join(cut(text)) for text in self.texts]  # no token contains white space

    def _count(self, name: str, stop_words: bool, lowercase: bool, n: int) -> Any:
        def kept(text: str) -> list[str]:
            every = text.split()
            return (
                [t for t in every if t.lower() not in ENGLISH_STOP_WORDS] if stop_words else every
            )

        return HashingVectorizer(
            tokenizer=kept, token_pattern=None, lowercase=lowercase, ngram_range=(n, n),
            n_features=_ALL, norm=None, alternate_sign=False, dtype=np.float32,
        ).transform(self._tokens(name))  # fmt: skip


def bag_maps(
    chosen: Sequence[BagOfNGrams], corpus: Corpus, train: Any, y: Any, bins: int, held: Any = None
) -> list[Map]:
    """Return the map of each configuration, from row numbers of the corpus to features (N, bins).

    An n-gram's bin is MurmurHash3, with the configuration's seed, of its column in the corpus. That
    is much faster than BLAKE2b of each n-gram, see `fedlab_edu.features.text.hashed`.

    Args:
        train, y: (M,), the rows from which weights are computed, and their labels, 0 or 1. The
            paper does not name them; its code uses the mixed examples, each seen by its own map.
        held: an array of rows that all maps will see, such as the validation set. Each map caches
            their features: 64 maps of 12,500 film reviews take about 4 GB.
    """
    require(isinstance(corpus, Corpus), "corpus", type(corpus).__name__, "a Corpus(texts)")
    whole("bins", bins, 1, _ALL)
    train, y = np.asarray(train), np.asarray(y)
    check_places("train", train, len(corpus.texts), y.shape)
    require(set(np.unique(y)) <= {0, 1}, "y", np.unique(y).tolist(), "0 and 1")
    return [_bag_map(c, corpus, train, y, bins, held) for c in chosen]


def _bag_map(c: BagOfNGrams, corpus: Corpus, train: Any, y: Any, bins: int, held: Any) -> Map:
    def count(rows: Any) -> Any:
        """Return the counts (N, bins) of some texts, and their numbers of tokens (N, 1)."""
        parts = [counts[rows] for counts in corpus.counts(c)]
        columns = np.concatenate([part.indices for part in parts])
        owner = np.concatenate([np.repeat(np.arange(len(rows)), np.diff(p.indptr)) for p in parts])
        places = murmurhash3_32(columns, seed=c.seed, positive=True) % bins
        data = np.concatenate([part.data for part in parts]).astype(np.float64)
        counts = sparse.csr_matrix((data, (owner, places)), shape=(len(rows), bins))
        if c.binary:
            counts.data[:] = 1
        return counts, np.maximum(parts[0].sum(1), 1)

    seen, _ = count(train)
    if c.weights == "naive-bayes":
        weights = naive_bayes(seen[y == 1].sum(0).A1, seen[y == 0].sum(0).A1, c.alpha)
    else:
        weights = inverse_frequency(seen.sum(0).A1, c.alpha)
    weights = weights.astype(np.float32)  # with many bins and maps, most of the memory

    def features_of(rows: Any) -> Any:
        features, lengths = count(rows)
        features.data *= weights[features.indices]
        if c.how == "l2":
            return normalize(features)
        return features.multiply(1 / lengths).tocsr() if c.how == "average" else features

    kept = cache(lambda: features_of(held))
    return lambda rows: kept() if rows is held else features_of(rows)
