"""Bags of n-grams: against plain loops over one text at a time, and counts of the space's draws."""

import math
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
from sklearn.utils import murmurhash3_32

from fedlab_edu.features.bags import BagOfNGrams, Corpus, bag_maps
from fedlab_edu.features.linear import Linear
from fedlab_edu.features.selection import Data
from fedlab_edu.features.share import share
from fedlab_edu.features.text import naive_bayes, ngrams, tokeniser
from tests.fuzz import fuzz

TEXTS = (
    "To be, or not to be, that is the question!",
    "Don't the FOOLS know what the fools' folly is?",
    "",
    "Out, out, brief candle! Life's but a walking shadow.",
    "If music be the food of love, play on. The love of the food.",
    "the and of",
)
Y = np.array([1, 0, 0, 1, 0, 1])


def bin_of(gram: str, seed: int, bins: int) -> int:
    """scikit-learn's column of an n-gram, hashed again with the seed."""
    column = abs(murmurhash3_32(gram, seed=0)) % (2**31 - 1)
    return murmurhash3_32(np.int32(column), seed=seed, positive=True) % bins


def test_halves_of_surrogate_pairs_are_counted_and_whole_pairs_are_one_character():
    c = BagOfNGrams("split", False, False, 1, False, "naive-bayes", 1.0, None)
    texts = ["a \ud83d\ude00", "a \U0001f600", "a \ud83d"]
    one, other, lone = Corpus(texts).counts(c)[0]
    assert (one != other).nnz == 0
    assert lone.sum() == 2


TRAIN = [0, 1, 3]  # what weights are measured on


def plain(c: BagOfNGrams, bins: int, texts: Sequence[str] = TEXTS, y: np.ndarray = Y) -> np.ndarray:
    """The features of texts, n-gram by n-gram, as the docstrings have it."""
    counts, lengths = np.zeros((len(texts), bins)), []
    for i, text in enumerate(texts):
        kept = [t.lower() if c.lowercase else t for t in tokeniser(c.tokeniser)(text)]
        if c.stop_words:
            kept = [t for t in kept if t.lower() not in ENGLISH_STOP_WORDS]
        lengths.append(max(1, len(kept)))
        for gram in ngrams(kept, c.order):
            counts[i, bin_of(gram, c.seed, bins)] += 1
    if c.binary:
        counts = np.minimum(counts, 1)
    weights, seen = np.zeros(bins), counts[TRAIN]
    for j in range(bins):
        if c.weights == "naive-bayes":
            alpha = Fraction(c.alpha)  # exact: "l2" would scale the rounding of a 0 up to 1
            ratio = [alpha + int(seen[y[TRAIN] == k, j].sum()) for k in (1, 0)]
            norm = [bins * alpha + int(seen[y[TRAIN] == k].sum()) for k in (1, 0)]
            weights[j] = math.log(ratio[0] / norm[0] / (ratio[1] / norm[1]))
        else:
            weights[j] = c.alpha / (c.alpha + seen[:, j].sum() / seen.sum())
    features = counts * weights
    for i, row in enumerate(features):
        if c.how == "average":
            row /= lengths[i]
        elif c.how == "l2":
            row /= math.sqrt(sum(row**2)) or 1
    return features


def test_maps_of_drawn_configurations_are_the_plain_loops_features():
    corpus, rows = Corpus(TEXTS), np.arange(len(TEXTS))
    chosen = BagOfNGrams.draw(np.random.default_rng(0), 60)
    assert {c.tokeniser for c in chosen} == {"remove", "split", "nltk"}
    for c, see in zip(chosen, bag_maps(chosen, corpus, TRAIN, Y[TRAIN], 37), strict=True):
        found, expected = see(rows), plain(c, 37)
        assert sparse.issparse(found)
        np.testing.assert_allclose(found.toarray(), expected, rtol=1e-6, atol=1e-12)
        np.testing.assert_allclose(
            see(rows[[4, 0]]).toarray(), expected[[4, 0]], rtol=1e-6, atol=1e-12
        )


def test_held_rows_have_the_same_features_and_are_counted_once(monkeypatch):
    corpus, held, counted = Corpus(TEXTS), np.array([2, 4, 5]), []
    chosen = BagOfNGrams.draw(np.random.default_rng(1), 5)
    plain_maps = bag_maps(chosen, corpus, TRAIN, Y[TRAIN], 37)
    maps = bag_maps(chosen, corpus, TRAIN, Y[TRAIN], 37, held)
    for see, other in zip(maps, plain_maps, strict=True):
        assert (see(held) != other(held)).nnz == 0
        assert (see(np.arange(6)) != other(np.arange(6))).nnz == 0
    monkeypatch.setattr(corpus, "counts", lambda c: counted.append(c))
    assert [see(held).shape for see in maps] == [(3, 37)] * 5
    assert counted == []


def test_words_as_frequent_in_both_classes_have_no_weight_at_all():
    for n in range(1, 200):
        weights = naive_bayes([n, 3 * n, 0, 0], [7 * n, 21 * n, 0, 0], 1e-300)
        assert weights.tolist() == [0, 0, weights[2], weights[3]]


WORDS = st.sampled_from(
    ["the", "The", "cat", "Cat", "isn't", "!", "3.5", "é", "\ud800", " ", "a-b"]
)


@fuzz(40)
@given(
    st.lists(st.lists(WORDS, max_size=6).map(" ".join) | st.text(max_size=9), min_size=4),
    st.integers(0, 2**32), st.integers(1, 50),
)  # fmt: skip
def test_maps_of_any_texts_are_the_plain_loops_features(texts, seed, bins):
    rng, rows = np.random.default_rng(seed), np.arange(len(texts))
    chosen, y = BagOfNGrams.draw(rng, 3), rng.integers(2, size=len(texts))
    for c in chosen:
        try:
            (see,) = bag_maps([c], Corpus(texts), TRAIN, y[TRAIN], bins)
        except ValueError as error:  # inverse frequencies of nothing
            assert "counts is" in str(error)  # noqa: PT017
            continue
        whole = [t.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for t in texts]
        expected = plain(c, bins, whole, y)
        np.testing.assert_allclose(see(rows).toarray(), expected, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("remove", "Dont stop world it is 300"),
        ("split", "Don ' t stop , world : it is 3 . 00 !"),
        ("nltk", "Do n't stop , world : it is 3.00 !"),
    ],
)
def test_tokenisers_treat_punctuation_as_they_say(name, expected):
    text = "Don't stop, world: it is\n3.00!"
    assert tokeniser(name)(text) == expected.split()


def test_a_texts_counts_do_not_depend_on_the_other_texts():
    c = BagOfNGrams("split", False, True, 3, False, "naive-bayes", 1.0, None)
    alone, among = Corpus(TEXTS[3:4]).counts(c), Corpus(TEXTS).counts(c)
    for one, other in zip(alone, among, strict=True):
        assert (one != other[[3]]).nnz == 0
        assert one.shape == (1, 2**31 - 1)
    assert [int(one.sum()) for one in alone] == [15, 14, 13]


def test_with_one_seed_an_n_gram_has_the_same_bin_in_all_maps_else_not():
    corpus, rows = Corpus(["candle"] * 2), np.arange(2)
    for shared in (True, False):
        chosen = BagOfNGrams.draw(np.random.default_rng(1), 64, shared)
        maps = bag_maps(chosen, corpus, rows, [0, 1], 2**14)
        found = Counter(int(see(rows).indices[0]) for see in maps)
        assert len(found) == 1 if shared else len(found) >= 60  # 64, but two may meet


def test_the_seed_of_the_hashing_is_all_that_sharing_it_changes():
    own, one = (BagOfNGrams.draw(np.random.default_rng(5), 30, shared) for shared in (False, True))
    assert [replace(c, seed=0) for c in own] == [replace(c, seed=0) for c in one]
    assert len({c.seed for c in own}) == 30
    assert len({c.seed for c in one}) == 1


def test_configurations_have_all_choices_and_alpha_is_log_uniform():
    drawn = BagOfNGrams.draw(np.random.default_rng(0), 3000)
    for name, choices in (
        ("tokeniser", ("remove", "split", "nltk")),
        ("stop_words", (True, False)),
        ("lowercase", (True, False)),
        ("order", (1, 2, 3)),
        ("binary", (True, False)),
        ("weights", ("naive-bayes", "inverse-frequency")),
        ("how", (None, "l2", "average")),
    ):
        counts, p = Counter(getattr(c, name) for c in drawn), 1 / len(choices)
        assert counts.keys() == {*choices}
        for count in counts.values():
            assert abs(count - 3000 * p) < 4 * math.sqrt(3000 * p * (1 - p))
    exponents = np.sort(np.log10([c.alpha for c in drawn]))
    distance = np.abs((exponents + 5) / 7 - np.arange(3000) / 3000).max()
    assert distance < 1.63 / math.sqrt(3000)  # Kolmogorov's 1 % bound
    assert len(BagOfNGrams.draw(np.random.default_rng(0))) == 64


def test_a_search_over_bags_stays_sparse_and_picks_one():
    rng = np.random.default_rng(0)
    words = [[f"w{i}" for i in rng.integers(20 * y, 20 * y + 30, size=12)] for y in (0, 1) * 40]
    corpus, y = Corpus([" ".join(each) for each in words]), np.array([0, 1] * 40)
    data = Data(np.arange(60), y[:60], np.arange(60, 80), y[60:], 2)
    maps = bag_maps(BagOfNGrams.draw(rng, 8, True), corpus, data.x, data.y, 2**12)
    assert all(see(data.x).nnz <= 60 * 33 for see in maps)
    history = share(maps, data, rng, "error", Linear("logistic"))
    assert history.scores[-1][history.pick] < 0.3


def test_without_nltk_its_tokeniser_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "nltk", None)
    with pytest.raises(
        ModuleNotFoundError, match=r"NLTK is missing: pip install 'fedlab_edu\[text\]'"
    ):
        tokeniser("nltk")


GOOD: dict[str, Any] = {
    "tokeniser": "split", "stop_words": True, "lowercase": True, "order": 2, "binary": True,
    "weights": "naive-bayes", "alpha": 1.0, "how": "l2",
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tokeniser", "spacy"), ("order", 4), ("weights", "tf-idf"), ("alpha", 0.0),
        ("how", "l1"), ("seed", -1),
    ],
)  # fmt: skip
def test_a_choice_that_there_is_not_is_refused(name, value):
    with pytest.raises(ValueError, match=f"^{name} is {value!r}"):
        BagOfNGrams(**(GOOD | {name: value}))


def test_maps_refuse_other_labels_no_bin_and_no_text():
    c, corpus = [BagOfNGrams(**GOOD)], Corpus(TEXTS)
    with pytest.raises(ValueError, match=r"y is \[0, 2\]"):
        bag_maps(c, corpus, np.arange(2), np.array([0, 2]), 8)
    with pytest.raises(ValueError, match="bins is 0"):
        bag_maps(c, corpus, np.arange(6), Y, 0)
    with pytest.raises(ValueError, match="train is"):
        bag_maps(c, corpus, np.array([5, 6]), np.array([0, 1]), 8)
    with pytest.raises(ValueError, match="number of texts is 0"):
        Corpus([])
    for texts in ("one", [1, 2]):
        with pytest.raises(ValueError, match="texts is"):
            Corpus.__init__.__wrapped__(object.__new__(Corpus), texts)
