"""Which items cover which evidence: pairs of a row's items and its question's entries, in whole columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from rageval_batch.columnar import kernels, text
from rageval_batch.columnar.kernels import Grams, Points32
from rageval_batch.columnar.strings import Flags, Ints, Offsets, Strings, bounds_of, from_list, spread
from rageval_batch.columnar.tolerance import TOLERANCE
from rageval_batch.dataclass import dataclass
from rageval_batch.profiles.legal_rag.outputs import Codes, Items, Labels, joined
from rageval_batch.profiles.legal_rag.questions import Question

_NO_CAP = 1 << 30

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Entries:
    """The required evidence and the key points of all questions, end to end."""

    bounds: Offsets  # of each question's required evidence
    include: Strings  # squashed
    page: Codes
    section: Codes
    speaker: Codes
    critical: Flags
    point_bounds: Offsets
    points: Points32
    point_grams: Grams
    point_words: text.KeywordIndex
    labels: Labels


def entries_of(questions: Sequence[Question]) -> Entries:
    """The evidence side of an eval set."""
    required = [entry for question in questions for entry in question.required]
    labels = Labels()
    pages, sections, speakers = (
        labels.codes(names)
        for names in (
            [entry.page for entry in required],
            [entry.section for entry in required],
            [entry.speaker for entry in required],
        )
    )
    points = from_list([point for question in questions for point in question.points])
    squashed = kernels.squashed_points(points)
    return Entries(
        bounds=bounds_of([len(question.required) for question in questions]),
        include=from_list([entry.include for entry in required]),
        page=pages,
        section=sections,
        speaker=speakers,
        critical=np.array([entry.critical for entry in required], np.bool_),
        point_bounds=bounds_of([len(question.points) for question in questions]),
        points=squashed,
        point_grams=kernels.grams_of(squashed),
        point_words=text.KeywordIndex(points, "bigram", _NO_CAP),
        labels=labels,
    )


@dataclass(frozen=True)
class Pairs:
    """Pairs of an item and an entry of its row's question, and whether the item covers the entry."""

    item: Codes
    entry: Codes
    ok: Flags

    def items(self, count: int) -> Flags:
        """Which of the items cover anything."""
        out = np.zeros(count, np.bool_)
        out[self.item[self.ok]] = True
        return out


def required_pairs(entries: Entries, question: Ints, items: Items) -> Pairs:
    """Items against required evidence: what it must include, and page, section, speaker where both have one."""
    entry, item = spread(entries.bounds, question[items.row])
    needle, hay = entries.include, items.squashed
    starts, ends = needle.starts[entry], needle.ends[entry]
    ok = kernels.contains(hay.data, hay.starts[item], hay.ends[item], needle.data, starts, ends) | (starts == ends)
    for entry_label, item_label in (
        (entries.page, items.page),
        (entries.section, items.section),
        (entries.speaker, items.speaker),
    ):
        expected, got = entry_label[entry], item_label[item]
        ok &= (expected < 0) | (got < 0) | (expected == got)
    return Pairs(item, entry, ok)


def point_pairs(entries: Entries, question: Ints, items: Items, *, share: float) -> Pairs:
    """Items against key points: by the soft match, else by the share of the point's keywords that the item has."""
    entry, item = spread(entries.point_bounds, question[items.row])
    got = kernels.squashed_points(items.text)
    e, g, one = entry.astype(np.int32), item.astype(np.int32), np.int32(1)
    least = text.SOFT_THRESHOLD - TOLERANCE
    ok = kernels.match_pairs(entries.points, entries.point_grams, e, e + one, got, g, g + one, least).matched
    open_ = np.flatnonzero(~ok & (entries.point_words.counts[entry] > 0))
    if len(open_):
        texts = kernels.cut(items.text.data, items.text.starts[item[open_]], items.text.ends[item[open_]])
        hits = entries.point_words.hits(e[open_], texts).counts
        ok[open_] = hits / entries.point_words.counts[entry[open_]] >= share - TOLERANCE
    return Pairs(item, entry, ok)


def covered(bounds: Offsets, counted: Flags, question: Ints, *, items: Items, pairs: Pairs) -> Counts:
    """How many of the counted entries of each row's question some item of the row covers, each once."""
    row = items.row[pairs.item[pairs.ok]].astype(np.int64)
    entry = pairs.entry[pairs.ok]
    width = int(bounds[-1]) + 1
    once = np.unique(row * width + entry)
    counts = counted[once % width]
    return np.bincount((once // width)[counts], minlength=len(question))


def sums(bounds: Offsets, counted: Flags) -> Counts:
    """How many entries of each question count."""
    return np.diff(bounds_of(counted)[bounds])


def retrieved(evidence: Items, citations: Items, rows: int) -> Items:
    """The items of each row that are judged: evidence, else citations; distinct by page and squashed text."""
    has_evidence = np.bincount(evidence.row, minlength=rows) > 0
    instead = citations.take(np.flatnonzero(~has_evidence[citations.row]))
    both = joined(evidence, instead)
    code = both.squashed.to_arrow().dictionary_encode().indices.to_numpy().astype(np.int64)
    keys = np.stack([both.row.astype(np.int64), both.page, code], axis=1)
    _, first = np.unique(keys, axis=0, return_index=True)
    return both if len(first) == len(both) else both.take(np.sort(first))
