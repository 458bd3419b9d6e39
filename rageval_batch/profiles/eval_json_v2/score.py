"""`eval_json_v2`: structured JSON answers against an expected example."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch.columnar import json_objects, kernels, text
from rageval_batch.columnar.json_objects import MISSING_FIELD, WRONG_SHAPE, WRONG_TYPE, ParsedObjects
from rageval_batch.columnar.json_tape import Tape
from rageval_batch.columnar.json_values import ELEMENT_WORDS
from rageval_batch.columnar.kernels import Assignment, Grams, KeywordHits, Pairs, Points32
from rageval_batch.columnar.kernels.json import ARRAY, NULL, STRING
from rageval_batch.columnar.statistics import TOLERANCE
from rageval_batch.columnar.strings import LARGE_STRING, Bytes, Flags, Ints, Strings, from_arrow, from_list
from rageval_batch.model import Params, Scored
from rageval_batch.model.schemas import EXPECTED, EvalSet, first_of
from rageval_batch.profiles.eval_json_v2.contexts import Contexts, read_contexts
from rageval_batch.profiles.eval_json_v2.declaration import CLASSES, COLUMNS, FIELDS, LISTS
from rageval_batch.profiles.eval_json_v2.grounding import UNGROUNDED, WANTED_SHAPE, Refs, find_refs, strange_maps

Floats = npt.NDArray[np.float64]

TYPES = np.array([STRING, STRING, STRING, ARRAY, STRING, ARRAY, ARRAY], np.int16)
SHOWN_CHARACTERS = 120  # of a wrong class, in the confusions


@dataclass(frozen=True)
class Items:
    """Items of lists as squashed code points, none of them empty, and the range that each list has of them."""

    points: Points32
    first: Ints
    last: Ints


@dataclass(frozen=True)
class Prepared:
    """The expected side of an eval set, worked out once."""

    params: Params
    examples: list[dict[str, Any]]
    expected_classes: dict[str, pa.Array]  # expected classes as they are, for the confusions
    classes: Points32  # three a question
    class_grams: Grams
    lists: dict[str, Items]
    list_grams: dict[str, Grams]
    evidence: text.KeywordIndex
    contexts: Contexts


def prepare(eval_set: EvalSet, params: Params) -> Prepared:
    """The expected side: normal forms, bigrams, keywords and contexts of all questions."""
    examples = [_example(question) for question in eval_set.objects]
    form = params["unicode_form"]
    expected_classes = {
        name: pa.array([as_text(example.get(name)) for example in examples], LARGE_STRING) for name in CLASSES
    }
    flat = [as_text(example.get(name)) for example in examples for name in CLASSES]
    classes = kernels.squashed_points(text.unicode_form(from_list(flat), form))
    lists = {name: _expected_items([example.get(name) for example in examples], form) for name in LISTS}
    return Prepared(
        params,
        examples,
        expected_classes,
        classes,
        kernels.grams_of(classes),
        lists,
        {name: kernels.grams_of(items.points) for name, items in lists.items()},
        text.KeywordIndex(
            from_list([as_text(example.get("original_evidence")) for example in examples]),
            params["keywords"],
            params["keyword_cap"],
        ),
        read_contexts(pa.array([eval_set.chunks.get(name) for name in eval_set.ids], LARGE_STRING)),
    )


def _example(question: dict[str, Any]) -> dict[str, Any]:
    """The expected answer: under `answer_example`, or in `expected` itself."""
    expected: dict[str, Any] = first_of(question, EXPECTED)
    example: dict[str, Any] = expected.get("answer_example", expected)
    return example


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else json_text(value)


def json_text(value: Any) -> str:
    """A value that is not a string as its JSON text, the same for equal values."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _expected_items(lists: list[Any], form: str) -> Items:
    listed = [items if isinstance(items, list) else [items] for items in lists]
    texts = [[as_text(item) for item in items if item is not None] for items in listed]
    owners = np.repeat(np.arange(len(texts), dtype=np.int32), [len(items) for items in texts])
    flat = from_list([item for items in texts for item in items])
    return _items(kernels.squashed_points(text.unicode_form(flat, form)), owners, len(texts))


def _items(points: Points32, owners: Ints, count: int) -> Items:
    """Items in the order of their owners, those that are empty after squash dropped."""
    widths = np.diff(points.offsets)
    filled = widths > 0
    if not filled.all():
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(widths[filled])])
        points, owners = Points32(points.points, offsets, points.low[filled], points.high[filled]), owners[filled]
    last = np.cumsum(np.bincount(owners, minlength=count)).astype(np.int32)
    first = np.concatenate([np.zeros(1, np.int32), last[:-1]]) if count else last
    return Items(points, first, last)


@dataclass(frozen=True)
class Measured:
    """A batch of answers compared with what is expected: columns, tallies and explanations are all made from this."""

    question: Ints
    parsed: ParsedObjects
    reason: json_objects.Reasons
    detail: pa.Array
    ok: Flags
    field: dict[str, Ints]  # the node of each field, -1 where the answer is not ok
    got_classes: Points32  # squashed, three an answer
    class_matches: Bytes  # how each class matches the expected one: a row a class
    got_lists: dict[str, Items]
    list_matches: dict[str, ListMatch]
    evidence: Strings
    evidence_hits: KeywordHits
    contexts: Contexts
    context: Ints  # which of the contexts each answer has
    refs: Refs


def measure(prepared: Prepared, batch: pa.RecordBatch) -> Measured:
    """Every comparison of a batch of answers; of an answer whose schema is wrong nothing is compared."""
    params = prepared.params
    question = batch.column("question").to_numpy()
    parsed = json_objects.read_objects(batch.column("output"), params["json_mode"] == "lenient")
    tape = parsed.tape
    root = np.where(parsed.usable, tape.root, -1).astype(np.int32)
    nodes = tape.members(root, list(FIELDS))
    reason, detail, ok = check_schema(parsed, tape.kinds(nodes))
    nodes = np.where(ok[:, None], nodes, -1).astype(np.int32)
    field = {name: nodes[:, k].copy() for k, name in enumerate(FIELDS)}
    got_classes = squashed_values(tape, nodes[:, : len(CLASSES)].ravel(), params["unicode_form"])
    got_lists = {
        name: got_items(tape, field[name], params[cap], params["unicode_form"])
        for name, cap in zip(LISTS, ("description_cap", "questions_cap"), strict=True)
    }
    evidence = tape.texts(field["original_evidence"])
    contexts, context = prepared.contexts.with_rows(question, batch.column("chunks"))
    refs = find_refs(tape, field["source_map"], contexts, context, params)
    strange = strange_maps(tape, field["source_map"], refs)
    if (unread := (strange >= 0) & (reason == json_objects.NO_REASON)).any():
        reason[unread] = WRONG_SHAPE
        detail = pc.coalesce(_SHAPES.take(pa.array(strange, mask=~unread)), detail)
    return Measured(
        question=question,
        parsed=parsed,
        reason=reason,
        detail=detail,
        ok=ok,
        field=field,
        got_classes=got_classes,
        class_matches=match_classes(prepared, question, got_classes),
        got_lists=got_lists,
        list_matches={name: match_lists(prepared, name, question, got) for name, got in got_lists.items()},
        evidence=evidence,
        evidence_hits=prepared.evidence.hits(question, evidence),
        contexts=contexts,
        context=context,
        refs=refs,
    )


_SHAPES = pa.array(
    [
        json_objects.shape_detail(
            "source_map", "objects without such refs" if word == "objects" else word, WANTED_SHAPE
        )
        for word in ELEMENT_WORDS
    ],
    LARGE_STRING,
)


def score(prepared: Prepared, batch: pa.RecordBatch) -> Scored:
    """Every column of page order for a batch of answers; rows with a reason that fails have null sub-scores."""
    measured = measure(prepared, batch)
    ok = measured.ok
    classes = (measured.class_matches != kernels.UNMATCHED).astype(np.float64)
    values: dict[str, Any] = dict(zip(CLASSES, classes, strict=True))
    for name, match in measured.list_matches.items():
        values.update(_list_scores(name, match))
    values.update(_evidence(prepared, measured))
    values.update(_grounding(measured.refs, len(ok)))
    values["score"] = np.where(ok, _total(values, prepared.params), 0.0)

    columns = {name: _typed(name, value, ok) for name, value in values.items()}
    columns["score"] = pa.array(values["score"])
    columns["schema_ok"] = pa.array(ok)
    columns["repaired"] = pa.array(measured.parsed.repaired & ok)
    columns["fail_reason"] = json_objects.reason_names(measured.reason)
    columns["fail_detail"] = measured.detail
    columns["context_missing"] = pa.array(~measured.contexts.present[measured.context])
    wrong = {name: measured.field[name][ok & (values[name] == 0.0)] for name in CLASSES}
    return Scored(columns, _tallies(prepared, measured, wrong))


_TYPE_OF = {column.name: column.type for column in COLUMNS}


def _typed(name: str, value: Any, ok: Flags) -> pa.Array:
    return pa.array(value, _TYPE_OF[name], mask=None if ok.all() else ~ok)


# --- schema -------------------------------------------------------------------------------------------------------


def check_schema(parsed: ParsedObjects, kinds: npt.NDArray[np.int16]) -> tuple[json_objects.Reasons, pa.Array, Flags]:
    """(reason, fields that are absent or of another type, schema_ok) of each answer; a mended answer may be ok."""
    absent = (kinds < 0) & parsed.usable[:, None]
    other: Flags = (kinds >= 0) & (kinds != TYPES)
    lacks: Flags = np.logical_or.reduce(absent, axis=1)
    differs: Flags = np.logical_or.reduce(other, axis=1)
    reason = parsed.reason.copy()
    reason[lacks] = MISSING_FIELD
    reason[differs & ~lacks] = WRONG_TYPE
    ok = parsed.usable & ~lacks & ~differs
    bits = 1 << np.arange(len(FIELDS))
    named = np.where(lacks[:, None], absent, other) @ bits
    names = pa.array([_named(mask) for mask in range(1 << len(FIELDS))], LARGE_STRING)
    return reason, names.take(pa.array(named)), ok


def _named(mask: int) -> str | None:
    return ", ".join(name for k, name in enumerate(FIELDS) if mask >> k & 1) or None


# --- classes and lists ----------------------------------------------------------------------------------------------


def match_classes(prepared: Prepared, question: Ints, got: Points32) -> Bytes:
    """How each class field matches the expected one, a row a field; `got` has the classes of each answer in a row."""
    params = prepared.params
    width = len(CLASSES)
    rows = np.arange(len(question) * width, dtype=np.int32)
    expected = (question[:, None] * width + np.arange(width, dtype=np.int32)).ravel().astype(np.int32)
    pairs = kernels.match_pairs(
        prepared.classes, prepared.class_grams, expected, expected + np.int32(1),
        got, rows, rows + np.int32(1),
        params["soft_threshold"] - TOLERANCE, params["containment_min"],
    )  # fmt: skip
    return pairs.how.reshape(-1, width).T


def squashed_values(tape: Tape, nodes: Ints, form: str) -> Points32:
    """What the soft match sees of values in an answer."""
    if form == "none":
        return tape.points(nodes)
    return kernels.squashed_points(text.unicode_form(tape.texts(nodes), form))


def got_items(tape: Tape, lists: Ints, cap: int, form: str) -> Items:
    """The first `cap` elements of each answer's list: strings, or their JSON text; null elements dropped."""
    nodes, owners = tape.elements(lists, cap)
    not_null = tape.kind[nodes] != NULL
    nodes, owners = nodes[not_null], owners[not_null]
    if len(owners) and (np.diff(owners) < 0).any():  # mended answers stand behind the others
        order = np.argsort(owners, kind="stable")
        nodes, owners = nodes[order], owners[order]
    odd = np.flatnonzero(tape.kind[nodes] != STRING)
    if not len(odd):
        return _items(squashed_values(tape, nodes, form), owners, len(lists))
    values = tape.texts(nodes).to_arrow().to_numpy(zero_copy_only=False).copy()
    values[odd] = [_canonical(raw) for raw in values[odd]]
    texts = text.unicode_form(from_arrow(pa.array(values, LARGE_STRING)), form)
    return _items(kernels.squashed_points(texts), owners, len(lists))


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


@dataclass(frozen=True)
class ListMatch:
    """The items of each answer's list against the expected ones: sizes, how every pair matches, and who has whom."""

    e_count: Ints
    g_count: Ints
    pairs: Pairs
    assignment: Assignment


def match_lists(prepared: Prepared, name: str, question: Ints, got: Items) -> ListMatch:
    """The match of a list that its recall and precision come from."""
    expected = prepared.lists[name]
    e_count, g_count = (expected.last - expected.first)[question], got.last - got.first
    pairs = _matching_pairs(prepared, name, question, got)
    one_to_one = prepared.params["list_match"] == "one_to_one"
    return ListMatch(e_count, g_count, pairs, kernels.assign(pairs, e_count, g_count, one_to_one))


def _matching_pairs(prepared: Prepared, name: str, question: Ints, got: Items) -> Pairs:
    params, expected = prepared.params, prepared.lists[name]
    first, last = expected.first[question], expected.last[question]
    by_distance = params["list_matcher"] == "indel"
    pairs = kernels.match_pairs(
        expected.points, prepared.list_grams[name], first, last,
        got.points, got.first, got.last,
        params["soft_threshold"] - TOLERANCE, params["containment_min"], by_distance,
    )  # fmt: skip
    return _add_indel(pairs, expected, first, got, params["indel_threshold"] - TOLERANCE) if by_distance else pairs


def _add_indel(pairs: Pairs, expected: Items, first: Ints, got: Items, threshold: float) -> Pairs:
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


def item_texts(points: Points32, which: npt.NDArray[np.int64]) -> list[str]:
    """Items as Python strings."""
    whole = points.points.tobytes().decode("utf-32-le")
    bounds = points.offsets.tolist()
    return [whole[bounds[k] : bounds[k + 1]] for k in which.tolist()]


def _list_scores(name: str, match: ListMatch) -> dict[str, Floats]:
    """Recall, precision and F1 of a list; two empty lists agree, so that all three are 1."""
    e_count, g_count = match.e_count, match.g_count
    both_empty = ((e_count == 0) & (g_count == 0)).astype(np.float64)
    recall = np.where(e_count > 0, match.assignment.e_matched / np.maximum(e_count, 1), both_empty)
    precision = np.where(g_count > 0, match.assignment.g_matched / np.maximum(g_count, 1), both_empty)
    total = recall + precision
    f1 = np.where(total > 0, 2 * precision * recall / np.where(total > 0, total, 1.0), 0.0)
    return {f"{name}_recall": recall, f"{name}_precision": precision, f"{name}_f1": f1}


# --- evidence and grounding -----------------------------------------------------------------------------------------


def _evidence(prepared: Prepared, measured: Measured) -> dict[str, Any]:
    hits, got = measured.evidence_hits.counts, measured.evidence
    full_hits, full_length = prepared.params["full_hits"], prepared.params["full_length"]
    length = kernels.collapsed_length(got.data, got.starts, got.ends, full_length)
    return {
        "evidence_keywords": prepared.evidence.counts[measured.question],
        "evidence_hits": hits,
        "original_evidence": np.minimum(1.0, hits / full_hits) * np.minimum(1.0, length / full_length),
    }


def _grounding(refs: Refs, rows: int) -> dict[str, Any]:
    """The refs of each answer that hold, of those that count; 0 where none counts."""
    total = np.bincount(refs.row, minlength=rows)
    held = np.bincount(refs.row[refs.why < 0], minlength=rows)
    share = np.where(total > 0, held / np.maximum(total, 1), 0.0)
    return {"grounding_ok_refs": held, "grounding_total_refs": total, "grounding": share}


# --- total and tallies ----------------------------------------------------------------------------------------------

WEIGHED = (
    ("w_target_audience", "target_audience"),
    ("w_main_topic", "main_topic"),
    ("w_sub_topic", "sub_topic"),
    ("w_detailed_description", "detailed_description_f1"),
    ("w_original_evidence", "original_evidence"),
    ("w_predicted_questions", "predicted_questions_f1"),
    ("w_grounding", "grounding"),
)


def _total(values: dict[str, Any], params: Params) -> Floats:
    total: Floats = params[WEIGHED[0][0]] * values[WEIGHED[0][1]]
    for weight, name in WEIGHED[1:]:  # one after the other: the order of the sum is part of the score
        total = total + params[weight] * values[name]
    return 100.0 * np.clip(total, 0.0, 1.0)


def _tallies(prepared: Prepared, measured: Measured, wrong: dict[str, Ints]) -> pa.Table:
    """Confused classes (got, expected) and refs that do not hold (why), one line an occurrence."""
    tape, refs = measured.parsed.tape, measured.refs
    parts = []
    for name, nodes in wrong.items():
        row = tape.row[nodes]
        got = pc.utf8_slice_codeunits(tape.texts(nodes).to_arrow(), 0, SHOWN_CHARACTERS)
        expected = prepared.expected_classes[name].take(pa.array(measured.question[row]))
        parts.append(_tally(row, name, got, expected))
    ungrounded = refs.why >= 0
    why = pa.array(UNGROUNDED, LARGE_STRING).take(pa.array(refs.why[ungrounded]))
    parts.append(_tally(refs.row[ungrounded], "ungrounded", why, pa.nulls(len(why), LARGE_STRING)))
    return pa.concat_tables(parts)


def _tally(row: Ints, kind: str, got: pa.Array, expected: pa.Array) -> pa.Table:
    kinds = pa.repeat(pa.scalar(kind, LARGE_STRING), len(row))
    ones = pa.array(np.ones(len(row), np.int64))
    return pa.table({"row": pa.array(row), "kind": kinds, "got": got, "expected": expected, "n": ones})


def missing_columns(prepared: Prepared, question: Ints) -> dict[str, pa.Array]:
    """An unanswered question: score 0, and whether it had context all the same."""
    count = len(question)
    return {
        "score": pa.array(np.zeros(count)),
        "schema_ok": pa.array(np.zeros(count, np.bool_)),
        "repaired": pa.array(np.zeros(count, np.bool_)),
        "fail_reason": pa.repeat(pa.scalar(json_objects.REASONS[json_objects.MISSING_OUTPUT], LARGE_STRING), count),
        "context_missing": pa.array(~prepared.contexts.present[question]),
    }
