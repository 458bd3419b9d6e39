"""Answers of `eval_json_v2` compared with what is expected: columns, tallies and explanations are all made from this.

One kernel does it in one pass. What it leaves to Python: why a text is no JSON, texts of another normal form, list
items that are no strings, the Indel distance and the words of jieba.
"""

from __future__ import annotations

import json
import math

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch.columnar import json_objects, kernels, text
from rageval_batch.columnar.arrays import as_arrow
from rageval_batch.columnar.json_objects import MISSING_FIELD, WRONG_SHAPE, WRONG_TYPE, shape_detail
from rageval_batch.columnar.json_values import ELEMENT_WORDS
from rageval_batch.columnar.kernels import KeywordHits, Pairs, Points32
from rageval_batch.columnar.kernels import json as json_kernel
from rageval_batch.columnar.kernels.answer_fields import DeferredItems, ExpectedItems, Fields, LastList, Limits
from rageval_batch.columnar.kernels.answers import Comparison
from rageval_batch.columnar.kernels.json import ARRAY, OK, STRING
from rageval_batch.columnar.strings import LARGE_STRING, Bytes, Flags, Ints, Offsets, Strings, from_arrow
from rageval_batch.columnar.tolerance import TOLERANCE
from rageval_batch.dataclass import dataclass
from rageval_batch.model import Params
from rageval_batch.profiles.eval_json_v2.contexts import Contexts
from rageval_batch.profiles.eval_json_v2.declaration import CLASSES, FIELDS, LISTS
from rageval_batch.profiles.eval_json_v2.expected import Items, Prepared, filled_items, item_texts, json_text

UNGROUNDED = ("file unknown", "no anchor found", "no anchors")  # why a ref does not hold, as the kernel counts them
WANTED_SHAPE = "a list of {refs: [{file, anchors: [text]}]}"
_FIELDS = Fields(
    names=FIELDS,
    kinds=(STRING, STRING, STRING, ARRAY, STRING, ARRAY, ARRAY),
    classes=tuple(FIELDS.index(name) for name in CLASSES),
    lists=tuple(FIELDS.index(name) for name in LISTS),
    evidence=FIELDS.index("original_evidence"),
    sources=FIELDS.index("source_map"),
    source_names=("refs", "file", "anchors"),
)
_SHAPES = pa.array(
    [
        shape_detail("source_map", "objects without such refs" if word == "objects" else word, WANTED_SHAPE)
        for word in ELEMENT_WORDS
    ],
    LARGE_STRING,
)


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A batch of answers compared with what is expected."""

    question: Ints
    data: Bytes  # the answers end to end; all places are in it
    compared: Comparison
    reason: json_objects.Reasons
    detail: pa.Array
    repaired: Flags
    evidence_hits: KeywordHits
    contexts: Contexts
    context: Ints  # which of the contexts each answer has
    deferred_lists: tuple[LastList, ...]  # a list each of the last answer, where the kernel did not compare it

    def texts(self, starts: Offsets, stops: Offsets, flags: Bytes) -> Strings:
        """Values of answers, by their places."""
        return _texts(self.data, starts, stops, flags=flags)

    def class_texts(self, name: str, rows: Ints) -> Strings:
        """What some answers have in a class field."""
        compared, k = self.compared, CLASSES.index(name)
        return self.texts(compared.class_start[rows, k], compared.class_stop[rows, k], compared.class_flags[rows, k])

    def last_list(self, name: str) -> LastList:
        """A list of the last answer."""
        k = LISTS.index(name)
        return self.deferred_lists[k] if self.deferred_lists else self.compared.last_list(k)


def _texts(data: Bytes, starts: Offsets, stops: Offsets, *, flags: Bytes) -> Strings:
    return Strings(*json_kernel.texts(data, starts, stops, flags, np.arange(len(starts), dtype=np.int32)))


def measure(prepared: Prepared, batch: pa.RecordBatch) -> Measured:
    """Every comparison of a batch of answers; of an answer whose schema is wrong nothing is compared."""
    question = batch.column("question").to_numpy()
    contexts, context = prepared.contexts.with_rows(question, batch.column("chunks"))
    compared = Comparison(
        len(question), _FIELDS, prepared.items, _limits(prepared.params), prepared.evidence.tables, contexts
    )
    answers = from_arrow(batch.column("output"))
    starts, ends = kernels.strip(answers.data, answers.starts, answers.ends)
    compared.run(answers.data, starts, ends, np.arange(len(question), dtype=np.int32), question, context)
    reason: json_objects.Reasons = np.full(len(question), json_objects.NO_REASON, np.int8)
    reason[starts == ends] = json_objects.EMPTY_OUTPUT
    broken = np.flatnonzero((compared.status != OK) & (starts < ends)).astype(np.int32)
    if len(broken):
        diagnosis = json_objects.diagnose(answers.data, starts[broken], ends[broken])
        reason[broken] = diagnosis.reason
        if prepared.params["json_mode"] == "lenient":
            found = diagnosis.tape.status == OK
            compared.run(answers.data, diagnosis.starts[found], diagnosis.ends[found], broken[found], question, context)
    reason[(compared.status == OK) & ~compared.usable] = json_objects.NOT_OBJECT
    repaired = compared.usable & (reason != json_objects.NO_REASON)
    deferred_lists = (
        _match_deferred(prepared, compared, answers.data, question=question) if compared.deferred.any() else ()
    )
    reason, detail = _check_schema(compared, reason)
    return Measured(
        question=question,
        data=answers.data,
        compared=compared,
        reason=reason,
        detail=detail,
        repaired=repaired & compared.ok,
        evidence_hits=_evidence_hits(prepared, compared, answers.data, question=question),
        contexts=contexts,
        context=context,
        deferred_lists=deferred_lists,
    )


def _limits(params: Params) -> Limits:
    return Limits(
        threshold=params["soft_threshold"] - TOLERANCE,
        containment_min=params["containment_min"],
        one_to_one=params["list_match"] == "one_to_one",
        list_caps=(params["description_cap"], params["questions_cap"]),
        enough=params["full_length"],
        entry_cap=params["entry_cap"],
        ref_cap=params["ref_cap"],
        anchor_cap=params["anchor_cap"],
        defer=params["unicode_form"] != "none" or params["list_matcher"] == "indel",
    )


# --- schema -------------------------------------------------------------------------------------------------------


def _check_schema(compared: Comparison, reason: json_objects.Reasons) -> tuple[json_objects.Reasons, pa.Array]:
    """(reason, detail): fields that are absent or of another type, else a source map of another shape."""
    lacks, differs = compared.absent != 0, (compared.absent == 0) & (compared.other != 0)
    reason[lacks] = MISSING_FIELD
    reason[differs] = WRONG_TYPE
    unread = (compared.citations.strange >= 0) & (reason == json_objects.NO_REASON)
    reason[unread] = WRONG_SHAPE
    named = np.where(lacks, compared.absent, compared.other)
    detail = _FIELD_NAMES.take(as_arrow(named))
    if unread.any():
        detail = pc.coalesce(_SHAPES.take(pa.array(compared.citations.strange, mask=~unread)), detail)
    return reason, detail


def _named(mask: int) -> str | None:
    return ", ".join(name for k, name in enumerate(FIELDS) if mask >> k & 1) or None


_FIELD_NAMES = pa.array([_named(mask) for mask in range(1 << len(FIELDS))], LARGE_STRING)


# --- what the kernel leaves open ------------------------------------------------------------------------------------


def _evidence_hits(prepared: Prepared, compared: Comparison, data: Bytes, *, question: Ints) -> KeywordHits:
    if prepared.evidence.tables is not None:
        return KeywordHits(compared.hits, compared.last_row)
    texts = _texts(data, compared.evidence_start, compared.evidence_stop, flags=compared.evidence_flags)
    return prepared.evidence.hits(question, texts)


def _match_deferred(prepared: Prepared, compared: Comparison, data: Bytes, *, question: Ints) -> tuple[LastList, ...]:
    """Compare the classes and lists of deferred answers and put the results to the others; lists of the last one."""
    params, items = prepared.params, prepared.items
    rows = np.flatnonzero(compared.deferred).astype(np.int32)
    texts = compared.deferred_items()  # in the order of rows
    owners = np.searchsorted(rows, texts.row).astype(np.int32)
    for k in range(len(CLASSES)):
        points = _points(data, texts, texts.field == k, form=params["unicode_form"])
        each = np.arange(len(rows), dtype=np.int32)
        pairs = _pairs(prepared, k, question[rows], got=Items(points, each, each + np.int32(1)), by_distance=False)
        compared.class_how[rows, k], compared.class_width[rows, k] = pairs.how, np.diff(points.offsets)
    out = []
    for k in range(len(LISTS)):
        field = len(CLASSES) + k
        mine = texts.field == field
        got = filled_items(_points(data, texts, mine, form=params["unicode_form"]), owners[mine], len(rows))
        pairs = _pairs(prepared, field, question[rows], got=got, by_distance=params["list_matcher"] == "indel")
        e_count, g_count = (items.last[field] - items.first[field])[question[rows]], got.last - got.first
        match = kernels.assign(pairs, e_count, g_count, params["list_match"] == "one_to_one")
        compared.e_count[k, rows], compared.g_count[k, rows] = e_count, g_count
        compared.e_matched[k, rows], compared.g_matched[k, rows] = match.e_matched, match.g_matched
        out.append(_last_list(got, pairs, match, e_count=int(e_count[-1]), g_count=int(g_count[-1])))
    return tuple(out)


def _points(data: Bytes, items: DeferredItems, mine: Flags, *, form: str) -> Points32:
    """What the soft match sees of texts in answers; a value that is no string is its JSON text."""
    texts = _texts(data, items.start[mine], items.stop[mine], flags=items.flags[mine])
    odd = np.flatnonzero(items.kind[mine] != STRING)
    if len(odd):
        values = texts.to_arrow().to_numpy(zero_copy_only=False).copy()
        values[odd] = [_canonical(raw) for raw in values[odd]]
        texts = from_arrow(pa.array(values, LARGE_STRING))
    return kernels.squashed_points(text.unicode_form(texts, form))


def _canonical(raw: str) -> str:
    """The JSON text of a value in one spelling; a number that Python cannot represent keeps its own."""
    unrepresentable: list[str] = []

    def number(text_: str) -> float | int | str:
        try:
            value = float(text_) if set(text_) & set(".eE") else int(text_)
            if math.isfinite(value):
                return value
        except (ValueError, OverflowError):  # too many digits
            pass
        unrepresentable.append(text_)
        return f"\x00{len(unrepresentable) - 1}\x00"

    try:
        written = json_text(json.loads(raw, parse_float=number, parse_int=number))
    except RecursionError:
        return raw
    for k, text_ in enumerate(unrepresentable):
        written = written.replace(f'"\\u0000{k}\\u0000"', text_)
    return written


def _pairs(prepared: Prepared, field: int, question: Ints, *, got: Items, by_distance: bool) -> Pairs:
    """How every expected item of a field matches every item of an answer."""
    params, expected = prepared.params, prepared.items
    first, last = expected.first[field][question], expected.last[field][question]
    pairs = kernels.match_pairs(
        expected.points, expected.grams, first, last,
        got.points, got.first, got.last,
        params["soft_threshold"] - TOLERANCE, params["containment_min"], by_distance,
    )  # fmt: skip
    return (
        _add_indel(pairs, expected, first, got=got, threshold=params["indel_threshold"] - TOLERANCE)
        if by_distance
        else pairs
    )


def _add_indel(pairs: Pairs, expected: ExpectedItems, first: Ints, *, got: Items, threshold: float) -> Pairs:
    """The pairs that containment left open, decided by RapidFuzz."""
    from rapidfuzz.distance import Indel
    from rapidfuzz.process import cpdist

    sizes = np.diff(pairs.bounds)
    row = np.repeat(np.arange(len(sizes)), sizes)
    at = np.arange(len(row)) - pairs.bounds[row]
    wide = (got.last - got.first)[row]
    undecided = np.flatnonzero(~pairs.matched)
    e = (first[row] + at // np.maximum(wide, 1))[undecided]
    g = (got.first[row] + at % np.maximum(wide, 1))[undecided]
    similar = cpdist(
        item_texts(expected.points, e), item_texts(got.points, g), scorer=Indel.normalized_similarity, dtype=np.float64
    )
    how = pairs.how.copy()
    how[undecided[similar >= threshold]] = kernels.SIMILAR
    return Pairs(how, pairs.bounds)


def _last_list(got: Items, pairs: Pairs, match: kernels.Assignment, *, e_count: int, g_count: int) -> LastList:
    """The partners of the last answer, and how they match."""
    how = pairs.how[pairs.bounds[-2] :].reshape(e_count, g_count)
    e_partner = match.e_partner[len(match.e_partner) - e_count :]
    g_partner = match.g_partner[len(match.g_partner) - g_count :]
    first = len(got.points.low) - g_count
    items = Points32(got.points.points, got.points.offsets[first:], got.points.low[first:], got.points.high[first:])
    e_how = np.zeros(e_count, np.uint8)
    g_how = np.zeros(g_count, np.uint8)
    has_e, has_g = np.flatnonzero(e_partner >= 0), np.flatnonzero(g_partner >= 0)
    e_how[has_e] = how[has_e, e_partner[has_e]]
    g_how[has_g] = how[g_partner[has_g], has_g]
    return LastList(items=items, e_partner=e_partner, g_partner=g_partner, e_how=e_how, g_how=g_how)
