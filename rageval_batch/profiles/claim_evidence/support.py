"""Whether texts support a claim, by their words: the share of its keywords that they have, or that they contain it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch.columnar import kernels
from rageval_batch.columnar.statistics import TOLERANCE
from rageval_batch.columnar.strings import LARGE_STRING, Flags, Ints, Strings, from_arrow


@dataclass(frozen=True)
class Support:
    """Of claims: their keywords, those of them in the claim's texts together, and whether that is enough. Of each text
    alone the same."""

    keywords: Ints
    hits: Ints
    supported: Flags
    text_hits: Ints
    supports: Flags


def lexical_support(claims: Strings, texts: Strings, owner: Ints, threshold: float) -> Support:
    """The support of claims by the texts that they own; texts stand in the order of their claims.

    A claim without keywords is supported where, squashed, it stands in one of its texts; an empty one never is.
    """
    tables = kernels.keyword_tables(kernels.keywords(claims, kana=True))
    keywords = tables.found.counts().astype(np.int32)
    text_hits = kernels.keyword_hits(tables, owner, texts, kana=True)
    hits = np.zeros(len(claims), np.int32)
    hits[owner] = text_hits  # right where a claim has one text
    texts_of = np.bincount(owner, minlength=len(claims))
    several = np.flatnonzero(texts_of > 1).astype(np.int32)
    if len(several):
        joined = _joined(texts, texts_of[owner] > 1, texts_of[several])
        hits[several] = kernels.keyword_hits(tables, several, joined, kana=True)
    contains = _contains(claims, texts, owner, keywords == 0)
    contained = np.zeros(len(claims), np.bool_)
    contained[owner[contains]] = True
    return Support(
        keywords,
        hits,
        np.where(keywords > 0, _enough(hits, keywords, threshold), contained),
        text_hits,
        np.where(keywords[owner] > 0, _enough(text_hits, keywords[owner], threshold), contains),
    )


def _enough(hits: Ints, keywords: Ints, threshold: float) -> Flags:
    enough: Flags = hits / np.maximum(keywords, 1) >= threshold - TOLERANCE
    return enough


def _joined(texts: Strings, chosen: Flags, sizes: npt.NDArray[np.int64]) -> Strings:
    """The chosen texts as one string for each claim; no keyword reaches over a line's end."""
    bounds = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    lists = pa.LargeListArray.from_arrays(pa.array(bounds), texts.to_arrow().filter(pa.array(chosen)))
    return from_arrow(pc.binary_join(lists, pa.scalar("\n", LARGE_STRING)))


def _contains(claims: Strings, texts: Strings, owner: Ints, bare: Flags) -> Flags:
    """Which texts contain their claim, both squashed, where that is asked for."""
    out = np.zeros(len(texts), np.bool_)
    asked = np.flatnonzero(bare[owner])
    if len(asked):
        needles = kernels.squash(from_arrow(claims.to_arrow().take(pa.array(owner[asked]))))
        hay = kernels.squash(from_arrow(texts.to_arrow().take(pa.array(asked))))
        out[asked] = kernels.contains(hay.data, hay.starts, hay.ends, needles.data, needles.starts, needles.ends)
    return out
