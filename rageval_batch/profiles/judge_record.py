"""A batch of judges' records taken apart over whole columns: every rule of the protocol that a row breaks."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch import answers, kernels, text
from rageval_batch.answers import MISSING_FIELD, WRONG_TYPE
from rageval_batch.jsontape import Tape
from rageval_batch.kernels import record
from rageval_batch.kernels.json import ARRAY, NULL, OBJECT, STRING
from rageval_batch.rubric import Rubric
from rageval_batch.strings import LARGE, Flags, Ints, Strings, from_arrow

FLAGS = (
    "UNPARSABLE_OUTPUT",
    "PROTOCOL_VIOLATION",
    "INCOMPLETE_COVERAGE",
    "JUDGE_REFUSAL_OR_EVASION",
    "INTERNAL_INCONSISTENCY",
)
UNPARSABLE, VIOLATION, COVERAGE, REFUSAL, INCONSISTENT = range(len(FLAGS))
WARNINGS = ("verdict_mismatch", "quote_long", "quote_not_found")  # `duplicate` shows when all records are there

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


@dataclass(frozen=True)
class Prepared:
    """The rubric, the phrases and the texts that may be quoted."""

    rubric: Rubric
    phrases: tuple[str, ...]
    base_variant: str | None
    target_ids: pa.Array
    targets: Strings  # squashed


# --- names and texts ------------------------------------------------------------------------------------------------


def folded(names: pa.Array) -> pa.Array:
    """Models' names for comparing: NFKC, strip, casefold, each distinct one worked out once; null stays null."""
    column = text.map_distinct(from_arrow(names), text.nfkc)
    stripped = kernels.cut(column.data, *kernels.strip(column.data, column.starts, column.ends))
    valid = names.is_valid().to_numpy(zero_copy_only=False)
    return text.map_distinct(stripped, str.casefold).to_arrow(valid)


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
    warned: list[Flags] = field(default_factory=list)  # in the order of WARNINGS

    def breaks(self, flag: int, rule: str, rows: Flags) -> None:
        """Note where a rule is broken."""
        self.rules.append((flag, rule, rows))

    def holds(self, flag: int) -> Flags:
        """Where a rule of this flag is broken."""
        broken: Flags = np.logical_or.reduce([rows for found, _, rows in self.rules if found == flag])
        return broken


def judge(prepared: Prepared, batch: pa.RecordBatch) -> tuple[Judged, answers.Reasons]:
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
    judged.warned.append(_true(pc.not_equal(declared, judged.columns["verdict"])))


@dataclass(frozen=True)
class Evidence:
    """The complete entries of a batch: which row each stands in, and its parts."""

    row: Ints
    dimension: pa.Array
    quote: Strings
    length: npt.NDArray[np.int64]
    found: Flags
    checked: Flags  # of each row: its target's text is known


def entries_of(
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
    entries, wrong = entries_of(prepared, tape, nodes, output_id, QUOTE_LIMIT)
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
    judged.warned += [long, entries.checked & (found < count)]
    return wrong
