"""A column of outputs of `legal_rag`: JSON objects by the tape, plain texts by the reader, distinct values once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch.columnar import json_tape, kernels
from rageval_batch.columnar.json_tape import Tape
from rageval_batch.columnar.kernels.json import ARRAY, NULL, OBJECT, STRING
from rageval_batch.columnar.strings import LARGE_STRING, Flags, Ints, Offsets, Strings, bounds_of, from_arrow, spread
from rageval_batch.columnar.text import folded
from rageval_batch.columnar.values import Citation, Reading
from rageval_batch.columnar.values.columns import ColumnReader, ReadTexts, Stretch
from rageval_batch.dataclass import dataclass
from rageval_batch.profiles.legal_rag.fields import as_label, as_page, as_text, decode
from rageval_batch.profiles.legal_rag.questions import NAMES

Codes = npt.NDArray[np.int64]

ANSWER = ("answer", "text", "text_answer")
CITATIONS = ("citations", "citation")
EVIDENCE = ("evidence",)
FLAG = ("abstained",)
_FIELDS = tuple(dict.fromkeys((*ANSWER, *CITATIONS, *EVIDENCE, *FLAG, *(n for names in NAMES.values() for n in names))))
_ITEM = ("page", "text", "quote", "section", "speaker")
_KINDS = 16  # more than a tape has kinds of nodes


@dataclass(frozen=True)
class Items:
    """Citations or evidence items in the order of their rows. Labels are codes: -1 is none, equal codes are equal."""

    row: Ints
    text: Strings
    squashed: Strings
    _: KW_ONLY
    page: Codes
    section: Codes
    speaker: Codes

    def __len__(self) -> int:
        return len(self.row)

    def take(self, which: npt.NDArray[np.int64]) -> Items:
        """Some of the items."""
        return Items(
            self.row[which],
            _take(self.text, which),
            _take(self.squashed, which),
            page=self.page[which],
            section=self.section[which],
            speaker=self.speaker[which],
        )


def _take(texts: Strings, which: npt.NDArray[np.int64]) -> Strings:
    return kernels.cut(texts.data, texts.starts[which], texts.ends[which])


def joined(*parts: Items) -> Items:
    """Items of several lists, by row; inside a row in the order of the lists."""
    row = np.concatenate([part.row for part in parts])
    order = np.argsort(row, kind="stable")

    def texts(columns: Iterable[Strings]) -> Strings:
        return _take(from_arrow(pa.concat_arrays([column.to_arrow() for column in columns])), order)

    def codes(columns: Iterable[Codes]) -> Codes:
        return np.concatenate(list(columns))[order]

    return Items(
        row[order],
        texts(part.text for part in parts),
        texts(part.squashed for part in parts),
        page=codes(part.page for part in parts),
        section=codes(part.section for part in parts),
        speaker=codes(part.speaker for part in parts),
    )


class Labels:
    """Codes of pages, sections and speakers: those that questions name, and others as a batch brings them."""

    def __init__(self, known: dict[str, int] | None = None) -> None:
        self._known = dict(known or {})

    def copy(self) -> Labels:
        """The same codes, to add those of a batch to."""
        return Labels(self._known)

    def codes(self, names: Iterable[str | None]) -> Codes:
        """The code of each name, -1 of none."""
        known = self._known
        return np.array([-1 if name is None else known.setdefault(name, len(known)) for name in names], np.int64)


@dataclass(frozen=True)
class Coded:
    """A column as its distinct Python values and a code a row; -1 is nothing."""

    values: list[Any]
    code: Codes


@dataclass(frozen=True)
class Answers:
    """The texts of answers: the distinct ones, as readings, and which of them each row has."""

    values: ReadTexts
    code: Codes


class Outputs:
    """What a batch of outputs says; each part is worked out when it is first asked for."""

    def __init__(self, column: pa.Array, columns: ColumnReader, labels: Labels) -> None:
        self._column = column.fill_null("") if column.null_count else column
        self._columns = columns
        self._reader = columns.reader
        self._labels = labels.copy()
        texts = from_arrow(self._column)
        starts, ends = kernels.strip(texts.data, texts.starts, texts.ends)
        self.empty: Flags = starts == ends
        self._tape: Tape = json_tape.parse(texts.data, starts, ends)
        self.structured: Flags = json_tape.usable(self._tape)
        root = np.where(self.structured, self._tape.root, -1).astype(np.int32)
        self._nodes = _not_null(self._tape, self._tape.members(root, list(_FIELDS)))

    def __len__(self) -> int:
        return len(self._column)

    def _node(self, names: tuple[str, ...]) -> Ints:
        """The first of several members that is there and not null, else -1."""
        return _first(self._nodes[:, [_FIELDS.index(name) for name in names]])

    def field(self, names: tuple[str, ...]) -> Coded:
        """The structured values under one of several names."""
        return _coded(self._tape, self._node(names))

    @cached_property
    def answer(self) -> Answers:
        """The answers' texts as readings: the field of an object, or the whole plain text."""
        own = _texts(self._tape, self._node(ANSWER))
        column = pc.if_else(pa.array(self.structured), own, self._column.cast(LARGE_STRING))
        coded = column.dictionary_encode()
        readings = self._columns.read(from_arrow(coded.dictionary))
        return Answers(readings, coded.indices.to_numpy().astype(np.int64))

    @cached_property
    def folded_answers(self) -> Strings:
        """The distinct texts of the answers in NFKC and casefold."""
        return folded(self.answer.values.texts)

    @cached_property
    def evidence(self) -> Items:
        """The evidence items of all rows."""
        return self._items(self._node(EVIDENCE))

    @cached_property
    def citations(self) -> Items:
        """The citations of all rows: given ones, else the pages that the answer's text cites."""
        nodes = self._node(CITATIONS)
        given = self._items(nodes)
        silent = np.flatnonzero((nodes < 0) & ~self.empty)
        return joined(given, self._cited(silent)) if len(silent) else given

    # --- items ------------------------------------------------------------------------------------------------------

    def _cited(self, rows: npt.NDArray[np.int64]) -> Items:
        """The pages cited in the texts of rows, each with its passage."""
        distinct, inverse = np.unique(self.answer.code[rows], return_inverse=True)
        pages, texts, bounds = self._passages(distinct)
        which, owner = spread(bounds, inverse)
        none = np.full(len(which), -1, np.int64)
        text = _take(texts, which)
        return Items(
            rows[owner].astype(np.int32), text, kernels.squash(text), page=pages[which], section=none, speaker=none
        )

    def _passages(self, answers: Codes) -> tuple[Codes, Strings, Offsets]:
        """(page, passage, bounds of each answer's) of all that answers cite. One citation has the whole text."""
        readings = self.answer.values
        found, places = readings.found(answers, _citations)
        pages = self._labels.codes([str(citation.page) for citation in found])[places.places]
        counts = np.bincount(places.texts, minlength=len(answers))
        several = np.flatnonzero(counts > 1)
        passages = [cited_passages(readings[k]) for k in answers[several].tolist()]
        counts[several] = [len(one) for one in passages]
        bounds = bounds_of(counts)
        page, text = np.zeros(bounds[-1], np.int64), np.zeros(bounds[-1], np.int64)
        single = counts == 1
        single[several] = False
        alone = single[places.texts]
        at = bounds[places.texts[alone]]
        page[at], text[at] = pages[alone], answers[places.texts[alone]]
        at = spread(bounds, several)[0]
        page[at] = self._labels.codes([page for some in passages for page, _ in some])
        text[at] = len(readings) + np.arange(len(at))
        cut = pa.array([text for some in passages for _, text in some], LARGE_STRING)
        texts = from_arrow(pa.concat_arrays([readings.texts.to_arrow(), cut]))
        return page, _take(texts, text), bounds

    def _items(self, nodes: Ints) -> Items:
        tape = self._tape
        inner, owner = tape.elements(nodes)
        single = np.flatnonzero((nodes >= 0) & (tape.kinds(nodes) != ARRAY))
        entries = np.concatenate([inner, nodes[single]]).astype(np.int32)
        rows = np.concatenate([owner, single]).astype(np.int32)
        order = np.argsort(rows, kind="stable")
        entries, rows = entries[order], rows[order]
        parts = _not_null(tape, tape.members(entries, list(_ITEM)))
        is_object = tape.kinds(entries) == OBJECT
        text_node = np.where(is_object, _first(parts[:, 1:3]), entries).astype(np.int32)
        text = from_arrow(_texts(tape, text_node))
        page = self._codes(parts[:, 0].copy(), lambda value: as_page(self._reader, value))
        if not is_object.all():
            loose = np.flatnonzero(~is_object)
            cited = [self._reader.read(text.at(int(k))).citations for k in loose]
            page[loose] = self._labels.codes([str(found[0].page) if found else None for found in cited])
        squashed = kernels.squash(text)
        items = Items(
            rows, text, squashed, page=page,
            section=self._codes(parts[:, 3].copy(), as_label), speaker=self._codes(parts[:, 4].copy(), as_label),
        )  # fmt: skip
        says_something = (page >= 0) | (np.diff(squashed.offsets) > 0)
        return items if says_something.all() else items.take(np.flatnonzero(says_something))

    def _codes(self, nodes: Ints, label: Callable[[Any], str | None]) -> Codes:
        """Labels of nodes as codes, each distinct value looked at once."""
        coded = _coded(self._tape, nodes)
        codes = self._labels.codes([label(value) for value in coded.values])
        out = np.full(len(nodes), -1, np.int64)
        there = coded.code >= 0
        out[there] = codes[coded.code[there]]
        return out


def _citations(stretch: Stretch) -> Sequence[Citation]:
    return stretch.citations


def cited_passages(reading: Reading) -> list[tuple[str, str]]:
    """(page, passage) of each page that a text cites: from behind the citing sentence before to the end of its own.

    What stands behind the last citing sentence belongs to the last passage.
    """
    citations = reading.citations
    if not citations:
        return []
    if citations[0].start == citations[-1].start:  # all in one sentence
        return [(page, reading.raw) for page in dict.fromkeys(str(citation.page) for citation in citations)]
    pages_at: dict[int, dict[str, None]] = {}  # end of a citing sentence -> its pages
    ends = [end for _, end in reading.sentences]
    k = 0
    for citation in citations:
        while k < len(ends) and ends[k] <= citation.start:
            k += 1
        if k < len(ends):
            pages_at.setdefault(ends[k], {})[str(citation.page)] = None
    found = []
    begin = 0
    last = max(pages_at, default=0)
    for end, pages in pages_at.items():
        stop = len(reading.raw) if end == last else end
        found += [(page, reading.raw[begin:stop]) for page in pages]
        begin = stop
    return found


# --- nodes ----------------------------------------------------------------------------------------------------------


def _not_null(tape: Tape, nodes: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    return np.where(tape.kinds(nodes) == NULL, -1, nodes).astype(np.int32)


def _first(nodes: npt.NDArray[np.int32]) -> Ints:
    """The first node of each row that is there."""
    found = nodes[:, -1].copy()
    for k in range(nodes.shape[1] - 2, -1, -1):
        found = np.where(nodes[:, k] >= 0, nodes[:, k], found)
    return found.astype(np.int32)


def _coded(tape: Tape, nodes: Ints) -> Coded:
    """Nodes as distinct Python values."""
    there = np.flatnonzero(nodes >= 0)
    code = np.full(len(nodes), -1, np.int64)
    if not len(there):
        return Coded([], code)
    present = nodes[there]
    texts = tape.texts(present).to_arrow().dictionary_encode()
    keys = texts.indices.to_numpy().astype(np.int64) * _KINDS + tape.kind[present]
    distinct, inverse = np.unique(keys, return_inverse=True)
    raw = texts.dictionary.take(pa.array(distinct // _KINDS)).to_pylist()
    code[there] = inverse
    return Coded([decode(int(k % _KINDS), text) for k, text in zip(distinct.tolist(), raw, strict=True)], code)


def _texts(tape: Tape, nodes: Ints) -> pa.Array:
    """Nodes as texts: strings as they are, others as JSON text in one spelling, nothing as ""."""
    texts = tape.texts(nodes).to_arrow()
    odd = np.flatnonzero((nodes >= 0) & (tape.kinds(nodes) != STRING))
    if not len(odd):
        return texts
    coded = _coded(tape, nodes[odd])
    plain = pa.array([as_text(value) for value in coded.values], LARGE_STRING).take(pa.array(coded.code))
    mask = np.zeros(len(nodes), np.bool_)
    mask[odd] = True
    return pc.replace_with_mask(texts, pa.array(mask), plain)
