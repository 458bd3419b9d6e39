"""Similarity of texts and their keywords. The only user of RapidFuzz for whole columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from rageval_batch.columnar import text
from rageval_batch.columnar.functions.columns import SharedLists
from rageval_batch.columnar.functions.overlap import best
from rageval_batch.columnar.strings import Floats


def soft_match(s: pa.Array, refs: SharedLists) -> pa.Array:
    """Whether a reference matches softly."""
    lists = refs.by_row()
    pairs = text.soft_match(s.take(pa.array(lists.owners())), lists.values)
    return pa.array(best(pairs.to_numpy(zero_copy_only=False).astype(np.float64), lists.bounds) > 0)


def squash(s: pa.Array) -> pa.Array:
    """Texts without white space."""
    return text.squash(s)


def keywords(s: pa.Array) -> pa.Array:
    """Distinct keywords."""
    return text.keyword_lists(s)


def keyword_hits(expected: pa.Array, got: pa.Array) -> pa.Array:
    """Keywords of expected that got has."""
    return text.keyword_hits(expected, got)


def indel_similarity(a: pa.Array, b: pa.Array) -> Floats:
    """Normalised Indel similarity."""
    from rapidfuzz.distance import Indel

    return _pairwise(a, b, Indel.normalized_similarity)


def levenshtein_similarity(a: pa.Array, b: pa.Array) -> Floats:
    """Normalised Levenshtein similarity."""
    from rapidfuzz.distance import Levenshtein

    return _pairwise(a, b, Levenshtein.normalized_similarity)


def _pairwise(a: pa.Array, b: pa.Array, scorer: Any) -> Floats:
    """The score of each pair; RapidFuzz takes Python strings, a whole column at once."""
    from rapidfuzz.process import cpdist

    left, right = (column.fill_null("").to_pylist() for column in (a, b))
    found: Floats = cpdist(left, right, scorer=scorer, dtype=np.float64)
    return found
