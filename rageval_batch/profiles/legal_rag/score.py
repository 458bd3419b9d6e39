"""`legal_rag`: exact facts, sets of evidence, and gaps where the right answer is to say so."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rageval_batch.columnar import json_objects, text
from rageval_batch.columnar.statistics import TOLERANCE
from rageval_batch.columnar.strings import LARGE_STRING, Flags, Ints
from rageval_batch.columnar.values import Reader, lexicon
from rageval_batch.columnar.values.columns import ColumnReader
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
    entries: evidence.Entries
    type: Ints
    question_columns: dict[str, pa.Array]  # those that the question alone decides

    def of(self, value: Callable[[Question], Any]) -> npt.NDArray[Any]:
        """Something of every question as an array."""
        return np.array([value(question) for question in self.questions])


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
    facts = Facts(reader, tolerances, _soft_match)
    return Prepared(
        params=params,
        reader=reader,
        columns=ColumnReader(reader),
        questions=questions,
        facts=facts,
        entries=evidence.entries_of(questions),
        type=types,
        question_columns=question_columns,
    )


def _split_phrases(given: str) -> list[str]:
    """The phrases of a parameter, | between them; blank ones are none."""
    return [part.strip() for part in given.split("|") if part.strip()]


def _soft_match(expected: str, got: str) -> bool:
    return bool(text.soft_match(pa.array([expected], LARGE_STRING), pa.array([got], LARGE_STRING))[0].as_py())


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
    invented: tuple[Rows, Rows]  # (row, specific)
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
    for field in NAMES:
        expects = np.array([field in one.expected for one in prepared.questions], np.bool_)
        judged = rows[expects[question[rows]]]
        if len(judged):
            matches, which = _judged(prepared, question, outputs, rows=judged, field=field)
            right = np.array([match.matched for match in matches], np.bool_)[which]
            exact[judged] &= right
            wrong = [matches[k] for k in which[~right]]
            measured.tallies.append(_wrong(prepared, question, judged[~right], field=field, matches=wrong))
            verdicts[field] = Verdicts(judged, matches, which)
    items = joined(outputs.citations, outputs.evidence)
    items = items.take(np.flatnonzero(prepared.type[question[items.row]] == FACT))
    checks = FactChecks(verdicts, items, evidence.required_pairs(prepared.entries, question, items))
    exact_match = exact[rows].astype(np.float64)
    citation = _citation_correctness(prepared, measured, rows, checks=checks)
    measured.cells.put("exact_match", rows, exact_match)
    measured.cells.put("citation_correctness", rows, citation)
    measured.total[rows] = 0.7 * exact_match + 0.3 * citation
    return checks


def _judged(
    prepared: Prepared, question: Ints, outputs: Outputs, *, rows: Rows, field: str
) -> tuple[list[Match], npt.NDArray[np.int64]]:
    """(verdicts, which of them each row has): every distinct question and value is judged once."""
    given = outputs.field(NAMES[field])
    value = given.code[rows]
    answer = np.where(value < 0, outputs.answer.code[rows], -1)
    keys = np.stack([question[rows].astype(np.int64), value, answer], axis=1)
    distinct, which = np.unique(keys, axis=0, return_inverse=True)
    read = outputs.answer.values
    nothing = prepared.reader.read("")
    to_judge = [
        (prepared.questions[q], given.values[v] if v >= 0 else None, read[a] if a >= 0 else nothing)
        for q, v, a in distinct.tolist()
    ]
    facts = _with_soft_matches(prepared.facts, to_judge) if field == "text_answer" else prepared.facts
    return [facts.judge(one, field, value, answer=reading) for one, value, reading in to_judge], which.ravel()


def _with_soft_matches(facts: Facts, to_judge: Iterable[tuple[Question, Any, Any]]) -> Facts:
    """The same judge with the soft matches of many texts worked out at once."""
    pairs = list(dict.fromkeys(facts.texts(*one) for one in to_judge))
    expected, got = (pa.array([pair[k] for pair in pairs], LARGE_STRING) for k in range(2))
    matches = dict(zip(pairs, text.soft_match(expected, got).to_pylist(), strict=True))
    return replace(facts, soft_match=lambda one, other: matches[one, other])


def _citation_correctness(
    prepared: Prepared, measured: Measured, rows: Rows, *, checks: FactChecks
) -> npt.NDArray[np.float64]:
    """The share of critical evidence that is cited; 1 where nothing need be cited and nothing is."""
    entries, items, question = prepared.entries, checks.items, measured.question
    cited = evidence.covered(entries.bounds, entries.critical, question, items=items, pairs=checks.pairs)[rows]
    critical = evidence.sums(entries.bounds, entries.critical)[question[rows]]
    there = np.bincount(items.row, minlength=len(question))[rows] > 0
    free = ~prepared.of(lambda one: one.citation_required)[question[rows]] & ~there
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
    provided = paged[rows] | ~prepared.of(lambda one: one.citation_required)[row_question]
    enough = relevant >= prepared.of(lambda one: one.count_min)[row_question] - TOLERANCE
    recalled = enough & (recall >= prepared.of(lambda one: one.recall_min)[row_question] - TOLERANCE)
    precise = precision >= prepared.of(lambda one: one.precision_min)[row_question] - TOLERANCE
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
    should = prepared.of(lambda one: one.should_abstain)[row_question]
    abstained = gaps.abstained(outputs, rows, prepared.reader)
    quotes = gaps.find_quotes(outputs, rows, question, questions=prepared.questions)
    quoted = quotes.rows(len(question))[rows]
    stated = gaps.stated(outputs, rows, prepared.reader)
    row, specific = gaps.inventions(stated, question, prepared.questions)
    measured.tallies.append(_invented(row, [stated.table[k] for k in specific]))
    invented = np.bincount(row, minlength=len(question))[rows]
    invented = np.where(should & ~abstained & ~quoted, np.maximum(invented, 1), invented)
    no_hallucination = np.maximum(0.0, 1 - invented * prepared.of(lambda one: one.penalty)[row_question])
    correct = abstained == should
    included = quoted | ~prepared.of(lambda one: bool(one.quotes))[row_question]
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
        invented=(row, specific),
        inventions=invented,
    )


# --- what is counted beside the scores ------------------------------------------------------------------------------


def _tally(row: Rows, kind: str, got: list[str | None], *, expected: list[str | None]) -> pa.Table:
    return pa.table(
        {
            "row": pa.array(row.astype(np.int32)),
            "kind": pa.repeat(pa.scalar(kind, LARGE_STRING), len(row)),
            "got": pa.array([None if one is None else one[:SHOWN_CHARACTERS] for one in got], LARGE_STRING),
            "expected": pa.array([None if one is None else one[:SHOWN_CHARACTERS] for one in expected], LARGE_STRING),
            "n": pa.array(np.ones(len(row), np.int64)),
        }
    )


def _wrong(prepared: Prepared, question: Ints, rows: Rows, *, field: str, matches: list[Match]) -> pa.Table:
    expected = [prepared.questions[q].expected_text(field) for q in question[rows].tolist()]
    return _tally(rows, field, [match.got for match in matches], expected=list(expected))


def _invented(rows: Rows, found: list[gaps.Specific]) -> pa.Table:
    return _tally(rows, "invention", [f"{one.kind} {one.shown}" for one in found], expected=[None] * len(found))


def missing_columns(prepared: Prepared, question: Ints) -> dict[str, pa.Array]:
    """An unanswered question: score 0, not passed, and what the question says of itself."""
    count = len(question)
    return {
        **{name: values.take(pa.array(question)) for name, values in prepared.question_columns.items()},
        "score": pa.array(np.zeros(count)),
        "passed": pa.array(np.zeros(count, np.bool_)),
        "fail_reason": pa.repeat(pa.scalar(json_objects.REASONS[json_objects.MISSING_OUTPUT], LARGE_STRING), count),
    }
