"""Phrases in texts: parts as whole words, groups of required phrases, refusals."""

from __future__ import annotations

from functools import lru_cache
from threading import local

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rageval_batch.columnar import characters, kernels, text
from rageval_batch.columnar.functions.columns import Groups, SharedLists
from rageval_batch.columnar.kernels import boundaries
from rageval_batch.columnar.strings import Bytes, Flags, Strings, from_arrow
from rageval_batch.columnar.values.words import Phrases
from rageval_batch.resources import packaged_data

# Scripts that write no spaces between words.
_UNSPACED = characters.HAN + characters.KANA + (
    "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u1950-\u19df\u19e0-\u19ff\u1a20-\u1aaf\u3100-\u312f"
    "\u31a0-\u31bf\ua9e0-\ua9ff\uaa60-\uaadf"
)  # fmt: skip


@lru_cache(maxsize=1)
def _spaced() -> Bytes:
    """Letters, marks and digits of scripts that write spaces between words: one of them beside another is one word."""
    flags: Flags = np.isin(characters.categories(), (b"L", b"M", b"N")) & ~characters.members(_UNSPACED)
    return flags.view(np.uint8)


def folded(texts: pa.Array) -> Strings:
    """NFKC and casefold of every text; null is empty."""
    return text.folded(from_arrow(texts))


class _Newest(local):
    """The texts that were folded last in this thread: several functions of one batch ask for the same."""

    texts: pa.Array | None = None
    folded: Strings | None = None


_newest = _Newest()


def newest_folded(texts: pa.Array) -> Strings:
    """The same as `folded`, of the texts of the newest call without folding them again."""
    if _newest.folded is None or not texts.equals(_newest.texts):
        _newest.texts, _newest.folded = texts, folded(texts)
    return _newest.folded


def _contains(s: Strings, parts: Strings, which: npt.NDArray[np.int64], *, part: npt.NDArray[np.int64]) -> Flags:
    """Whether part `part[p]` stands in text `which[p]`, both folded."""
    return boundaries.whole_parts(s.data, s.offsets, which, parts.data, parts.offsets, part, _spaced())


def contains(s: pa.Array, part: pa.Array) -> Flags:
    """Whether the part stands in the text."""
    rows = np.arange(len(s), dtype=np.int64)
    return _contains(folded(s), folded(part), rows, part=rows)


def _parts_found(s: pa.Array, parts: SharedLists) -> npt.NDArray[np.int64]:
    """How many of the parts of each text stand in it."""
    places, counts = parts.distinct.places(parts.codes)
    rows = np.repeat(np.arange(len(s)), counts)
    found = _contains(newest_folded(s), folded(parts.distinct.values), rows, part=places)
    return np.bincount(rows[found], minlength=len(s))


def contains_all(s: pa.Array, parts: SharedLists) -> Flags:
    """Whether every part does."""
    every: Flags = _parts_found(s, parts) == parts.counts()
    return every


def contains_any(s: pa.Array, parts: SharedLists) -> Flags:
    """Whether some part does."""
    return _parts_found(s, parts) > 0


def include_rate(s: pa.Array, groups: Groups) -> npt.NDArray[np.float64]:
    """Groups found over all groups."""
    hay, phrases = (text.normalized(from_arrow(column), "ru_numeric") for column in (s, groups.values))
    which = np.arange(len(s), dtype=np.int32)
    hits, _ = kernels.group_hits(
        hay.data, hay.starts, hay.ends, which, groups.rows, groups.bounds, phrases.data, phrases.offsets
    )  # fmt: skip
    total = np.diff(groups.rows)
    return np.where(total > 0, hits / np.maximum(total, 1), 1.0)


@lru_cache(maxsize=1)
def _refusals() -> Phrases:
    """The packaged phrases of refusal and abstention."""
    lists = packaged_data("phrases.json")
    return Phrases(phrase for kind in ("refusal", "abstention") for some in lists[kind].values() for phrase in some)


def refused(s: pa.Array) -> pa.Array:
    """Whether a packaged phrase of refusal or abstention stands in the text."""
    return pa.array(_refusals().found(newest_folded(s).to_arrow()))
