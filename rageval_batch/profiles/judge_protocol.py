"""`judge_protocol`: verdicts of LLM judges, validated and kept comparable."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch import answers, kernels, text
from rageval_batch.answers import MISSING_FIELD, NO_REASON, REASONS, WRONG_TYPE
from rageval_batch.errors import InputError
from rageval_batch.jsontape import Tape
from rageval_batch.kernels import record
from rageval_batch.kernels.json import ARRAY, NULL, OBJECT, STRING
from rageval_batch.packaged import packaged
from rageval_batch.profile import Column, Explanation, Gate, Metric, Param, Params, Profile, Records, Scored, Section
from rageval_batch.rubric import Rubric, rubric_of, rubric_problems
from rageval_batch.strings import LARGE, Flags, Ints, Strings, from_arrow, from_list
from rageval_batch.tables import KEYS, EvalSet

FLAGS = (
    "UNPARSABLE_OUTPUT",
    "PROTOCOL_VIOLATION",
    "INCOMPLETE_COVERAGE",
    "JUDGE_REFUSAL_OR_EVASION",
    "INTERNAL_INCONSISTENCY",
)
UNPARSABLE, VIOLATION, COVERAGE, REFUSAL, INCONSISTENT = range(len(FLAGS))
WARNINGS = ("verdict_mismatch", "quote_long", "quote_not_found")  # `duplicate` shows when all records are there
MISMATCH, LONG, NOT_FOUND = range(len(WARNINGS))

SAMPLE = ("question_id", "prompt_variant", "target_model", "output_id")
ASKED = ("judge_model", *SAMPLE, "method")  # what a column may say in place of `meta`
NAMES = ("judge_model", "target_model")  # of models: compared after NFKC, strip and casefold
METHODS = ("cross_judge", "self_judge")
VERDICTS = ("FAIL", "PARTIAL", "PASS")
FIELDS = ("meta", "scores", "verdict", "flags", "evidence", "notes")
ENTRY = ("dimension", "quote", "reason")
OVERALL = "overall_score"
QUOTE_LIMIT = 60  # Han characters and words together
INT32 = 2**31

WORDS = pa.large_list(LARGE)
DEFAULT_RUBRIC: dict[str, Any] = packaged("judge_protocol.toml")

_BEFORE = (
    *(Column(name, LARGE, doc) for name, doc in (
        ("judge_model", "who judged: the column, else the record's meta"),
        ("prompt_variant", "of the sample"),
        ("target_model", "whose output was judged"),
        ("output_id", "which output was judged"),
        ("file", "the file that the judgement is, or the column file"),
        ("method", "cross_judge or self_judge"),
    )),
    Column("valid", pa.bool_(), "no flag holds"),
    Column("flags", WORDS, "everything that makes the judgement unusable, in the order of the protocol"),
    Column("judge_flags", WORDS, "the judge's own flags"),
    Column("warnings", WORDS, "verdict_mismatch, quote_long, quote_not_found, duplicate: none of them invalidates"),
)  # fmt: skip
_BEHIND = (
    Column(OVERALL, pa.int32(), "the sum as the judge gave it"),
    Column("overall_recomputed", pa.int64(), "the sum of the dimensions"),
    Column("verdict_declared", LARGE, "the verdict as the judge gave it"),
    Column("verdict", LARGE, "the verdict that the scores make"),
    Column("evidence_count", pa.int32(), "entries of evidence with dimension, quote and reason"),
    Column("quotes_found", pa.int32(), "of those, quotes that stand in the target's text; null without the text"),
    Column("score", pa.float64(), "overall_recomputed over the highest sum; null where invalid"),
    Column("fail_reason", LARGE, "why the text cannot be read, else the first flag; missing where there is no record"),
    Column("cross_score", pa.float64(), "the score of a valid judgement of another model, duplicates left out"),
    Column("self_score", pa.float64(), "the same for a model that judged itself"),
    Column("due", pa.int8(), "1 on the row that stands for a judge and a sample of the list; null without a list"),
    Column("answered", pa.int8(), "on such a row, 1 if there is a record and 0 if it is missing"),
    Column("target_key", LARGE, "target_model for comparing"),
    Column("base_variant", LARGE, "the variant that drift is measured from; null: the first by name"),
)
_CARRIED = (
    Column("judge_key", LARGE, "judge_model for comparing"),
    Column("points", pa.large_list(pa.int64()), "the dimensions' scores, then the overall one"),
    Column("digest_a", pa.int64(), "of the text"),
    Column("digest_b", pa.int64(), "of the text"),
    Column("timestamp", LARGE, "meta.timestamp"),
)
_TAKEN = frozenset(
    column.lower()
    for column in (*KEYS.names, *(c.name for c in (*_BEFORE, *_BEHIND, *_CARRIED)), "eval_set", "commit", "filename")
)


def columns_of(rubric: Rubric) -> tuple[Column, ...]:
    """The columns of a score row: one a dimension between those that all rubrics have."""
    scored = (Column(name, pa.int32(), f"0 to {rubric.top}") for name in rubric.dimensions)
    return (*_BEFORE, *scored, *_BEHIND)


def columns_for(params: Params) -> tuple[Column, ...]:
    """The columns with these parameters."""
    return columns_of(rubric_of(params["rubric"]))


PARAMS = (
    Param("rubric", DEFAULT_RUBRIC, "FILE.toml with dimensions, scale_top, evidence_required and [verdict]",
          problems=partial(rubric_problems, taken=_TAKEN)),
    Param("refusal_phrases", "", "phrases of a refusal beside the packaged ones, separated by |"),
    Param("base_variant", "", "the prompt variant that drift is measured from; empty: the first by name"),
)  # fmt: skip

METRICS = (
    Metric("score", "cross-judging only: valid, no duplicate", True, column="cross_score"),
    Metric("self_score", "self-judging only: valid, no duplicate", True),
    Metric("valid", "share of usable judgements, missing ones among the others", True, 0.0),
    Metric("answered", "share of the listed samples that judges have a record for", True, None, "answered", "due"),
)

GATES = (Gate("answered_share", "answered", "micro", ">=", 1.0),)


@dataclass(frozen=True)
class Prepared:
    """The rubric, the phrases and the texts that may be quoted."""

    rubric: Rubric
    phrases: tuple[str, ...]
    base_variant: str | None
    target_ids: pa.Array
    targets: Strings  # squashed


def prepare(eval_set: EvalSet, params: Params) -> Prepared:
    """The rubric read, phrases folded, target texts squashed."""
    listed = [phrase for phrases in packaged("phrases.json")["refusal"].values() for phrase in phrases]
    folded = (text.nfkc_casefold(phrase) for phrase in (*listed, *params["refusal_phrases"].split("|")))
    return Prepared(
        rubric_of(params["rubric"]),
        tuple(dict.fromkeys(phrase for phrase in folded if phrase.strip())),
        params["base_variant"] or None,
        pa.array(list(eval_set.chunks), LARGE),
        kernels.squash(from_list(list(eval_set.chunks.values()))),
    )


# --- names and texts ------------------------------------------------------------------------------------------------


def folded(names: pa.Array) -> pa.Array:
    """Models' names for comparing: NFKC, strip, casefold, each distinct one worked out once; null stays null."""
    column = text.map_distinct(from_arrow(names), text.nfkc)
    stripped = kernels.cut(column.data, *kernels.strip(column.data, column.starts, column.ends))
    valid = names.is_valid().to_numpy(zero_copy_only=False)
    return text.map_distinct(stripped, str.casefold).to_arrow(valid)


def read_list(samples: pa.Table) -> pa.Table:
    """The sample list with target names for comparing; InputError for a sample without a name or listed twice."""
    for name in SAMPLE:
        column = from_arrow(samples.column(name))
        starts, ends = kernels.strip(column.data, column.starts, column.ends)
        if (blank := starts == ends).any():
            where = samples.column("where")[int(blank.argmax())].as_py()
            raise InputError(f"{where}: this sample has an empty {name}. All need {', '.join(SAMPLE)}.")
    keys = folded(samples.column("target_model").combine_chunks().cast(LARGE))
    listed = samples.append_column("target_key", keys)
    frame = pl.from_arrow(listed)
    assert isinstance(frame, pl.DataFrame)
    again = frame.filter(~pl.struct("question_id", "prompt_variant", "target_key", "output_id").is_first_distinct())
    if len(again):
        row = again.row(0, named=True)
        raise InputError(f"{row['where']}: this sample of output '{row['output_id']}' is there twice. List each once.")
    return listed


def _named(nodes: Ints, tape: Tape) -> pa.Array:
    """The texts of string nodes that are more than white space, else null."""
    nodes = np.where(tape.kinds(nodes) == STRING, nodes, -1).astype(np.int32)
    texts = tape.texts(nodes)
    starts, ends = kernels.strip(texts.data, texts.starts, texts.ends)
    return texts.to_arrow(starts < ends)


def _differ(a: pa.Array, b: pa.Array, names: bool) -> Flags:
    """Where both say something, and not the same; models' names folded."""
    differ = _true(pc.not_equal(a, b))
    if names and differ.any():
        rows = pa.array(np.flatnonzero(differ))
        differ[rows.to_numpy()] = _true(pc.not_equal(folded(a.take(rows)), folded(b.take(rows))))
    return differ


def _true(column: pa.Array) -> Flags:
    """A boolean column, null as false."""
    flags: Flags = pc.fill_null(column, False).to_numpy(zero_copy_only=False)
    return flags.copy()


def _refuses(prepared: Prepared, output: pa.Array, rows: Ints) -> Flags:
    """Which of these rows have a refusal phrase in their raw text."""
    found = np.zeros(len(output), np.bool_)
    for row, raw in zip(rows.tolist(), output.take(pa.array(rows)).to_pylist(), strict=True):
        if raw:
            said = text.nfkc_casefold(raw)
            found[row] = any(phrase in said for phrase in prepared.phrases)
    return found


# --- a batch --------------------------------------------------------------------------------------------------------


@dataclass
class Judged:
    """A batch taken apart: columns of the score rows, and every rule that a row breaks."""

    columns: dict[str, pa.Array]
    rules: list[tuple[int, str, Flags]] = field(default_factory=list)
    warned: list[tuple[int, Flags]] = field(default_factory=list)

    def breaks(self, flag: int, rule: str, rows: Flags) -> None:
        self.rules.append((flag, rule, rows))

    def holds(self, flag: int) -> Flags:
        return np.logical_or.reduce([rows for found, _, rows in self.rules if found == flag])


def score(prepared: Prepared, batch: pa.RecordBatch) -> Scored:
    """Every column of a judgement by itself; what needs the other records is for `settle`."""
    judged, reason = _judge(prepared, batch)
    columns = judged.columns
    mask = sum(judged.holds(flag).astype(np.int64) << flag for flag in range(len(FLAGS)))
    valid = mask == 0
    columns["valid"] = pa.array(valid)
    columns["flags"] = _words(FLAGS, mask)
    columns["warnings"] = _words(WARNINGS, sum(rows.astype(np.int64) << bit for bit, rows in judged.warned))
    first = np.array([0, *((m & -m).bit_length() - 1 for m in range(1, 1 << len(FLAGS)))])[mask]
    why = np.where(reason == NO_REASON, len(REASONS) + first, reason)
    columns["fail_reason"] = pa.array([*REASONS, *FLAGS], LARGE).take(pa.array(why, mask=valid))
    total = columns["overall_recomputed"].fill_null(0).to_numpy() / prepared.rubric.best
    columns["score"] = pa.array(total, mask=~valid)
    columns["base_variant"] = pa.repeat(pa.scalar(prepared.base_variant, LARGE), batch.num_rows)
    for column in _BEHIND:
        columns.setdefault(column.name, pa.nulls(batch.num_rows, column.type))
    return Scored(columns)


def _words(names: tuple[str, ...], mask: npt.NDArray[np.int64]) -> pa.Array:
    """Lists of the names whose bits are set."""
    lists = [[name for bit, name in enumerate(names) if m >> bit & 1] for m in range(1 << len(names))]
    return pa.array(lists, WORDS).take(pa.array(mask))


def _judge(prepared: Prepared, batch: pa.RecordBatch) -> tuple[Judged, answers.Reasons]:
    rubric, output = prepared.rubric, batch.column("output")
    found = answers.read_objects(output, False)
    tape, usable = found.tape, found.usable
    root = np.where(usable, tape.root, -1).astype(np.int32)
    nodes = tape.members(root, list(FIELDS))
    field_of = {name: nodes[:, k].copy() for k, name in enumerate(FIELDS)}
    kinds = {name: tape.kinds(field_of[name]) for name in FIELDS}
    texts = from_arrow(output)
    digest_a, digest_b = record.digests(texts.data, texts.offsets)
    judged = Judged({"digest_a": pa.array(digest_a), "digest_b": pa.array(digest_b), "file": batch.column("file")})

    judged.breaks(UNPARSABLE, "not one JSON object", ~usable)
    needed = ("meta", "scores", "evidence") if rubric.evidence_required else ("meta", "scores")
    absent = usable & np.logical_or.reduce([field_of[name] < 0 for name in needed])
    judged.breaks(UNPARSABLE, f"one of {', '.join(needed)} is absent", absent)
    wrong = _wrong_fields(kinds, rubric.evidence_required)

    wrong |= _meta(judged, batch, tape, field_of["meta"], usable)
    wrong_scores, scored = _scores(judged, rubric, tape, field_of["scores"], usable)
    wrong |= wrong_scores
    wrong |= _own_flags(judged, tape, field_of["flags"], kinds["flags"] == ARRAY)
    judged.breaks(VIOLATION, "flags is absent", usable & _absent(kinds["flags"]))
    _verdict(judged, rubric, tape, field_of["verdict"], usable)
    wrong |= _evidence(judged, prepared, tape, field_of["evidence"], usable)
    judged.breaks(UNPARSABLE, "a field has a wrong type", wrong)

    unscored = np.flatnonzero(~scored).astype(np.int32)
    judged.breaks(REFUSAL, "no usable score, and a refusal phrase", _refuses(prepared, output, unscored))
    evades = usable & _absent(kinds["scores"]) & _absent(kinds["meta"])
    judged.breaks(REFUSAL, "neither scores nor meta", evades)
    reason = found.reason.copy()
    reason[wrong] = WRONG_TYPE
    reason[absent] = MISSING_FIELD
    return judged, reason


def _absent(kinds: npt.NDArray[np.int16]) -> Flags:
    """Not there, or null, which is as good."""
    flags: Flags = (kinds < 0) | (kinds == NULL)
    return flags


def _wrong_fields(kinds: dict[str, npt.NDArray[np.int16]], evidence_required: bool) -> Flags:
    """A field of the record that is there with another type; null is another type, but in an optional field."""
    types = {"meta": OBJECT, "scores": OBJECT, "verdict": STRING, "flags": ARRAY, "evidence": ARRAY, "notes": STRING}
    optional = ("notes",) if evidence_required else ("notes", "evidence")
    wrong = [
        (kinds[name] >= 0) & (kinds[name] != kind) & ~((kinds[name] == NULL) & (name in optional))
        for name, kind in types.items()
    ]
    flags: Flags = np.logical_or.reduce(wrong)
    return flags


def _meta(judged: Judged, batch: pa.RecordBatch, tape: Tape, meta: Ints, usable: Flags) -> Flags:
    """Who judged what: columns win over meta; where meta has a wrong type."""
    nodes = tape.members(meta, [*ASKED, "timestamp"])
    kinds = tape.kinds(nodes)
    other: Flags = (kinds >= 0) & (kinds != STRING)
    other[:, -1] &= kinds[:, -1] != NULL
    columns = judged.columns
    disagree = np.zeros(batch.num_rows, np.bool_)
    for k, name in enumerate(ASKED):
        given, said = batch.column(name), _named(nodes[:, k].copy(), tape)
        columns[name] = pc.coalesce(given, said)
        disagree |= _differ(given, said, name in NAMES)
    columns["timestamp"] = _named(nodes[:, -1].copy(), tape)
    columns["judge_key"], columns["target_key"] = (folded(columns[name]) for name in NAMES)
    for name in ("judge_model", *SAMPLE):
        lacks = columns[name].is_null().to_numpy(zero_copy_only=False)
        judged.breaks(COVERAGE, f"{name} is absent or empty", usable & lacks)
    method = pc.index_in(columns["method"], pa.array(METHODS, LARGE)).fill_null(-1).to_numpy()
    judged.breaks(VIOLATION, "method is neither cross_judge nor self_judge", usable & (method < 0))
    same = pc.equal(columns["judge_key"], columns["target_key"])
    itself, another = _true(same), _true(pc.invert(same))
    judged.breaks(INCONSISTENT, "self_judge, but judge and target differ", usable & (method == 1) & another)
    judged.breaks(INCONSISTENT, "cross_judge, but judge and target are one", usable & (method == 0) & itself)
    judged.breaks(INCONSISTENT, "columns and meta disagree", usable & disagree)
    wrong: Flags = np.logical_or.reduce(other, axis=1)
    return wrong


def _scores(judged: Judged, rubric: Rubric, tape: Tape, scores: Ints, usable: Flags) -> tuple[Flags, Flags]:
    """(a score has a wrong type, a dimension has a score on the scale)."""
    names = [*rubric.dimensions, OVERALL]
    nodes = tape.members(scores, names)
    flat, whole = record.whole_numbers(tape.data, tape.kind, tape.start, tape.stop, nodes.ravel())
    values, is_whole = flat.reshape(nodes.shape), whole.reshape(nodes.shape)
    wrong: Flags = np.logical_or.reduce((nodes >= 0) & ~is_whole, axis=1)
    lacks = np.logical_or.reduce(_absent(tape.kinds(nodes)), axis=1)
    on_scale = is_whole[:, :-1] & (values[:, :-1] >= 0) & (values[:, :-1] <= rubric.top)
    beyond = np.logical_or.reduce(is_whole[:, :-1] & ~on_scale, axis=1)
    added, wrong_added = _added(tape, scores, nodes, names)
    judged.breaks(VIOLATION, "a dimension or overall_score is missing", usable & lacks)
    judged.breaks(VIOLATION, "a dimension that the rubric does not have", added)
    judged.breaks(VIOLATION, f"a score outside 0 to {rubric.top}", beyond)

    fits = is_whole & (values >= -INT32) & (values < INT32)
    for k, name in enumerate(names):
        judged.columns[name] = pa.array(np.where(fits[:, k], values[:, k], 0), pa.int32(), mask=~fits[:, k])
    bounds = np.arange(len(scores) + 1, dtype=np.int64) * len(names)
    points = pa.array(np.where(fits, values, 0).ravel(), mask=~fits.ravel())
    judged.columns["points"] = pa.LargeListArray.from_arrays(pa.array(bounds), points)
    known: Flags = np.logical_and.reduce(fits[:, :-1], axis=1)
    total = np.where(known, values[:, :-1].sum(axis=1, where=fits[:, :-1]), 0)
    judged.columns["overall_recomputed"] = pa.array(total, mask=~known)
    differs = known & is_whole[:, -1] & (values[:, -1] != total)
    judged.breaks(INCONSISTENT, "overall_score is not the sum of the dimensions", differs)
    needed = [values[:, k] != 0 for k in rubric.pass_nonzero]
    passed = (total >= rubric.pass_min) & np.logical_and.reduce(needed, axis=0, initial=True)
    verdict = np.where(total <= rubric.fail_max, 0, np.where(passed, 2, 1))
    judged.columns["verdict"] = pa.array(VERDICTS, LARGE).take(pa.array(verdict, mask=~known))
    return wrong | wrong_added, np.logical_or.reduce(on_scale, axis=1)


def _added(tape: Tape, scores: Ints, nodes: npt.NDArray[np.int32], names: list[str]) -> tuple[Flags, Flags]:
    """(has a score that the rubric does not know, and one of a wrong type); of duplicate keys the last counts."""
    rows = len(scores)
    added, wrong = np.zeros(rows, np.bool_), np.zeros(rows, np.bool_)
    owner = np.full(len(tape.parent), -1, np.int32)
    objects = np.flatnonzero(tape.kinds(scores) == OBJECT).astype(np.int32)
    owner[scores[objects]] = objects
    inside = tape.parent[tape.parent >= 0]
    count = np.bincount(owner[inside][owner[inside] >= 0], minlength=rows)
    odd = np.flatnonzero(count != (nodes >= 0).sum(axis=1)).astype(np.int32)
    if len(odd):
        found, which, keys = tape.names(scores[odd])
        frame = pl.DataFrame({"row": odd[which], "key": pl.from_arrow(keys.to_arrow()), "node": found})
        last = frame.filter(~pl.col("key").is_in(names)).unique(["row", "key"], keep="last", maintain_order=True)
        row, node = last["row"].to_numpy(), last["node"].to_numpy()
        _, whole = record.whole_numbers(tape.data, tape.kind, tape.start, tape.stop, node)
        added[row] = True
        wrong[row[~whole]] = True
    return added, wrong


def _own_flags(judged: Judged, tape: Tape, flags: Ints, listed: Flags) -> Flags:
    """The judge's own flags as lists, null where there is no array; where one is no string."""
    nodes, owner = tape.elements(flags)
    strings = tape.kind[nodes] == STRING
    wrong = np.zeros(len(flags), np.bool_)
    wrong[owner[~strings]] = True
    bounds = np.concatenate([[0], np.cumsum(np.bincount(owner[strings], minlength=len(flags)))]).astype(np.int64)
    words = tape.texts(nodes[strings]).to_arrow()
    judged.columns["judge_flags"] = pa.LargeListArray.from_arrays(pa.array(bounds), words, mask=pa.array(~listed))
    return wrong


def _verdict(judged: Judged, rubric: Rubric, tape: Tape, nodes: Ints, usable: Flags) -> None:
    strings = tape.kinds(nodes) == STRING
    declared = tape.texts(np.where(strings, nodes, -1).astype(np.int32)).to_arrow(strings)
    judged.columns["verdict_declared"] = declared
    known = _true(pc.is_in(declared, pa.array(VERDICTS, LARGE)))
    judged.breaks(VIOLATION, "verdict is absent or none of PASS, PARTIAL, FAIL", usable & ~known)
    judged.warned.append((MISMATCH, _true(pc.not_equal(declared, judged.columns["verdict"]))))


@dataclass(frozen=True)
class Evidence:
    """The complete entries of a batch: which row each stands in, and its parts."""

    row: Ints
    dimension: pa.Array
    quote: Strings
    length: npt.NDArray[np.int64]
    found: Flags
    checked: Flags  # of each row: its target's text is known


def _entries(
    prepared: Prepared, tape: Tape, evidence: Ints, output_id: pa.Array, limit: int
) -> tuple[Evidence, Flags]:
    """(complete entries, rows with an entry of a wrong type)."""
    nodes, row = tape.elements(evidence)
    parts = tape.members(nodes, list(ENTRY))
    kinds = tape.kinds(parts)
    odd = (tape.kind[nodes] != OBJECT) | np.logical_or.reduce((kinds >= 0) & (kinds != STRING), axis=1)
    wrong = np.zeros(len(evidence), np.bool_)
    wrong[row[odd]] = True
    complete = np.logical_and.reduce(kinds == STRING, axis=1)
    row, parts = row[complete], parts[complete]
    quote = tape.texts(parts[:, 1].copy())
    target = pc.index_in(output_id, prepared.target_ids).fill_null(-1).to_numpy()
    which = target[row]
    there = which >= 0
    found = np.zeros(len(row), np.bool_)
    if there.any():
        squashed, hay = kernels.squash(quote), prepared.targets
        inside = kernels.contains(
            hay.data, hay.starts[which[there]], hay.ends[which[there]],
            squashed.data, squashed.starts[there], squashed.ends[there],
        )  # fmt: skip
        found[there] = inside
    dimension = tape.texts(parts[:, 0].copy()).to_arrow()
    return Evidence(row, dimension, quote, record.lengths(quote, limit), found, target >= 0), wrong


def _evidence(judged: Judged, prepared: Prepared, tape: Tape, nodes: Ints, usable: Flags) -> Flags:
    """Evidence for every dimension, quotes that are long or made up; where an entry has a wrong type."""
    rows, rubric = len(nodes), prepared.rubric
    output_id = pc.if_else(pa.array(usable), judged.columns["output_id"], pa.scalar(None, LARGE))
    entries, wrong = _entries(prepared, tape, nodes, output_id, QUOTE_LIMIT)
    which = pc.index_in(entries.dimension, pa.array(rubric.dimensions, LARGE)).fill_null(-1).to_numpy()
    backed = np.zeros((rows, len(rubric.dimensions)), np.bool_)
    backed[entries.row[which >= 0], which[which >= 0]] = True
    if rubric.evidence_required:
        judged.breaks(VIOLATION, "a dimension without evidence", usable & ~np.logical_and.reduce(backed, axis=1))
    count = np.bincount(entries.row, minlength=rows)
    found = np.bincount(entries.row[entries.found], minlength=rows)
    judged.columns["evidence_count"] = pa.array(count, pa.int32(), mask=~usable)
    judged.columns["quotes_found"] = pa.array(found, pa.int32(), mask=~entries.checked)
    long = np.zeros(rows, np.bool_)
    long[entries.row[entries.length > QUOTE_LIMIT]] = True
    judged.warned += [(LONG, long), (NOT_FOUND, entries.checked & (found < count))]
    return wrong


# --- one judgement, taken apart -------------------------------------------------------------------------------------


def explain(prepared: Prepared, batch: pa.RecordBatch) -> Explanation:
    """Every rule that the one judgement of the batch breaks, its scores, and what it quotes."""
    judged, reason = _judge(prepared, batch)
    found = answers.read_objects(batch.column("output"), False)
    broken = [{"flag": FLAGS[flag], "rule": rule} for flag, rule, rows in judged.rules if rows[0]]
    if reason[0] != NO_REASON and found.tape.status[0]:
        broken[0]["rule"] += f": {REASONS[reason[0]]}, {found.tape.problem(0)}"
    sections = [Section("rules broken", tuple(sorted(broken, key=lambda line: FLAGS.index(line["flag"]))))]
    names = (*prepared.rubric.dimensions, OVERALL, "overall_recomputed")
    sections.append(Section("scores", tuple({"score": n, "value": judged.columns[n][0].as_py()} for n in names)))
    root = np.where(found.usable, found.tape.root, -1).astype(np.int32)
    node = found.tape.members(root, ["evidence"])[:, 0].copy()
    entries, _ = _entries(prepared, found.tape, node, judged.columns["output_id"], -1)
    lines = [
        {
            "dimension": entries.dimension[k].as_py(),
            "quote": entries.quote.at(k),
            "length": int(entries.length[k]),
            "in the target's text": bool(entries.found[k]) if entries.checked[0] else None,
        }
        for k in range(len(entries.row))
    ]
    return Explanation((*sections, Section("evidence", tuple(lines))))


def missing_columns(prepared: Prepared, question: Ints) -> dict[str, pa.Array]:
    """What is missing is found by `settle`, from the list of samples."""
    return {}


PROFILE = Profile(
    name="judge_protocol",
    title="Verdicts of LLM judges, validated and compared",
    doc=(
        "Each output is a judge's strict JSON: scores of a rubric's dimensions, verdict, evidence. A judgement is valid "
        "or carries every flag that holds; low scores are never invalid. -q is an optional list of the samples that "
        "should have been judged, -c the optional texts that were judged. Self-judging stays out of the main numbers."
    ),
    params=PARAMS,
    columns=columns_of(rubric_of(DEFAULT_RUBRIC)),
    metrics=METRICS,
    gates=GATES,
    run_stat="mean",
    score_top=1.0,
    prepare=prepare,
    score=score,
    explain=explain,
    missing_columns=missing_columns,
    summary={
        "cross_score_avg": ("score", "mean"),
        "cross_judgements": ("score", "n_scored"),
        "self_score_avg": ("self_score", "mean"),
        "self_judgements": ("self_score", "n_scored"),
        "valid_share": ("valid", "mean"),
        "answered_share": ("answered", "micro"),
    },
    headline=("cross_score_avg", "valid_share", "answered_share"),
    tallies={},
    columns_for=columns_for,
    records=Records(
        keys=ASKED,
        carried=_CARRIED,
        settle="judge_settled",
        log="judge_log",
        listed=SAMPLE,
        read_list=read_list,
        texts=("output_id", "text"),
        order=(
            "run_id", "question_id", "prompt_variant", "target_model", "output_id", "judge_model", "repeat", "input",
            "line",
        ),
        whole_files=True,
        archive=("valid", "flags"),
    ),
    views=(
        "judge_counted", "judge_summary", "judge_self_summary", "judge_invalid", "judge_agreement",
        "judge_self_preference", "judge_variant_drift",
    ),
    shown_views={
        "judge_summary": ("judge_model", "target_model", "prompt_variant", "n", "score", "pass_share", "fail_share"),
        "judge_self_summary": ("judge_model", "prompt_variant", "n", "score", "pass_share", "fail_share"),
        "judge_invalid": ("judge_model", "flag", "n", "rows", "rate"),
        "judge_agreement": ("judge_a", "judge_b", "n", "kappa", "alpha"),
        "judge_self_preference": ("model", "n_self", "n_others", "by_itself", "by_others", "self_preference"),
        "judge_variant_drift": ("base_variant", "prompt_variant", "n", "mean_change", "low", "high"),
    },
)  # fmt: skip
