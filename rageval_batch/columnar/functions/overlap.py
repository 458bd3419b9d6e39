"""Texts against references by what they share: words, pairs of words, their order, characters."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache
from threading import local

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rageval_batch.columnar import characters, text
from rageval_batch.columnar.functions.columns import SharedLists
from rageval_batch.columnar.kernels import grams
from rageval_batch.columnar.kernels import overlap as kernel
from rageval_batch.columnar.kernels.words import ALONE_BIT, DROPPED_BIT, SPACE_BIT, WORD_BIT, encoded, word_codes
from rageval_batch.columnar.strings import Floats, Ints, Offsets, Strings, bounds_of, from_arrow
from rageval_batch.dataclass import dataclass

Counts = npt.NDArray[np.int64]

CHRF_ORDER, CHRF_BETA = 6, 2
TREE_LENGTH = 100_000  # characters of a reference whose n-grams are kept together, in some 20 MB
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


def _number_words(texts: pa.Array) -> Words:
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


def best(values: Floats, bounds: Offsets) -> Floats:
    """The greatest of `values[bounds[r]:bounds[r + 1]]` for each row r; 0 where there are none."""
    out = np.zeros(len(bounds) - 1)
    there = np.diff(bounds) > 0
    if there.any():
        out[there] = np.maximum.reduceat(values, bounds[:-1][there])
    return out


class Compared:
    """Texts and the references of their rows as one batch of texts; pair p compares text `left[p]` with `right[p]`.

    What several measures need of them is worked out once.
    """

    def __init__(self, texts: pa.Array, refs: SharedLists) -> None:
        self._texts, self._refs = texts, refs
        coded = refs.distinct.values.dictionary_encode()
        self.batch = pa.concat_arrays([texts.fill_null(""), coded.dictionary])
        places, counts = refs.distinct.places(refs.codes)
        self.left: Offsets = np.repeat(np.arange(len(texts)), counts)
        self.right: Offsets = coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)[places] + len(texts)
        self._bounds = bounds_of(counts)

    def is_of(self, texts: pa.Array, refs: SharedLists) -> bool:
        """Whether it compares these texts with these references."""
        mine = self._refs
        return bool(
            texts.equals(self._texts)
            and np.array_equal(refs.codes, mine.codes)
            and np.array_equal(refs.distinct.bounds, mine.distinct.bounds)
            and refs.distinct.values.equals(mine.distinct.values)
        )

    @cached_property
    def order(self) -> Offsets:
        """The pairs by their references, so that each reference is worked out once."""
        return np.argsort(self.right, kind="stable")

    @cached_property
    def words(self) -> Words:
        """The words of all texts."""
        return _number_words(self.batch)

    @cached_property
    def shared_words(self) -> Counts:
        """How many words both sides of each pair have, as bags."""
        return kernel.shared_codes(self.words.codes, self.words.bounds, self.left, self.right, self.words.known)

    def code_points(self, dropped: int) -> tuple[npt.NDArray[np.uint32], Offsets]:
        """(the characters of all texts but those of the kinds `dropped`, bounds of each text's)."""
        column = from_arrow(self.batch)
        return grams.code_points(column.data, column.offsets, characters.kind_table(), dropped)

    def lengths(self, of_texts: Counts) -> tuple[Counts, Counts]:
        """The lengths of both sides of each pair."""
        return of_texts[self.left], of_texts[self.right]

    def best(self, values: Floats) -> Floats:
        """The greatest value of the pairs of each text; 0 without references."""
        return best(values, self._bounds)


class _Newest(local):
    """What was compared last in this thread: several measures of one batch ask for the same."""

    compared: Compared | None = None


_newest = _Newest()


def _compared(texts: pa.Array, refs: SharedLists) -> Compared:
    if _newest.compared is None or not _newest.compared.is_of(texts, refs):
        _newest.compared = Compared(texts, refs)
    return _newest.compared


def _best_of_slices(s: pa.Array, refs: SharedLists, score: Callable[[Compared], Floats]) -> Floats:
    """`score` of texts with their references, a slice of the rows at a time; the best of each row."""
    parts = []
    for first in range(0, max(len(s), 1), SLICE):
        rows = slice(first, first + SLICE)
        compared = _compared(s[rows], refs.of_rows(rows))
        parts.append(compared.best(score(compared)))
    return np.concatenate(parts)


# --- words ------------------------------------------------------------------------------------------------------


def _ratio(part: Counts, whole: Counts) -> Floats:
    """part / whole, 0 where the whole is 0."""
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)


def _f1(precision: Floats, recall: Floats) -> Floats:
    """Harmonic mean, 0 where both are 0."""
    both = precision + recall
    return np.divide(2 * precision * recall, both, out=np.zeros(len(both)), where=both > 0)


def exact_match(s: pa.Array, refs: SharedLists) -> Floats:
    """1 where the words are those of a reference."""

    def score(pairs: Compared) -> Floats:
        same = kernel.same_sequence(pairs.words.codes, pairs.words.bounds, pairs.left, pairs.right)
        return same.astype(np.float64)

    return _best_of_slices(s, refs, score)


def _by_bags(s: pa.Array, refs: SharedLists, measure: Callable[[Floats, Floats], Floats]) -> Floats:
    """A measure of precision and recall of words; two texts without words give 1, one gives 0."""

    def score(pairs: Compared) -> Floats:
        shared = pairs.shared_words
        got, wanted = pairs.lengths(pairs.words.lengths())
        return np.where((got == 0) & (wanted == 0), 1.0, measure(_ratio(shared, got), _ratio(shared, wanted)))

    return _best_of_slices(s, refs, score)


def token_f1(s: pa.Array, refs: SharedLists) -> Floats:
    """F1 of words."""
    return _by_bags(s, refs, _f1)


def token_precision(s: pa.Array, refs: SharedLists) -> Floats:
    """Share of the text's words."""
    return _by_bags(s, refs, lambda precision, recall: precision)


def token_recall(s: pa.Array, refs: SharedLists) -> Floats:
    """Share of the reference's words."""
    return _by_bags(s, refs, lambda precision, recall: recall)


def _rouge(s: pa.Array, refs: SharedLists, shared: Callable[[Compared], Counts], *, shorter: int = 0) -> Floats:
    """F1 of what is shared over the lengths in words, less `shorter`."""

    def score(pairs: Compared) -> Floats:
        got, wanted = pairs.lengths(np.maximum(pairs.words.lengths() - shorter, 0))
        counts = shared(pairs)
        return _f1(_ratio(counts, got), _ratio(counts, wanted))

    return _best_of_slices(s, refs, score)


def rouge_1(s: pa.Array, refs: SharedLists) -> Floats:
    """F1 of words, 0 where there are none."""
    return _rouge(s, refs, lambda pairs: pairs.shared_words)


def rouge_2(s: pa.Array, refs: SharedLists) -> Floats:
    """F1 of pairs of words."""
    return _rouge(
        s, refs, lambda p: kernel.shared_pairs(p.words.codes, p.words.bounds, p.left, p.right), shorter=1
    )  # fmt: skip


def rouge_l(s: pa.Array, refs: SharedLists) -> Floats:
    """F1 of the longest common subsequence."""
    return _rouge(
        s, refs, lambda p: kernel.common_subsequence(p.words.codes, p.words.bounds, p.left, p.right, p.words.known)
    )  # fmt: skip


# --- characters -------------------------------------------------------------------------------------------------


def bigram_jaccard(s: pa.Array, refs: SharedLists) -> Floats:
    """Pairs of characters, white space included, that both have over those that either has."""

    def score(pairs: Compared) -> Floats:
        points, bounds = pairs.code_points(dropped=0)
        return grams.pair_jaccard(points, bounds, pairs.left, pairs.right, pairs.order)

    return _best_of_slices(s, refs, score)


def chrf(s: pa.Array, refs: SharedLists) -> Floats:
    """chrF: mean precision and recall over the orders that both sides have, then F with the weight on recall."""
    orders = np.arange(CHRF_ORDER)

    def score(pairs: Compared) -> Floats:
        points, bounds = pairs.code_points(dropped=characters.SPACE)
        sizes = pairs.lengths(np.diff(bounds))
        if sizes[1].max(initial=0) <= TREE_LENGTH:
            shared = grams.shared_grams(points, bounds, pairs.left, pairs.right, pairs.order, CHRF_ORDER)
        else:
            shared = grams.shared_grams_in_turn(points, bounds, pairs.left, pairs.right, CHRF_ORDER)
        got, wanted = (np.maximum(side[:, None] - orders, 0) for side in sizes)
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
