"""`claim_evidence`: claims with their evidence, citations, entities, stages, rankings and contradictions."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch.columnar import json_objects
from rageval_batch.columnar.json_numbers import value_text
from rageval_batch.columnar.json_objects import MISSING_FIELD, MISSING_OUTPUT, WRONG_SHAPE, shape_detail
from rageval_batch.columnar.json_tape import Tape
from rageval_batch.columnar.json_values import (
    ELEMENT_WORDS,
    Coded,
    coded,
    filled_texts,
    ids,
    kinds_without_objects,
    labels,
    members,
    new_in_row,
    objects,
)
from rageval_batch.columnar.strings import LARGE_STRING, Flags, Ints, Offsets, bounds_by_owner, bounds_of
from rageval_batch.columnar.tolerance import TOLERANCE
from rageval_batch.dataclass import dataclass
from rageval_batch.model import BATCH, EvalSet, Gate, Params, Scored
from rageval_batch.profiles.claim_evidence import tasks
from rageval_batch.profiles.claim_evidence.claims import WHY, Claims, read_claims
from rageval_batch.profiles.claim_evidence.declaration import (
    CLAIM_SHAPE,
    COLUMNS,
    FIELDS,
    GAIN,
    ROW_RULES,
    gain_column,
)
from rageval_batch.profiles.claim_evidence.entities import EntityIndex
from rageval_batch.profiles.claim_evidence.rankings import GoldPairs, GradedIds
from rageval_batch.profiles.claim_evidence.stages import Stages, read_stages

Numbers = npt.NDArray[Any]
SHOWN_CHARACTERS = 120  # of a stage's name, in the tallies
Cells = dict[str, tuple[Numbers, Flags]]  # a column: its values, and where there is one


# --- the gold tasks -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """What the tasks of an eval set expect, worked out once."""

    params: Params
    category: pa.Array
    entities: EntityIndex
    min_citations: npt.NDArray[np.float64]  # NaN where the task says none
    ranking: GradedIds
    graded: list[dict[str, float]]
    contradictions: GoldPairs


def prepare(eval_set: EvalSet, params: Params) -> Prepared:
    """Entities, grades and pairs of all tasks."""
    given = eval_set.objects
    graded = [tasks.grades(task.get("gold_ranking", [])) for task in given]
    categories = [task.get("category") for task in given]
    return Prepared(
        params=params,
        category=pa.array([(None if name is None else value_text(name)) or None for name in categories], LARGE_STRING),
        entities=EntityIndex([task.get("expected_entities", []) for task in given]),
        min_citations=np.array([task.get("min_citations", math.nan) for task in given], np.float64),
        ranking=GradedIds(graded, params["ndcg_k"]),
        graded=graded,
        contradictions=GoldPairs([tasks.contradicting(task.get("gold_contradictions", [])) for task in given]),
    )


# --- the answers ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AnswerFields:
    """The known fields of a batch of answers as nodes (-1: none of its type), and which answers can be used."""

    tape: Tape
    reason: json_objects.Reasons
    detail: pa.Array
    _: KW_ONLY
    ok: Flags
    field: dict[str, Ints]


def read_fields(batch: pa.RecordBatch) -> AnswerFields:
    """The answers of a batch; one that has none of the fields, each of its type, cannot be used, nor one whose claims
    are a list without any object."""
    parsed = json_objects.read_objects(batch.column("output"), lenient=False)
    tape = parsed.tape
    nodes = members(tape, np.where(parsed.usable, tape.root, -1).astype(np.int32), *FIELDS)
    field = {
        name: np.where((tape.kinds(node) == kinds[0]) | (tape.kinds(node) == kinds[-1]), node, -1).astype(np.int32)
        for node, (name, kinds) in zip(nodes, FIELDS.items(), strict=True)
    }
    has_any: Flags = np.logical_or.reduce([node >= 0 for node in field.values()])
    reason = parsed.reason.copy()
    reason[parsed.usable & ~has_any] = MISSING_FIELD
    none = pa.scalar(None, LARGE_STRING)
    detail = pc.if_else(pa.array(reason == MISSING_FIELD), pa.scalar(", ".join(FIELDS), LARGE_STRING), none)
    kinds = kinds_without_objects(tape, field["claims"])
    ok: Flags = has_any & (kinds < 0)
    if (strange := kinds >= 0).any():
        found = pa.array([shape_detail("claims", word, CLAIM_SHAPE) for word in ELEMENT_WORDS], LARGE_STRING)
        reason[strange] = WRONG_SHAPE
        detail = pc.coalesce(found.take(pa.array(kinds, mask=~strange)), detail)
        field = {name: np.where(ok, node, -1).astype(np.int32) for name, node in field.items()}
    return AnswerFields(tape, reason, detail, ok=ok, field=field)


@dataclass(frozen=True)
class RowGate:
    """A gate of single rows: where it applies, and where it applies and holds."""

    gate: Gate
    applies: Flags
    holds: Flags


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A batch of answers compared with their tasks: columns, tallies and explanations are all made from this."""

    question: Ints
    fields: AnswerFields
    claims: Claims
    stages: Stages
    entities: EntityHits
    ranking: Ranking
    contradictions: Contradictions
    cells: Cells
    gates: tuple[RowGate, ...]


def measure(prepared: Prepared, batch: pa.RecordBatch) -> Measured:
    """Every comparison of a batch of answers; an answer that cannot be used has no claims, stages and so on."""
    question = batch.column("question").to_numpy()
    fields = read_fields(batch)
    claims = read_claims(fields.tape, fields.field["claims"], prepared.params["support_threshold"])
    stages = read_stages(fields.tape, fields.field["stages"])
    entities = find_entities(prepared, question, fields, claims=claims)
    ranking = read_ranking(fields)
    contradictions = find_contradictions(prepared, question, fields)
    cells: Cells = {
        **_claim_cells(fields, claims),
        **_citations(prepared, question, fields, claims=claims),
        **_entity_cells(entities),
        **_rate_cells("pipeline_completion", stages.completed, stages.expected),
        **_artifacts(fields, prepared.params["required_artifacts"]),
        **_ranking_cells(prepared, question, fields, ranking=ranking),
        **_contradiction_cells(prepared, question, fields, pairs=contradictions),
    }
    gates = tuple(_row_gate(gate, *cells[gate.metric]) for gate in ROW_RULES)
    cells["score"] = _share_of_gates(gates), np.ones(len(question), np.bool_)
    _unusable(cells, ~fields.ok, prepared.entities.counts[question])
    return Measured(
        question=question,
        fields=fields,
        claims=claims,
        stages=stages,
        entities=entities,
        ranking=ranking,
        contradictions=contradictions,
        cells=cells,
        gates=gates,
    )


def score(prepared: Prepared, batch: pa.RecordBatch) -> Scored:
    """Every column for a batch of answers; an answer that cannot be used has what counts as 0, all else null."""
    measured = measure(prepared, batch)
    fields, stages = measured.fields, measured.stages
    columns = {name: pa.array(values, _TYPE_OF[name], mask=~there) for name, (values, there) in measured.cells.items()}
    columns[gain_column(prepared.params)] = columns.pop(GAIN)
    columns["category"] = prepared.category.take(pa.array(measured.question))
    columns["fail_reason"] = json_objects.reason_names(fields.reason)
    columns["fail_detail"] = fields.detail
    columns["failed_stage"] = stages.failed()
    columns["answered"] = pa.array(fields.ok)
    return Scored(columns, _tallies(measured.claims, stages))


_TYPE_OF = {column.name: column.type for column in COLUMNS}


def _sum(row: Ints, count: int) -> npt.NDArray[np.int64]:
    """How often each row occurs."""
    return np.bincount(row, minlength=count)


def _rate_cells(name: str, num: Numbers, den: Numbers, *, applies: Flags | None = None) -> Cells:
    """A rate with its parts; null where nothing is counted, unless it applies all the same: then it is 0."""
    there = den > 0 if applies is None else applies
    share = np.where(den > 0, num / np.maximum(den, 1), 0.0)
    return {name: (share, there), f"{name}_num": (num, there), f"{name}_den": (den, there)}


def _claim_cells(fields: AnswerFields, claims: Claims) -> Cells:
    rows, counted = len(fields.ok), ~claims.log
    total = _sum(claims.row[counted], rows)
    bare = counted & (claims.evidence == 0)
    labelled = _sum(claims.row[counted & (claims.label >= 0)], rows)
    supporting = _sum(claims.row[claims.items.claim[claims.items.supports]], rows)
    return {
        "claim_count": (total, fields.ok),
        "facts_without_evidence": (_sum(claims.row[bare & claims.fact], rows), total > 0),
        "support_labelled": (labelled, fields.ok),
        "support_lexical": (total - labelled, fields.ok),
        **_rate_cells("claim_precision", _sum(claims.row[counted & claims.supported], rows), total),
        **_rate_cells("unsupported_claim_rate", _sum(claims.row[bare], rows), total),
        **_rate_cells("citation_precision", supporting, _sum(claims.row[claims.items.claim], rows)),
    }


def _citations(prepared: Prepared, question: Ints, fields: AnswerFields, *, claims: Claims) -> Cells:
    """Provenance of sentences, else of claims; and the citations of both."""
    rows, items = len(fields.ok), claims.items
    sentences, sentence_row = objects(fields.tape, fields.field["sentences"])
    names, sentence = _sentence_ids(fields.tape, sentences)
    sourced = np.zeros(len(sentences), np.bool_)
    sourced[sentence] = True
    total, counted = _sum(sentence_row, rows), ~claims.log
    cited_claims = _sum(claims.row[counted & (claims.evidence > 0)], rows)
    held = np.where(total > 0, _sum(sentence_row[sourced], rows), cited_claims)
    units = np.where(total > 0, total, _sum(claims.row[counted], rows))

    item_row = claims.row[items.claim]
    row = np.concatenate([sentence_row[sentence], item_row])
    order = np.argsort(row, kind="stable")
    cited = coded(pa.concat_arrays([names, items.id]).take(pa.array(order)))
    nameless = item_row[items.id.is_null().to_numpy(zero_copy_only=False)]
    count = _sum(row[order][new_in_row(row[order], cited)], rows) + _sum(nameless, rows)
    least = prepared.min_citations[question]
    return {
        **_rate_cells("provenance_rate", held, units),
        "citation_count": (count, fields.ok),
        "citations_ok": (count >= least, fields.ok & ~np.isnan(least)),
    }


def _sentence_ids(tape: Tape, sentences: Ints) -> tuple[pa.Array, Ints]:
    """(id, index of the sentence) of the evidence ids of sentences."""
    nodes, owner = tape.elements(members(tape, sentences, "evidence_ids")[0])
    names = ids(tape, nodes)
    return names.drop_null(), owner[names.is_valid().to_numpy(zero_copy_only=False)]


@dataclass(frozen=True)
class EntityHits:
    """Whether each entity that a row's task expects was found; the entities of all rows stand end to end."""

    found: Flags
    bounds: Offsets


def find_entities(prepared: Prepared, question: Ints, fields: AnswerFields, *, claims: Claims) -> EntityHits:
    """The entities of each row's task, looked for in the answer's text and in its claims."""
    row = np.concatenate([np.arange(len(question), dtype=np.int32), claims.row])
    nodes = np.concatenate([fields.field["answer"], claims.text])
    searched = (nodes >= 0) & (prepared.entities.counts[question] > 0)[row]
    order = np.argsort(row[searched], kind="stable")
    texts = fields.tape.texts(nodes[searched][order])
    return EntityHits(*prepared.entities.found(question, texts, bounds_by_owner(row[searched], len(question))))


def _entity_cells(entities: EntityHits) -> Cells:
    running, bounds = bounds_of(entities.found), entities.bounds
    return _rate_cells("entity_recall", running[bounds[1:]] - running[bounds[:-1]], np.diff(bounds))


def _artifacts(fields: AnswerFields, required: int | tuple[str, ...]) -> Cells:
    rows = len(fields.ok)
    nodes, row = fields.tape.elements(fields.field["artifacts"])
    names = filled_texts(fields.tape, nodes)
    if isinstance(required, int):
        least = required
    else:
        required_names = pa.array(filter(tasks.id_of, set(required)), LARGE_STRING)
        names, least = (
            pc.if_else(pc.is_in(names, required_names), names, pa.scalar(None, LARGE_STRING)),
            len(required_names),
        )
    there = _sum(row[new_in_row(row, coded(names))], rows)
    missing = np.maximum(least - there, 0)
    return {"artifacts_missing": (missing, fields.field["artifacts"] >= 0)}


@dataclass(frozen=True)
class Ranking:
    """The ids that answers rank, best first, as codes (-1: no id); those of all rows stand end to end."""

    ids: Coded
    row: Ints


def read_ranking(fields: AnswerFields) -> Ranking:
    """The ranking of each answer; empty where it has none."""
    nodes, row = fields.tape.elements(fields.field["ranking"])
    return Ranking(coded(ids(fields.tape, nodes)), row)


def _ranking_cells(prepared: Prepared, question: Ints, fields: AnswerFields, *, ranking: Ranking) -> Cells:
    gain, average = prepared.ranking.scores(question, ranking.ids, bounds_by_owner(ranking.row, len(question)))
    there = fields.ok & prepared.ranking.applies[question]
    return {GAIN: (gain, there), "map": (average, there)}


@dataclass(frozen=True)
class Contradictions:
    """The different unordered pairs of ids that answers say contradict each other, and whether the task says so too."""

    row: Ints
    low: pa.Array
    high: pa.Array
    _: KW_ONLY
    right: Flags


def find_contradictions(prepared: Prepared, question: Ints, fields: AnswerFields) -> Contradictions:
    """The pairs that each answer calls a contradiction, each once; a pair without two ids is none."""
    tape = fields.tape
    nodes, row = objects(tape, fields.field["contradictions"])
    a_node, b_node, flag = members(tape, nodes, "a", "b", "contradiction")
    said = labels(tape, flag) == 1
    row, a, b = row[said], ids(tape, a_node[said]), ids(tape, b_node[said])
    both = pc.and_(a.is_valid(), b.is_valid())
    row, a, b = row[both.to_numpy(zero_copy_only=False)], a.filter(both), b.filter(both)
    pairs = pl.DataFrame({"row": row, "a": pl.from_arrow(a), "b": pl.from_arrow(b)})
    distinct = pairs.select("row", low=pl.min_horizontal("a", "b"), high=pl.max_horizontal("a", "b")).unique(
        maintain_order=True
    )
    low, high = (distinct[name].to_arrow().cast(LARGE_STRING) for name in ("low", "high"))
    rows = distinct["row"].to_numpy()
    return Contradictions(rows, low, high, right=prepared.contradictions.right(question[rows], low, high))


def _contradiction_cells(prepared: Prepared, question: Ints, fields: AnswerFields, *, pairs: Contradictions) -> Cells:
    rows = len(question)
    hits, said = _sum(pairs.row[pairs.right], rows), _sum(pairs.row, rows)
    gold = prepared.contradictions.counts[question]
    there = fields.ok & (gold > 0)
    return {
        **_rate_cells("contradiction_precision", hits, said, applies=there),
        **_rate_cells("contradiction_recall", hits, gold, applies=there),
        **_rate_cells("contradiction_f1", 2 * hits, said + gold, applies=there),
    }


def _row_gate(gate: Gate, values: Numbers, there: Flags) -> RowGate:
    """A gate of single rows; it applies where its metric has a value."""
    over: Flags = values >= gate.limit - TOLERANCE
    under: Flags = values <= gate.limit + TOLERANCE
    holds: Flags = {">=": over, "<=": under, "==": over & under}[gate.op]
    return RowGate(gate, there, there & holds)


def _share_of_gates(gates: tuple[RowGate, ...]) -> npt.NDArray[np.float64]:
    """The share of a row's gates that hold, of those that apply; 0 where none does."""
    held = np.add.reduce([gate.holds for gate in gates], dtype=np.int64)
    applying = np.add.reduce([gate.applies for gate in gates], dtype=np.int64)
    share: npt.NDArray[np.float64] = held / np.maximum(applying, 1)
    return share


def _unusable(cells: Cells, failed: Flags, entities: Ints) -> None:
    """What counts as 0 in a row that cannot be used, written into the cells; all else is null there already."""
    denominators = {"pipeline_completion": np.ones_like(entities), "entity_recall": entities}
    for name, den in denominators.items():
        for part, value in ((name, 0 * den), (f"{name}_num", 0 * den), (f"{name}_den", den)):
            values, there = cells[part]
            cells[part] = np.where(failed, value, values), there | failed
    cells["citations_ok"] = cells["citations_ok"][0] & ~failed, cells["citations_ok"][1] | failed
    cells["score"] = np.where(failed, 0.0, cells["score"][0]), cells["score"][1]


def _tallies(claims: Claims, stages: Stages) -> pa.Table:
    """Why claims fail and which stages are not done, one line an occurrence."""
    which, why = claims.failing()
    open_ = np.flatnonzero(~stages.states.done)
    parts = (
        ("failing_claim", claims.row[which], pa.array(WHY, LARGE_STRING).take(pa.array(why))),
        ("open_stage", stages.states.row[open_], stages.states.name.take(pa.array(open_))),
    )
    return pa.concat_tables(
        pa.table(
            {
                "row": pa.array(row.astype(np.int32)),
                "kind": pa.repeat(pa.scalar(kind, LARGE_STRING), len(row)),
                "got": pc.utf8_slice_codeunits(got, 0, SHOWN_CHARACTERS),
                "expected": pa.nulls(len(row), LARGE_STRING),
                "n": pa.array(np.ones(len(row), np.int64)),
            }
        )
        for kind, row, got in parts
    )


def missing_columns(prepared: Prepared, question: Ints) -> dict[str, pa.Array]:
    """An unanswered task counts as an answer that cannot be used."""
    count = len(question)
    nothing = {field.name: pa.nulls(count, field.type) for field in BATCH} | {
        "question": pa.array(question, pa.int32())
    }
    columns = score(prepared, pa.RecordBatch.from_pydict(nothing, schema=BATCH)).columns
    reason = pa.repeat(pa.scalar(json_objects.REASONS[MISSING_OUTPUT], LARGE_STRING), count)
    return {**columns, "fail_reason": reason}


def failing_claims(prepared: Prepared, batch: pa.RecordBatch) -> list[dict[str, Any]]:
    """The claims of a batch that have no evidence or are not supported, and why, in order."""
    fields = read_fields(batch)
    claims = read_claims(fields.tape, fields.field["claims"], prepared.params["support_threshold"])
    which, why = claims.failing()
    lines: list[dict[str, Any]] = pa.table(
        {
            "row": claims.row[which],
            "claim_id": ids(fields.tape, claims.id[which]),
            "text": fields.tape.texts(claims.text[which]).to_arrow(),
            "reason": pa.array(WHY, LARGE_STRING).take(pa.array(why)),
        }
    ).to_pylist()
    return lines
