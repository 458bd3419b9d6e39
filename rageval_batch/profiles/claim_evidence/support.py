"""Whether texts support a claim, by their words: the share of its keywords that they have, or that they contain it."""

from __future__ import annotations

from dataclasses import KW_ONLY

import numpy as np
import pyarrow as pa

from rageval_batch.columnar import kernels
from rageval_batch.columnar.strings import Flags, Ints, Strings, from_arrow
from rageval_batch.columnar.tolerance import TOLERANCE
from rageval_batch.dataclass import dataclass


@dataclass(frozen=True)
class Support:
    """How far texts support claims by their words: first of claims by all their texts together, then of each text."""

    keywords: kernels.Keywords  # of the claims
    keyword_found: Flags  # of every keyword: one of the claim's texts has it
    keyword_counts: Ints
    _: KW_ONLY
    supported: Flags
    supports: Flags  # of every text: it supports its claim alone


def lexical_support(claims: Strings, texts: Strings, owner: Ints, *, threshold: float) -> Support:
    """The support of claims by the texts that they own; texts stand in the order of their claims.

    A claim without keywords is supported where, squashed, it stands in one of its texts; an empty one never is.
    """
    tables = kernels.keyword_tables(kernels.keywords(claims, kana=True))
    counts = tables.found.counts().astype(np.int32)
    looked_up = kernels.keyword_hits(tables, owner, texts, kana=True)
    found: Flags = looked_up.last_row >= 0  # a claim's keywords are looked up in its own texts only
    hits = np.bincount(np.repeat(np.arange(len(claims)), counts)[found], minlength=len(claims)).astype(np.int32)
    contains = _contains(claims, texts, owner, bare=counts == 0)
    contained = np.zeros(len(claims), np.bool_)
    contained[owner[contains]] = True
    return Support(
        tables.found,
        found,
        counts,
        supported=np.where(counts > 0, _enough(hits, counts, threshold), contained),
        supports=np.where(counts[owner] > 0, _enough(looked_up.counts, counts[owner], threshold), contains),
    )


def _enough(hits: Ints, keywords: Ints, threshold: float) -> Flags:
    enough: Flags = hits / np.maximum(keywords, 1) >= threshold - TOLERANCE
    return enough


def _contains(claims: Strings, texts: Strings, owner: Ints, *, bare: Flags) -> Flags:
    """Which texts of `bare` claims contain their claim, both squashed; texts of other claims never do."""
    out = np.zeros(len(texts), np.bool_)
    compared = np.flatnonzero(bare[owner])
    if len(compared):
        needles = kernels.squash(from_arrow(claims.to_arrow().take(pa.array(owner[compared]))))
        hay = kernels.squash(from_arrow(texts.to_arrow().take(pa.array(compared))))
        out[compared] = kernels.contains(hay.data, hay.starts, hay.ends, needles.data, needles.starts, needles.ends)
    return out
