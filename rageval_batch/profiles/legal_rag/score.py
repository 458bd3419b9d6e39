"""`legal_rag`: exact facts, sets of evidence, and gaps where the right answer is to say so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, replace
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch.columnar import json_objects
from rageval_batch.columnar.strings import LARGE_STRING, Flags, Floats, Ints
from rageval_batch.columnar.tolerance import TOLERANCE
from rageval_batch.columnar.values import Reader, lexicon
from rageval_batch.columnar.values.columns import ColumnReader
from rageval_batch.dataclass import dataclass
from rageval_batch.model import EvalSet, Params, Scored
from rageval_batch.profiles.legal_rag import evidence, gaps
from rageval_batch.profiles.legal_rag.declaration import COLUMNS, LIST_PARAMS
from rageval_batch.profiles.legal_rag.facts import Facts, Match, Tolerances
from rageval_batch.profiles.legal_rag.outputs import Items, Outputs, joined
from rageval_batch.profiles.legal_rag.questions import (
    EVIDENCE,
    FACT,
    GAP,
    NAMES,
    TYPES,
    Question,
    read_questions,
)
from rageval_batch.profiles.legal_rag.texts import ENTITY, TEXTS, ExpectedField, expected_field, given_texts

Rows = npt.NDArray[np.int64]
SHOWN_CHARACTERS = 120  # of a wrong value, in the tallies


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """The questions of an eval set, worked out once."""

    params: Params
    reader: Reader
    columns: ColumnReader
    questions: tuple[Question, ...]
    facts: Facts
    expected: dict[str, ExpectedField]
    entries: evidence.Entries
    quotes: gaps.Quotes
    type: Ints
    settings: QuestionSettings
    question_columns: dict[str, pa.Array]  # those that the question alone decides


@dataclass(frozen=True, kw_only=True)
class QuestionSettings:
    """Settings of all questions, by their index."""

    citation_required: Flags
    count_min: Floats
    recall_min: Floats
    precision_min: Floats
    should_abstain: Flags
    penalty: Floats
    has_quotes: Flags


def _settings(questions: Sequence[Question]) -> QuestionSettings:
    def of(value: Callable[[Question], float], kind: type) -> npt.NDArray[Any]:
        return np.array([value(question) for question in questions], kind)

    return QuestionSettings(
        citation_required=of(lambda one: one.citation_required, np.bool_),
        count_min=of(lambda one: one.count_min, np.float64),
        recall_min=of(lambda one: one.recall_min, np.float64),
        precision_min=of(lambda one: one.precision_min, np.float64),
        should_abstain=of(lambda one: one.should_abstain, np.bool_),
        penalty=of(lambda one: one.penalty, np.float64),
        has_quotes=of(lambda one: bool(one.quotes), np.bool_),
    )


def prepare(eval_set: EvalSet, params: Params) -> Prepared:
    """The expected side; InputError for a question of unknown type."""
    lists = lexicon(**{name.removeprefix("more_"): _split_phrases(params[name]) for name in LIST_PARAMS})
    reader = Reader(lists, decimal_mark=params["decimal_mark"], date_order=params["date_order"])
    questions = read_questions(eval_set, reader)
    tolerances = Tolerances(Decimal(str(params["numeric_tolerance"])), params["date_tolerance_days"])
    types = np.array([question.type for question in questions], np.int32)
    question_columns = {
        "question_type": pa.array([TYPES[kind] for kind in types], LARGE_STRING),
        "difficulty": pa.array([question.difficulty for question in questions], LARGE_STRING),
        "category": pa.array([question.category for question in questions], LARGE_STRING),
        "tags": pa.array([list(question.tags) for question in questions], pa.list_(LARGE_STRING)),
    }
    return Prepared(
        params=params,
        reader=reader,
        columns=ColumnReader(reader),
        questions=questions,
        facts=Facts(reader, tolerances),
        expected={field: expected_field(questions, field) for field in NAMES},
        entries=evidence.entries_of(questions),
        quotes=gaps.quotes_of(questions),
        type=types,
        settings=_settings(questions),
        question_columns=question_columns,
    )


def _split_phrases(given: str) -> list[str]:
    """The phrases of a parameter, | between them; blank ones are none."""
    return [part.strip() for part in given.split("|") if part.strip()]


class Cells:
    """Columns under construction: values are put for some rows at a time, and rows without a value are null."""

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._values: dict[str, npt.NDArray[Any]] = {}
        self._there: dict[str, Flags] = {}

    def put(self, name: str, rows: Rows, values: npt.NDArray[Any]) -> None:
        if name not in self._values:
            self._values[name] = np.zeros(self._rows, values.dtype)
            self._there[name] = np.zeros(self._rows, np.bool_)
        self._values[name][rows] = values
        self._there[name][rows] = True

    def column(self, name: str, type_: pa.DataType) -> pa.Array:
        if name not in self._values:
            return pa.nulls(self._rows, type_)
        return pa.array(self._values[name], mask=~self._there[name]).cast(type_)


@dataclass(frozen=True)
class Verdicts:
    """The verdicts on a field: the distinct ones, and which of them each of the rows has."""

    rows: Rows
    distinct: list[Match]
    which: Rows


@dataclass(frozen=True)
class FactChecks:
    """What was judged of fact_exact: the verdicts on every expected field, and the items that cite evidence."""

    verdicts: dict[str, Verdicts]
    items: Items
    pairs: evidence.Pairs


@dataclass(frozen=True)
class EvidenceChecks:
    """What was judged of evidence_set: the distinct items, what they cover, and which cover anything."""

    items: Items
    required_pairs: evidence.Pairs
    point_pairs: evidence.Pairs
    _: KW_ONLY
    relevant: Flags


@dataclass(frozen=True)
class GapChecks:
    """What was judged of conflict_gap: abstention and inventions of each of the rows, quotes and specifics found."""

    rows: Rows
    abstained: Flags
    quotes: gaps.QuoteHits
    _: KW_ONLY
    stated: gaps.Stated
    invented: Rows  # places in what is stated
    inventions: npt.NDArray[np.int64]  # at least 1 where the answer neither abstains as it should nor quotes the record


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A batch of outputs judged: columns, tallies and explanations are all made from this."""

    question: Ints
    outputs: Outputs
    total: npt.NDArray[np.float64]
    cells: Cells
    tallies: list[pa.Table]
    facts: FactChecks | None = None  # None where the batch has no such question with an answer
    evidence: EvidenceChecks | None = None
    gaps: GapChecks | None = None


def measure(prepared: Prepared, batch: pa.RecordBatch) -> Measured:
    """Every judgement of a batch of outputs by the type of their questions; an empty output is not judged."""
    question = batch.column("question").to_numpy()
    outputs = Outputs(batch.column("output"), prepared.columns, prepared.entries.labels)
    measured = Measured(
        question=question, outputs=outputs, total=np.zeros(len(question)), cells=Cells(len(question)), tallies=[]
    )
    rows = {kind: np.flatnonzero((prepared.type[question] == kind) & ~outputs.empty) for kind in (FACT, EVIDENCE, GAP)}
    return replace(
        measured,
        facts=_fact_exact(prepared, measured, rows[FACT]) if len(rows[FACT]) else None,
        evidence=_evidence_set(prepared, measured, rows[EVIDENCE]) if len(rows[EVIDENCE]) else None,
        gaps=_conflict_gap(prepared, measured, rows[GAP]) if len(rows[GAP]) else None,
    )


def score(prepared: Prepared, batch: pa.RecordBatch) -> Scored:
    """Every column for a batch of answers; the columns of other types are null, all of an empty answer's are."""
    measured = measure(prepared, batch)
    empty, total = measured.outputs.empty, measured.total
    columns = {column.name: measured.cells.column(column.name, column.type) for column in COLUMNS}
    columns.update(
        {name: values.take(pa.array(measured.question)) for name, values in prepared.question_columns.items()}
    )
    columns["score"] = pa.array(total)
    columns["passed"] = pa.array((total >= prepared.params["pass_score"] - TOLERANCE) & ~empty)
    reason = np.where(empty, json_objects.EMPTY_OUTPUT, json_objects.NO_REASON).astype(np.int8)
    columns["fail_reason"] = json_objects.reason_names(reason)
    return Scored(columns, pa.concat_tables(measured.tallies) if measured.tallies else None)


# --- fact_exact -----------------------------------------------------------------------------------------------------


def _fact_exact(prepared: Prepared, measured: Measured, rows: Rows) -> FactChecks:
    """0.7 · exact_match + 0.3 · citation_correctness"""
    question, outputs = measured.question, measured.outputs
    exact = np.ones(len(question), np.bool_)
    verdicts: dict[str, Verdicts] = {}
    for field, expected in prepared.expected.items():
        judged = rows[expected.there[question[rows]]]
        if len(judged):
            found = _judged(prepared, question, outputs, rows=judged, field=field)
            right = np.array([match.matched for match in found.distinct], np.bool_)[found.which]
            exact[judged] &= right
            measured.tallies.append(_wrong(expected, question, found, rows=np.flatnonzero(~right), field=field))
            verdicts[field] = found
    items = joined(outputs.citations, outputs.evidence)
    items = items.take(np.flatnonzero(prepared.type[question[items.row]] == FACT))
    checks = FactChecks(verdicts, items, evidence.required_pairs(prepared.entries, question, items))
    exact_match = exact[rows].astype(np.float64)
    citation = _citation_correctness(prepared, measured, rows, checks=checks)
    measured.cells.put("exact_match", rows, exact_match)
    measured.cells.put("citation_correctness", rows, citation)
    measured.total[rows] = 0.7 * exact_match + 0.3 * citation
    return checks


def _judged(prepared: Prepared, question: Ints, outputs: Outputs, *, rows: Rows, field: str) -> Verdicts:
    """Every distinct question and value is judged once: a value of the field, or behind all of those an answer."""
    given = outputs.field(NAMES[field])
    value = given.code[rows]
    count = len(given.values)
    source = np.where(value < 0, count + outputs.answer.code[rows], value)
    width = count + len(outputs.answer.values)
    distinct, which = np.unique(question[rows].astype(np.int64) * width + source, return_inverse=True)
    asked, source = np.divmod(distinct, width)
    if field in TEXTS:
        texts = given_texts(outputs, given)
        return Verdicts(rows, texts.matches(prepared.expected[field], asked, source, entity=field == ENTITY), which)
    nothing, read = prepared.reader.read(""), outputs.answer.values
    matches = [
        prepared.facts.judge(prepared.questions[q], field, given.values[s], answer=nothing)
        if s < count
        else prepared.facts.judge(prepared.questions[q], field, None, answer=read[s - count])
        for q, s in zip(asked.tolist(), source.tolist(), strict=True)
    ]
    return Verdicts(rows, matches, which)


def _citation_correctness(
    prepared: Prepared, measured: Measured, rows: Rows, *, checks: FactChecks
) -> npt.NDArray[np.float64]:
    """The share of critical evidence that is cited; 1 where nothing need be cited and nothing is."""
    entries, items, question = prepared.entries, checks.items, measured.question
    cited = evidence.covered(entries.bounds, entries.critical, question, items=items, pairs=checks.pairs)[rows]
    critical = evidence.sums(entries.bounds, entries.critical)[question[rows]]
    there = np.bincount(items.row, minlength=len(question))[rows] > 0
    free = ~prepared.settings.citation_required[question[rows]] & ~there
    counted = ~free & (critical > 0)
    measured.cells.put("critical_cited", rows[counted], cited[counted])
    measured.cells.put("critical_count", rows[counted], critical[counted])
    return np.where(free, 1.0, np.where(critical > 0, cited / np.maximum(critical, 1), there.astype(np.float64)))


# --- evidence_set ---------------------------------------------------------------------------------------------------


def _evidence_set(prepared: Prepared, measured: Measured, rows: Rows) -> EvidenceChecks:
    """0.5 · [recall ≥ min] + 0.3 · [precision ≥ min] + 0.2 · [citation provided]"""
    question, outputs, entries = measured.question, measured.outputs, prepared.entries
    row_question, count = question[rows], len(question)
    of_type = prepared.type[question] == EVIDENCE
    cited, given = (items.take(np.flatnonzero(of_type[items.row])) for items in (outputs.citations, outputs.evidence))
    items = evidence.retrieved(given, cited, count)
    by_text = evidence.required_pairs(entries, question, items)
    by_point = evidence.point_pairs(entries, question, items, share=prepared.params["key_point_recall"])
    every_point = np.ones(int(entries.point_bounds[-1]), np.bool_)
    has_required = np.diff(entries.bounds)[row_question] > 0
    covered = np.where(
        has_required,
        evidence.covered(entries.bounds, entries.critical, question, items=items, pairs=by_text)[rows],
        evidence.covered(entries.point_bounds, every_point, question, items=items, pairs=by_point)[rows],
    )
    expected = np.where(
        has_required,
        evidence.sums(entries.bounds, entries.critical)[row_question],
        np.diff(entries.point_bounds)[row_question],
    )
    recall = np.where(expected > 0, covered / np.maximum(expected, 1), 1.0)
    is_relevant = by_text.items(len(items)) | by_point.items(len(items))
    retrieved = np.bincount(items.row, minlength=count)[rows]
    relevant = np.bincount(items.row[is_relevant], minlength=count)[rows]
    precision = np.where(retrieved > 0, relevant / np.maximum(retrieved, 1), 0.0)
    paged = np.zeros(count, np.bool_)
    for part in (cited, given):
        paged[part.row[part.page >= 0]] = True
    provided = paged[rows] | ~prepared.settings.citation_required[row_question]
    enough = relevant >= prepared.settings.count_min[row_question] - TOLERANCE
    recalled = enough & (recall >= prepared.settings.recall_min[row_question] - TOLERANCE)
    precise = precision >= prepared.settings.precision_min[row_question] - TOLERANCE
    for name, values in (
        ("evidence_recall", recall), ("evidence_precision", precision), ("citation_provided", provided),
        ("key_covered", covered), ("key_count", expected), ("relevant_items", relevant),
        ("retrieved_items", retrieved),
    ):  # fmt: skip
        measured.cells.put(name, rows, values)
    measured.total[rows] = 0.5 * recalled + 0.3 * precise + 0.2 * provided
    return EvidenceChecks(items, by_text, by_point, relevant=is_relevant)


# --- conflict_gap ---------------------------------------------------------------------------------------------------


def _conflict_gap(prepared: Prepared, measured: Measured, rows: Rows) -> GapChecks:
    """0.4 · correct_abstention + 0.4 · no_hallucination + 0.2 · quote_included"""
    question, outputs = measured.question, measured.outputs
    row_question = question[rows]
    should = prepared.settings.should_abstain[row_question]
    abstained = gaps.abstained(outputs, rows, prepared.reader)
    quotes = gaps.find_quotes(outputs, rows, question, quotes=prepared.quotes)
    quoted = quotes.rows(len(question))[rows]
    stated = gaps.stated(outputs, rows, prepared.reader)
    places = gaps.inventions(stated, question, prepared.questions)
    measured.tallies.append(_invented(stated, places))
    invented = np.bincount(stated.row[places], minlength=len(question))[rows]
    invented = np.where(should & ~abstained & ~quoted, np.maximum(invented, 1), invented)
    no_hallucination = np.maximum(0.0, 1 - invented * prepared.settings.penalty[row_question])
    correct = abstained == should
    included = quoted | ~prepared.settings.has_quotes[row_question]
    for name, values in (
        ("abstained", abstained), ("correct_abstention", correct), ("no_hallucination", no_hallucination),
        ("inventions", invented), ("quote_included", included),
    ):  # fmt: skip
        measured.cells.put(name, rows, values)
    measured.total[rows] = 0.4 * correct + 0.4 * no_hallucination + 0.2 * included
    return GapChecks(
        rows=rows,
        abstained=abstained,
        quotes=quotes,
        stated=stated,
        invented=places,
        inventions=invented,
    )


# --- what is counted beside the scores ------------------------------------------------------------------------------


def _tally(row: Rows, kind: str, got: pa.Array, *, expected: pa.Array) -> pa.Table:
    return pa.table(
        {
            "row": pa.array(row.astype(np.int32)),
            "kind": pa.repeat(pa.scalar(kind, LARGE_STRING), len(row)),
            "got": pc.utf8_slice_codeunits(got, 0, SHOWN_CHARACTERS),
            "expected": pc.utf8_slice_codeunits(expected, 0, SHOWN_CHARACTERS),
            "n": pa.array(np.ones(len(row), np.int64)),
        }
    )


def _wrong(expected: ExpectedField, question: Ints, found: Verdicts, *, rows: Rows, field: str) -> pa.Table:
    """The verdicts on some of the rows as tallies."""
    wrong = found.rows[rows]
    got = pa.array([match.got for match in found.distinct], LARGE_STRING).take(pa.array(found.which[rows]))
    return _tally(wrong, field, got, expected=expected.texts.take(pa.array(question[wrong])))


def _invented(stated: gaps.Stated, places: Rows) -> pa.Table:
    shown = pa.array([f"{one.kind} {one.shown}" for one in stated.table], LARGE_STRING)
    found = shown.take(pa.array(stated.specific[places]))
    return _tally(stated.row[places], "invention", found, expected=pa.nulls(len(places), LARGE_STRING))


def missing_columns(prepared: Prepared, question: Ints) -> dict[str, pa.Array]:
    """An unanswered question: score 0, not passed, and what the question says of itself."""
    count = len(question)
    return {
        **{name: values.take(pa.array(question)) for name, values in prepared.question_columns.items()},
        "score": pa.array(np.zeros(count)),
        "passed": pa.array(np.zeros(count, np.bool_)),
        "fail_reason": pa.repeat(pa.scalar(json_objects.REASONS[json_objects.MISSING_OUTPUT], LARGE_STRING), count),
    }
