"""Texts against references by what they share: words, pairs of words, their order, characters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from threading import local

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rageval_batch.columnar import characters, text
from rageval_batch.columnar.functions.columns import Lists
from rageval_batch.columnar.kernels import overlap as kernel
from rageval_batch.columnar.kernels import plain_points
from rageval_batch.columnar.kernels.words import ALONE_BIT, DROPPED_BIT, SPACE_BIT, WORD_BIT, encoded, word_codes
from rageval_batch.columnar.strings import Floats, Ints, Offsets, Strings, from_arrow

Counts = npt.NDArray[np.int64]

CHRF_ORDER, CHRF_BETA = 6, 2
SLICE = 4_096  # rows that are worked on together: their words stay in the processor's caches


@lru_cache(maxsize=1)
def _word_table() -> npt.NDArray[np.uint32]:
    """The lower case and the kind of every character, by what the running Python says of its lower case."""
    lower = characters.lower_table()
    kinds = characters.kind_table()
    bits = np.zeros(len(lower), np.uint32)
    bits[(kinds & characters.SPACE) != 0] |= SPACE_BIT
    bits[(kinds & characters.WORD) != 0] |= WORD_BIT
    bits[characters.punctuation()] |= DROPPED_BIT
    bits[characters.members(characters.HAN + characters.KANA)] |= ALONE_BIT
    table: npt.NDArray[np.uint32] = lower.astype(np.uint32) | bits[lower]
    return table


@dataclass(frozen=True)
class Words:
    """The words of texts as numbers: text t has `codes[bounds[t]:bounds[t + 1]]`, all below `known`."""

    codes: Ints
    bounds: Offsets
    known: int

    def lengths(self) -> Counts:
        """How many words each text has."""
        return np.diff(self.bounds)


class _Newest(local):
    """The texts whose words were numbered last in this thread: several measures of one batch ask for the same."""

    texts: pa.Array | None = None
    words: Words | None = None


_newest = _Newest()


def _numbered(texts: pa.Array) -> Words:
    if _newest.words is None or not texts.equals(_newest.texts):
        _newest.texts, _newest.words = texts, _number(texts)
    return _newest.words


def _number(texts: pa.Array) -> Words:
    column = text.lower_untabled(from_arrow(texts))
    codes, bounds, starts, _ = word_codes(column.data, column.offsets, _word_table())
    return Words(codes, bounds, len(starts) - 1)


def words(s: pa.Array) -> pa.Array:
    """The words of each text."""
    column = text.lower_untabled(from_arrow(s))
    codes, bounds, starts, points = word_codes(column.data, column.offsets, _word_table())
    distinct = Strings(*encoded(points, starts)).to_arrow()
    return pa.LargeListArray.from_arrays(pa.array(bounds), distinct.take(pa.array(codes)))


# --- the best of all references ---------------------------------------------------------------------------------


def best(values: Floats, refs: Lists) -> Floats:
    """The greatest value of each row; 0 for a row without values."""
    out = np.zeros(len(refs.bounds) - 1)
    there = refs.counts() > 0
    if there.any():
        out[there] = np.maximum.reduceat(values, refs.bounds[:-1][there])
    return out


@dataclass(frozen=True)
class Pairs:
    """Texts and references as one batch: pair p compares text `left[p]` with text `right + p`."""

    left: Offsets
    right: int

    def lengths(self, of_texts: Counts) -> tuple[Counts, Counts]:
        """The lengths of both sides of each pair."""
        return of_texts[self.left], of_texts[self.right : self.right + len(self.left)]


def _best_of_slices(s: pa.Array, refs: Lists, score: Callable[[pa.Array, Pairs], Floats]) -> Floats:
    """`score` of texts with references behind them, a slice of the rows at a time; the best of each row."""
    parts = []
    for first in range(0, max(len(s), 1), SLICE):
        bounds = refs.bounds[first : first + SLICE + 1]
        mine = Lists(refs.values[bounds[0] : bounds[-1]], bounds - bounds[0])
        texts = s[first : first + SLICE]
        batch = pa.concat_arrays([texts.fill_null(""), mine.values])
        parts.append(best(score(batch, Pairs(mine.owners(), len(texts))), mine))
    return np.concatenate(parts)


# --- words ------------------------------------------------------------------------------------------------------


def _ratio(part: Counts, whole: Counts) -> Floats:
    """part / whole, 0 where the whole is 0."""
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)


def _f1(precision: Floats, recall: Floats) -> Floats:
    """Harmonic mean, 0 where both are 0."""
    both = precision + recall
    return np.divide(2 * precision * recall, both, out=np.zeros(len(both)), where=both > 0)


def exact_match(s: pa.Array, refs: Lists) -> Floats:
    """1 where the words are those of a reference."""

    def score(batch: pa.Array, pairs: Pairs) -> Floats:
        found = _numbered(batch)
        return kernel.same_sequence(found.codes, found.bounds, pairs.left, pairs.right).astype(np.float64)

    return _best_of_slices(s, refs, score)


def _by_bags(s: pa.Array, refs: Lists, measure: Callable[[Floats, Floats], Floats]) -> Floats:
    """A measure of precision and recall of words; two texts without words give 1, one gives 0."""

    def score(batch: pa.Array, pairs: Pairs) -> Floats:
        found = _numbered(batch)
        shared = kernel.shared_codes(found.codes, found.bounds, pairs.left, pairs.right, found.known)
        got, wanted = pairs.lengths(found.lengths())
        return np.where((got == 0) & (wanted == 0), 1.0, measure(_ratio(shared, got), _ratio(shared, wanted)))

    return _best_of_slices(s, refs, score)


def token_f1(s: pa.Array, refs: Lists) -> Floats:
    """F1 of words."""
    return _by_bags(s, refs, _f1)


def token_precision(s: pa.Array, refs: Lists) -> Floats:
    """Share of the text's words."""
    return _by_bags(s, refs, lambda precision, recall: precision)


def token_recall(s: pa.Array, refs: Lists) -> Floats:
    """Share of the reference's words."""
    return _by_bags(s, refs, lambda precision, recall: recall)


def _rouge(s: pa.Array, refs: Lists, shared: Callable[[Words, Pairs], Counts], shorter: int = 0) -> Floats:
    """F1 of what is shared over the lengths in words, less `shorter`."""

    def score(batch: pa.Array, pairs: Pairs) -> Floats:
        found = _numbered(batch)
        got, wanted = pairs.lengths(np.maximum(found.lengths() - shorter, 0))
        counts = shared(found, pairs)
        return _f1(_ratio(counts, got), _ratio(counts, wanted))

    return _best_of_slices(s, refs, score)


def rouge_1(s: pa.Array, refs: Lists) -> Floats:
    """F1 of words, 0 where there are none."""
    return _rouge(s, refs, lambda w, p: kernel.shared_codes(w.codes, w.bounds, p.left, p.right, w.known))


def rouge_2(s: pa.Array, refs: Lists) -> Floats:
    """F1 of pairs of words."""
    return _rouge(s, refs, lambda w, p: kernel.shared_pairs(w.codes, w.bounds, p.left, p.right), shorter=1)


def rouge_l(s: pa.Array, refs: Lists) -> Floats:
    """F1 of the longest common subsequence."""
    return _rouge(s, refs, lambda w, p: kernel.common_subsequence(w.codes, w.bounds, p.left, p.right, w.known))


# --- characters -------------------------------------------------------------------------------------------------


def bigram_jaccard(s: pa.Array, refs: Lists) -> Floats:
    """Pairs of characters, white space included, that both have over those that either has."""

    def score(batch: pa.Array, pairs: Pairs) -> Floats:
        found = plain_points(from_arrow(batch))
        return kernel.pair_jaccard(found.points, found.offsets, pairs.left, pairs.right)

    return _best_of_slices(s, refs, score)


def chrf(s: pa.Array, refs: Lists) -> Floats:
    """chrF: mean precision and recall over the orders that both sides have, then F with the weight on recall."""
    orders = np.arange(CHRF_ORDER)

    def score(batch: pa.Array, pairs: Pairs) -> Floats:
        column = from_arrow(batch)
        points, bounds = kernel.unspaced_points(
            column.data, column.offsets, characters.kind_table(), characters.SPACE
        )  # fmt: skip
        shared = kernel.shared_grams(points, bounds, pairs.left, pairs.right, CHRF_ORDER)
        got, wanted = (np.maximum(side[:, None] - orders, 0) for side in pairs.lengths(np.diff(bounds)))
        counted = (got > 0) & (wanted > 0)
        used = np.maximum(counted.sum(axis=1), 1)
        precision, recall = (
            np.divide(shared, side, out=np.zeros(shared.shape), where=counted).sum(axis=1) / used
            for side in (got, wanted)
        )
        factor = CHRF_BETA**2
        weighted = factor * precision + recall
        scores: Floats = np.divide(
            (1 + factor) * precision * recall, weighted, out=np.zeros(len(used)), where=weighted > 0
        )
        return scores

    return _best_of_slices(s, refs, score)
