"""`judge_protocol`: verdicts of LLM judges, validated and kept comparable."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from rageval_batch import answers, kernels, text
from rageval_batch.answers import NO_REASON, REASONS
from rageval_batch.errors import InputError
from rageval_batch.packaged import packaged
from rageval_batch.profile import Column, Explanation, Gate, Metric, Param, Params, Profile, Records, Scored, Section
from rageval_batch.profiles.judge_record import (
    ASKED,
    FLAGS,
    OVERALL,
    SAMPLE,
    WARNINGS,
    Prepared,
    entries_of,
    folded,
    judge,
)
from rageval_batch.rubric import Rubric, rubric_of, rubric_problems
from rageval_batch.strings import LARGE, Flags, Ints, from_arrow, from_list
from rageval_batch.tables import KEYS, EvalSet

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
    Column("cross_counted", pa.int8(), "1 where there is a cross_score"),
    Column("self_score", pa.float64(), "the same for a model that judged itself"),
    Column("self_counted", pa.int8(), "1 where there is a self_score"),
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
    Param("refusal_phrases", (), "phrases of a refusal beside the packaged ones: one, or a JSON list"),
    Param("base_variant", "", "the prompt variant that drift is measured from; empty: the first by name"),
)  # fmt: skip

METRICS = (
    # A question has many judgements: its value is their mean, and micro is the mean of all judgements of a run.
    Metric("score", "cross-judging: valid, no duplicate", True, None, "cross_score", "cross_counted", "cross_score"),
    Metric("self_score", "self-judging: valid, no duplicate", True, None, "self_score", "self_counted"),
    Metric("valid", "share of usable judgements, missing ones among the others", True, 0.0, "valid", "weight"),
    Metric("answered", "share of the listed samples that judges have a record for", True, None, "answered", "due"),
)

GATES = (Gate("answered_share", "answered", "micro", ">=", 1.0),)


def prepare(eval_set: EvalSet, params: Params) -> Prepared:
    """The rubric read, phrases folded, target texts squashed."""
    listed = [phrase for phrases in packaged("phrases.json")["refusal"].values() for phrase in phrases]
    folded = (text.nfkc_casefold(phrase) for phrase in (*listed, *params["refusal_phrases"]))
    return Prepared(
        rubric_of(params["rubric"]),
        tuple(dict.fromkeys(phrase for phrase in folded if phrase.strip())),
        params["base_variant"] or None,
        pa.array(list(eval_set.chunks), LARGE),
        kernels.squash(from_list(list(eval_set.chunks.values()))),
    )


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


def score(prepared: Prepared, batch: pa.RecordBatch) -> Scored:
    """Every column of a judgement by itself; what needs the other records is for `settle`."""
    judged, reason = judge(prepared, batch)
    columns = judged.columns
    mask = _bits([judged.holds(flag) for flag in range(len(FLAGS))])
    valid = mask == 0
    columns["valid"] = pa.array(valid)
    columns["flags"] = _words(FLAGS, mask)
    columns["warnings"] = _words(WARNINGS, _bits(judged.warned))
    first = np.array([0, *((m & -m).bit_length() - 1 for m in range(1, 1 << len(FLAGS)))])[mask]
    why = np.where(reason == NO_REASON, len(REASONS) + first, reason)
    columns["fail_reason"] = pa.array([*REASONS, *FLAGS], LARGE).take(pa.array(why, mask=valid))
    total = columns["overall_recomputed"].fill_null(0).to_numpy() / prepared.rubric.best
    columns["score"] = pa.array(total, mask=~valid)
    columns["base_variant"] = pa.repeat(pa.scalar(prepared.base_variant, LARGE), batch.num_rows)
    for column in _BEHIND:
        columns.setdefault(column.name, pa.nulls(batch.num_rows, column.type))
    return Scored(columns)


def _bits(flags: list[Flags]) -> npt.NDArray[np.int64]:
    """One number a row: bit k is flag k."""
    return np.array(flags, np.int64).T @ (np.int64(1) << np.arange(len(flags)))


def _words(names: tuple[str, ...], mask: npt.NDArray[np.int64]) -> pa.Array:
    """Lists of the names whose bits are set."""
    lists = [[name for bit, name in enumerate(names) if m >> bit & 1] for m in range(1 << len(names))]
    return pa.array(lists, WORDS).take(pa.array(mask))


# --- one judgement, taken apart -------------------------------------------------------------------------------------


def explain(prepared: Prepared, batch: pa.RecordBatch) -> Explanation:
    """Every rule that the one judgement of the batch breaks, its scores, and what it quotes."""
    judged, reason = judge(prepared, batch)
    found = answers.read_objects(batch.column("output"), False)
    broken = [{"flag": FLAGS[flag], "rule": rule} for flag, rule, rows in judged.rules if rows[0]]
    if reason[0] != NO_REASON and found.tape.status[0]:
        broken[0]["rule"] += f": {REASONS[reason[0]]}, {found.tape.problem(0)}"
    sections = [Section("rules broken", tuple(sorted(broken, key=lambda line: FLAGS.index(line["flag"]))))]
    names = (*prepared.rubric.dimensions, OVERALL, "overall_recomputed")
    sections.append(Section("scores", tuple({"score": n, "value": judged.columns[n][0].as_py()} for n in names)))
    root = np.where(found.usable, found.tape.root, -1).astype(np.int32)
    node = found.tape.members(root, ["evidence"])[:, 0].copy()
    entries, _ = entries_of(prepared, found.tape, node, judged.columns["output_id"], -1)
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


def restored(rows: pa.Table) -> pa.Table:
    """Rows of the view judge_protocol with target_key, weight and the counted scores: they follow from its columns."""
    frame = pl.from_arrow(rows)
    assert isinstance(frame, pl.DataFrame)
    once = pl.col("valid") & ~pl.col("warnings").list.contains("duplicate")
    scores = {
        "cross": pl.when(once & (pl.col("method") == "cross_judge")).then("score"),
        "self": pl.when(once & (pl.col("method") == "self_judge")).then("score"),
    }
    columns = [
        column
        for name, score in scores.items()
        for column in (score.alias(f"{name}_score"), score.is_not_null().replace_strict(
            {True: 1, False: None}, return_dtype=pl.Int8).alias(f"{name}_counted"))
    ]  # fmt: skip
    keys = folded(rows.column("target_model").combine_chunks().cast(LARGE))
    named = pl.Series("target_key", pl.from_arrow(keys))
    return frame.with_columns(*columns, named, weight=pl.lit(1.0)).to_arrow()


_SAMPLE_KEY = ("question_id", "prompt_variant", "target_model", "output_id")
SAMPLE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": list(_SAMPLE_KEY),
    "properties": {name: {"type": "string", "minLength": 1} for name in _SAMPLE_KEY},
}

PROFILE = Profile(
    name="judge_protocol",
    title="Verdicts of LLM judges, validated and compared",
    doc=(
        "An output is a judge's strict JSON: scores of a rubric's dimensions, verdict, evidence. A judgement is valid "
        "or carries every flag that holds; low scores are never invalid. -q is an optional list of the samples that "
        "should have been judged, -c the optional texts that were judged. Self-judging stays out of the main numbers."
    ),
    params=PARAMS,
    columns=columns_of(rubric_of(DEFAULT_RUBRIC)),
    metrics=METRICS,
    gates=GATES,
    run_stat="micro",
    score_top=1.0,
    prepare=prepare,
    score=score,
    explain=explain,
    missing_columns=missing_columns,
    summary={
        "cross_score_avg": ("score", "micro"),
        "self_score_avg": ("self_score", "micro"),
        "valid_share": ("valid", "micro"),
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
        "judge_counted", "judge_means", "judge_summary", "judge_self_summary", "judge_invalid", "judge_agreement",
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
    question_schema=SAMPLE_SCHEMA,
    question_marks=_SAMPLE_KEY[1:],
    question_key=_SAMPLE_KEY,
    unit="sample",
    unit_key=("question_id", "prompt_variant", "target_key", "output_id"),
    counted="cross_counted",
    restored=restored,
)  # fmt: skip
