"""A batch of judges' records taken apart over whole columns: every rule of the protocol that a row breaks."""

from __future__ import annotations

from dataclasses import KW_ONLY, field

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch.columnar import json_objects, kernels, text
from rageval_batch.columnar.json_objects import MISSING_FIELD, WRONG_TYPE
from rageval_batch.columnar.json_tape import Tape
from rageval_batch.columnar.kernels import record
from rageval_batch.columnar.kernels.json import ARRAY, NULL, OBJECT, STRING
from rageval_batch.columnar.strings import LARGE_STRING, Flags, Ints, Strings, bounds_by_owner, from_arrow
from rageval_batch.dataclass import dataclass
from rageval_batch.profiles.judge_protocol.evidence import Evidence, entries_of
from rageval_batch.profiles.judge_protocol.fields import Fields, absent
from rageval_batch.profiles.judge_protocol.rubric import EVIDENCE, JUDGE, KEYS, OVERALL, SAMPLE, SCORES, Rubric

FLAGS = (
    "UNPARSABLE_OUTPUT",
    "PROTOCOL_VIOLATION",
    "INCOMPLETE_COVERAGE",
    "JUDGE_REFUSAL_OR_EVASION",
    "INTERNAL_INCONSISTENCY",
)
UNPARSABLE, VIOLATION, COVERAGE, REFUSAL, INCONSISTENT = range(len(FLAGS))
WARNINGS = ("verdict_mismatch", "quote_long", "quote_not_found")  # `duplicate` shows when all records are there

METHODS = ("cross_judge", "self_judge")
VERDICTS = ("FAIL", "PARTIAL", "PASS")
MODELS = (JUDGE, "target_model")  # names that are compared after NFKC, strip and casefold
INT32 = 2**31


@dataclass(frozen=True)
class Prepared:
    """The rubric, the phrases and the texts that may be quoted."""

    rubric: Rubric
    phrases: Strings  # of refusal, folded
    base_variant: str | None
    _: KW_ONLY
    target_ids: pa.Array
    targets: Strings  # squashed


# --- names and texts ------------------------------------------------------------------------------------------------


def folded(names: pa.Array) -> pa.Array:
    """Models' names for comparing: NFKC, strip, casefold, each distinct one worked out once; null stays null."""
    column = text.map_distinct(from_arrow(names), text.nfkc)
    stripped = kernels.cut(column.data, *kernels.strip(column.data, column.starts, column.ends))
    valid = names.is_valid().to_numpy(zero_copy_only=False)
    return text.map_distinct(stripped, str.casefold).to_arrow(valid)


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
    said, phrases = text.folded(from_arrow(output.take(pa.array(rows)))), prepared.phrases
    hits, _ = kernels.group_hits(
        said.data, said.starts, said.ends, np.zeros(len(rows), np.int32),
        np.array([0, 1]), np.array([0, len(phrases)]), phrases.data, phrases.offsets,
    )  # fmt: skip
    found[rows] = hits > 0
    return found


# --- a batch --------------------------------------------------------------------------------------------------------


@dataclass
class Judged:
    """A batch taken apart: columns of the score rows, and every rule that a row breaks."""

    fields: Fields
    columns: dict[str, pa.Array]
    evidence: Evidence = field(init=False)  # read by `judge`, after who judged what
    rules: list[tuple[int, str, Flags]] = field(default_factory=list)
    _: KW_ONLY
    warned: list[Flags] = field(default_factory=list)  # in the order of WARNINGS

    def breaks(self, flag: int, rule: str, rows: Flags) -> None:
        """Note where a rule is broken."""
        self.rules.append((flag, rule, rows))

    def holds(self, flag: int) -> Flags:
        """Where a rule of this flag is broken."""
        none = np.zeros(len(self.rules[0][2]), np.bool_)
        broken: Flags = np.logical_or.reduce([none, *(rows for found, _, rows in self.rules if found == flag)])
        return broken


def judge(prepared: Prepared, batch: pa.RecordBatch) -> tuple[Judged, json_objects.Reasons]:
    """Every rule that each record of the batch breaks, and why a record cannot be read."""
    rubric, output = prepared.rubric, batch.column("output")
    found = json_objects.read_objects(output, False)
    usable = found.usable
    fields = Fields(found.tape, np.where(usable, found.tape.root, -1).astype(np.int32), rubric.record)
    texts = from_arrow(output)
    digest_a, digest_b = record.digests(texts.data, texts.offsets)
    digests = {"digest_a": pa.array(digest_a), "digest_b": pa.array(digest_b)}
    judged = Judged(fields, {**digests, "file": batch.column("file")})

    judged.breaks(UNPARSABLE, "not one JSON object", ~usable)
    lacking = usable & fields.lacking(rubric.evidence_required)
    judged.columns["fail_detail"] = _shapes(found.tape, np.where(lacking, found.tape.root, -1).astype(np.int32), rubric)
    judged.breaks(UNPARSABLE, "the scores, the evidence or the object that has the names is absent", lacking)
    wrong = _wrong_fields(fields, rubric.evidence_required)
    wrong |= _keys(judged, batch, usable)
    wrong_scores, scored = _scores(judged, rubric, usable)
    wrong |= wrong_scores
    wrong |= _own_flags(judged, usable)
    _verdict(judged, usable)
    wrong |= _evidence(judged, prepared, usable)
    judged.breaks(UNPARSABLE, "a field has a wrong type", wrong)

    unscored = np.flatnonzero(~scored).astype(np.int32)
    judged.breaks(REFUSAL, "no usable score, and a refusal phrase", _refuses(prepared, output, unscored))
    reason = found.reason.copy()
    reason[wrong] = WRONG_TYPE
    reason[lacking] = MISSING_FIELD
    return judged, reason


_SHOWN_NAMES = 200  # characters of the names of a record


def _shapes(tape: Tape, records: Ints, rubric: Rubric) -> pa.Array:
    """The names that records have and those that are wanted; null for node -1."""
    _, row, keys = tape.names(records)
    named = pl.DataFrame({"row": row, "name": pl.from_arrow(keys.to_arrow())})
    joined = named.group_by("row", maintain_order=True).agg(pl.col("name").str.join(", ").str.slice(0, _SHOWN_NAMES))
    names = pl.DataFrame({"row": np.arange(len(records), dtype=np.int32)}).join(joined, on="row", how="left")
    scores, evidence = (".".join(rubric.record.path(name)) or "the record" for name in (SCORES, EVIDENCE))
    wanted = f"{scores} with {', '.join(rubric.dimensions)}" + (f", and {evidence}" if rubric.evidence_required else "")
    found = pl.concat_str(pl.lit("the record has "), pl.col("name").fill_null("nothing"), pl.lit(f"; wanted: {wanted}"))
    column = names.sort("row").select(found).to_series().to_arrow().cast(LARGE_STRING)
    return pc.if_else(pa.array(records >= 0), column, pa.scalar(None, LARGE_STRING))


def _wrong_fields(fields: Fields, evidence_required: bool) -> Flags:
    """A field of the record that is there with another type; null is another type, but in an optional field."""
    listed = OBJECT if fields.form.evidence_form == "map" else ARRAY
    types = {SCORES: OBJECT, "verdict": STRING, "flags": ARRAY, EVIDENCE: listed, "notes": STRING}
    optional = {"notes", "timestamp"} if evidence_required else {"notes", "timestamp", EVIDENCE}
    wrong = fields.wrong_holders(optional)
    for name, kind in types.items():
        kinds = fields.tape.kinds(fields.node(name))
        wrong |= (kinds >= 0) & (kinds != kind) & ~((kinds == NULL) & (name in optional))
    return wrong


def _keys(judged: Judged, batch: pa.RecordBatch, usable: Flags) -> Flags:
    """Who judged what: columns win over the record; where the record has a wrong type."""
    fields, columns = judged.fields, judged.columns
    wrong, disagree = np.zeros(batch.num_rows, np.bool_), np.zeros(batch.num_rows, np.bool_)
    for name in KEYS:
        given, (said, odd) = batch.column(name), fields.name(name)
        columns[name] = pc.coalesce(given, said)
        disagree |= _differ(given, said, name in MODELS)
        wrong |= odd
    columns["timestamp"], odd = fields.name("timestamp", optional=True)
    columns["judge_key"], columns["target_key"] = (folded(columns[name]) for name in MODELS)
    known = {name: ~_true(columns[name].is_null()) | (not fields.form.asks(name)) for name in (JUDGE, *SAMPLE)}
    for name, there in known.items():
        judged.breaks(COVERAGE, f"{name} is absent or empty", usable & ~there)
    columns["key_known"] = pa.array(np.logical_and.reduce(list(known.values())))
    _method(judged, usable, known[JUDGE] & known["target_model"])
    judged.breaks(INCONSISTENT, "columns and record disagree", usable & disagree)
    return wrong | odd


def _method(judged: Judged, usable: Flags, named: Flags) -> None:
    """cross_judge or self_judge: as the record says, or as the names of judge and target do."""
    columns = judged.columns
    same = pc.equal(columns["judge_key"], columns["target_key"])
    itself, another = _true(same), _true(pc.invert(same))
    if not judged.fields.form.asks("method"):
        columns["method"] = pa.array(METHODS, LARGE_STRING).take(pa.array(itself.astype(np.int8), mask=~named))
        return
    method = pc.index_in(columns["method"], pa.array(METHODS, LARGE_STRING)).fill_null(-1).to_numpy()
    judged.breaks(VIOLATION, "method is neither cross_judge nor self_judge", usable & (method < 0))
    judged.breaks(INCONSISTENT, "self_judge, but judge and target differ", usable & (method == 1) & another)
    judged.breaks(INCONSISTENT, "cross_judge, but judge and target are one", usable & (method == 0) & itself)


def _scores(judged: Judged, rubric: Rubric, usable: Flags) -> tuple[Flags, Flags]:
    """(a score has a wrong type, a dimension has a score on the scale)."""
    fields, tape, form = judged.fields, judged.fields.tape, rubric.record
    count, scores = len(rubric.dimensions), fields.node(SCORES)
    keys = [*rubric.dimensions, *(key for key in form.beside_scores if key not in rubric.dimensions)]
    members = tape.members(scores, keys)
    nodes = np.column_stack([members[:, :count], fields.node(OVERALL)])
    flat, whole = fields.whole_numbers(nodes.ravel())
    values, is_whole = flat.reshape(nodes.shape), whole.reshape(nodes.shape)
    wrong: Flags = np.logical_or.reduce((nodes >= 0) & ~is_whole, axis=1)
    missing = absent(tape.kinds(nodes))
    on_scale = is_whole[:, :-1] & (values[:, :-1] >= rubric.bottom) & (values[:, :-1] <= rubric.top)
    beyond = np.logical_or.reduce(is_whole[:, :-1] & ~on_scale, axis=1)
    lacks = np.logical_or.reduce(missing if form.asks(OVERALL) else missing[:, :-1], axis=1)
    judged.breaks(VIOLATION, "a dimension or overall_score is missing", usable & lacks)
    judged.breaks(VIOLATION, f"a score outside {rubric.bottom} to {rubric.top}", beyond)
    if form.path(SCORES):
        added, wrong_added = _added(fields, scores, members, keys=keys)
        judged.breaks(VIOLATION, "a dimension that the rubric does not have", added)
        wrong |= wrong_added
        unscored = absent(tape.kinds(scores))
    else:  # among the other fields of the record: a key of any name may stand there
        unscored = np.logical_and.reduce(missing[:, :-1], axis=1)
    judged.breaks(REFUSAL, "neither scores nor who judged what", usable & unscored & fields.nameless())

    names = [*rubric.dimensions, OVERALL]
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
    judged.columns["verdict"] = _recomputed(rubric, values, total, known=known)
    return wrong, np.logical_or.reduce(on_scale, axis=1)


def _recomputed(
    rubric: Rubric, values: npt.NDArray[np.int64], total: npt.NDArray[np.int64], *, known: Flags
) -> pa.Array:
    """The verdicts that the scores make; null where a score is not known."""
    fail_max, pass_min = rubric.limits
    needed = [values[:, k] != rubric.bottom for k in rubric.pass_nonzero]
    passed = (total >= pass_min) & np.logical_and.reduce(needed, axis=0, initial=True)
    verdict = np.where(total <= fail_max, 0, np.where(passed, 2, 1))
    return pa.array(VERDICTS, LARGE_STRING).take(pa.array(verdict, mask=~known))


def _added(fields: Fields, scores: Ints, members: npt.NDArray[np.int32], *, keys: list[str]) -> tuple[Flags, Flags]:
    """(has a score that the rubric does not know, and one of a wrong type); of duplicate keys the last counts."""
    tape, rows = fields.tape, len(scores)
    added, wrong = np.zeros(rows, np.bool_), np.zeros(rows, np.bool_)
    count = tape.member_counts(scores)
    odd = np.flatnonzero(count != (members >= 0).sum(axis=1)).astype(np.int32)
    if len(odd):
        found, which, names = tape.names(scores[odd])
        frame = pl.DataFrame({"row": odd[which], "key": pl.from_arrow(names.to_arrow()), "node": found})
        last = frame.filter(~pl.col("key").is_in(keys)).unique(["row", "key"], keep="last", maintain_order=True)
        row, node = last["row"].to_numpy(), last["node"].to_numpy()
        added[row] = True
        wrong[row[~fields.whole_numbers(node)[1]]] = True
    return added, wrong


def _own_flags(judged: Judged, usable: Flags) -> Flags:
    """The judge's own flags as lists, null where there is no array; where one is no string."""
    fields, tape, flags = judged.fields, judged.fields.tape, judged.fields.node("flags")
    if fields.form.asks("flags"):
        judged.breaks(VIOLATION, "flags is absent", usable & absent(tape.kinds(flags)))
    nodes, owner = tape.elements(flags)
    strings = tape.kind[nodes] == STRING
    wrong = np.zeros(len(flags), np.bool_)
    wrong[owner[~strings]] = True
    bounds = bounds_by_owner(owner[strings], len(flags))
    words = tape.texts(nodes[strings]).to_arrow()
    unlisted = pa.array(tape.kinds(flags) != ARRAY)
    judged.columns["judge_flags"] = pa.LargeListArray.from_arrays(pa.array(bounds), words, mask=unlisted)
    return wrong


def _verdict(judged: Judged, usable: Flags) -> None:
    """The declared verdict, and where it is not the one that the scores make."""
    tape, nodes = judged.fields.tape, judged.fields.node("verdict")
    strings = tape.kinds(nodes) == STRING
    declared = tape.texts(np.where(strings, nodes, -1).astype(np.int32)).to_arrow(strings)
    judged.columns["verdict_declared"] = declared
    if judged.fields.form.asks("verdict"):
        known = _true(pc.is_in(declared, pa.array(VERDICTS, LARGE_STRING)))
        judged.breaks(VIOLATION, "verdict is absent or none of PASS, PARTIAL, FAIL", usable & ~known)
    judged.warned.append(_true(pc.not_equal(declared, judged.columns["verdict"])))


def _evidence(judged: Judged, prepared: Prepared, usable: Flags) -> Flags:
    """Evidence for every dimension, quotes that are long or made up; where an entry has a wrong type."""
    rows, rubric, fields = len(usable), prepared.rubric, judged.fields
    output_id = pc.if_else(pa.array(usable), judged.columns["output_id"], pa.scalar(None, LARGE_STRING))
    entries, wrong = entries_of(fields, prepared.target_ids, prepared.targets, output_id=output_id)
    judged.evidence = entries
    count = np.bincount(entries.row, minlength=rows)
    found = np.bincount(entries.row[entries.found], minlength=rows)
    if rubric.evidence_required and fields.form.by_dimension:
        which = pc.index_in(entries.dimension, pa.array(rubric.dimensions, LARGE_STRING)).fill_null(-1).to_numpy()
        backed = np.zeros((rows, len(rubric.dimensions)), np.bool_)
        backed[entries.row[which >= 0], which[which >= 0]] = True
        judged.breaks(VIOLATION, "a dimension without evidence", usable & ~np.logical_and.reduce(backed, axis=1))
    elif rubric.evidence_required:
        judged.breaks(VIOLATION, "no evidence", usable & (count == 0))
    checked = entries.checked & fields.form.asks(EVIDENCE)
    judged.columns["evidence_count"] = pa.array(count, pa.int32(), mask=~(usable & fields.form.asks(EVIDENCE)))
    judged.columns["quotes_found"] = pa.array(found, pa.int32(), mask=~checked)
    long = np.zeros(rows, np.bool_)
    long[entries.row[entries.long]] = True
    judged.warned += [long, checked & (found < count)]
    return wrong
