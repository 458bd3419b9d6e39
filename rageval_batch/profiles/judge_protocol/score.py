"""`judge_protocol`: verdicts of LLM judges, validated and kept comparable."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from rageval_batch.columnar import kernels, text
from rageval_batch.columnar.json_objects import NO_REASON, REASONS
from rageval_batch.columnar.strings import LARGE_STRING, Flags, Ints, from_list
from rageval_batch.errors import InputError
from rageval_batch.model.profile import (
    Column,
    Explanation,
    Gate,
    Metric,
    Param,
    Params,
    Profile,
    Records,
    Scored,
    Section,
)
from rageval_batch.model.schemas import KEYS, EvalSet
from rageval_batch.profiles.judge_protocol.evidence import entries_of
from rageval_batch.profiles.judge_protocol.record import FLAGS, WARNINGS, Prepared, folded, judge
from rageval_batch.profiles.judge_protocol.rubric import KEYS as RECORD_KEYS
from rageval_batch.profiles.judge_protocol.rubric import OVERALL, SAMPLE, Rubric, rubric_of, rubric_problems
from rageval_batch.resources import packaged_data

WORDS = pa.large_list(LARGE_STRING)
DEFAULT_RUBRIC: dict[str, Any] = packaged_data("judge_protocol.toml")

_BEFORE = (
    *(Column(name, LARGE_STRING, doc) for name, doc in (
        ("judge_model", "who judged: the column, else what the record says"),
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
    Column("verdict_declared", LARGE_STRING, "the verdict as the judge gave it"),
    Column("verdict", LARGE_STRING, "the verdict that the scores make"),
    Column("evidence_count", pa.int32(), "entries of evidence with dimension, quote and reason"),
    Column("quotes_found", pa.int32(), "of those, quotes that stand in the target's text; null without the text"),
    Column("score", pa.float64(), "overall_recomputed over the highest sum; null where invalid"),
    Column(
        "fail_reason",
        LARGE_STRING,
        "why the text cannot be read, else the first flag; missing where there is no record",
    ),
    Column("cross_score", pa.float64(), "the score of a valid judgement of another model, duplicates left out"),
    Column("cross_counted", pa.int8(), "1 where there is a cross_score"),
    Column("self_score", pa.float64(), "the same for a model that judged itself"),
    Column("self_counted", pa.int8(), "1 where there is a self_score"),
    Column("due", pa.int8(), "1 on the row that stands for a judge and a sample of the list; null without a list"),
    Column("answered", pa.int8(), "on such a row, 1 if there is a record and 0 if it is missing"),
    Column("target_key", LARGE_STRING, "target_model for comparing: NFKC, strip, casefold"),
    Column("judge_name", LARGE_STRING, "judge_model as the run first writes it: one name for all its spellings"),
    Column("target_name", LARGE_STRING, "target_model as the run first writes it"),
    Column("base_variant", LARGE_STRING, "the variant that drift is measured from; null: the first by name"),
)
_CARRIED = (
    Column("judge_key", LARGE_STRING, "judge_model for comparing"),
    Column("key_known", pa.bool_(), "judge and sample are known, as far as the rubric asks for them"),
    Column("points", pa.large_list(pa.int64()), "the dimensions' scores, then the overall one"),
    Column("digest_a", pa.int64(), "of the text"),
    Column("digest_b", pa.int64(), "of the text"),
    Column("timestamp", LARGE_STRING, "meta.timestamp"),
)
_TAKEN = frozenset(
    column.lower()
    for column in (*KEYS.names, *(c.name for c in (*_BEFORE, *_BEHIND, *_CARRIED)), "eval_set", "commit", "filename")
)


def columns_of(rubric: Rubric) -> tuple[Column, ...]:
    """The columns of a score row: one a dimension between those that all rubrics have."""
    scored = (Column(name, pa.int32(), f"{rubric.bottom} to {rubric.top}") for name in rubric.dimensions)
    return (*_BEFORE, *scored, *_BEHIND)


def columns_for(params: Params) -> tuple[Column, ...]:
    """The columns with these parameters."""
    return columns_of(rubric_of(params["rubric"]))


PARAMS = (
    Param("rubric", DEFAULT_RUBRIC, "FILE.toml with dimensions, scale, evidence_required, [verdict] and [record]",
          problems=partial(rubric_problems, taken=_TAKEN)),
    Param("refusal_phrases", (), "phrases of a refusal beside the packaged ones: one, or a JSON list"),
    Param("base_variant", "", "the prompt variant that drift is measured from; empty: the first by name"),
)  # fmt: skip

METRICS = (
    # A question has many judgements: a run's score is the mean of them all (micro), not that of its questions' means.
    Metric("score", "cross-judging: valid, no duplicate", True, None, "cross_score", "cross_counted", "cross_score"),
    Metric("self_score", "self-judging: valid, no duplicate", True, None, "self_score", "self_counted"),
    Metric("valid", "share of usable judgements, missing ones among the others", True, 0.0, "valid", "weight",
           coverage=True),
    Metric("answered", "share of the listed samples that judges have a record for", True, None, "answered", "due",
           coverage=True),
)  # fmt: skip

GATES = (Gate("answered_share", "answered", "micro", ">=", 1.0),)


def prepare(eval_set: EvalSet, params: Params) -> Prepared:
    """The rubric read, phrases folded, target texts squashed."""
    listed = [phrase for phrases in packaged_data("phrases.json")["refusal"].values() for phrase in phrases]
    folded = (text.nfkc_casefold(phrase) for phrase in (*listed, *params["refusal_phrases"]))
    return Prepared(
        rubric_of(params["rubric"]),
        tuple(dict.fromkeys(phrase for phrase in folded if phrase.strip())),
        params["base_variant"] or None,
        pa.array(list(eval_set.chunks), LARGE_STRING),
        kernels.squash(from_list(list(eval_set.chunks.values()))),
    )


def listed_columns(params: Params) -> tuple[str, ...]:
    """What a sample of the list needs: the parts of a sample that the rubric asks for."""
    record = rubric_of(params["rubric"]).record
    return tuple(name for name in SAMPLE if record.asks(name))


def read_list(samples: pa.Table) -> pa.Table:
    """The sample list with target names for comparing; InputError for a sample that is listed twice.

    What the rubric does not ask for is null.
    """
    named = [name for name in SAMPLE if name in samples.column_names]
    for name in SAMPLE:
        if name not in named:
            samples = samples.append_column(name, pa.nulls(samples.num_rows, LARGE_STRING))
    keys = folded(samples.column("target_model").combine_chunks().cast(LARGE_STRING))
    listed = samples.append_column("target_key", keys)
    frame = pl.from_arrow(listed)
    assert isinstance(frame, pl.DataFrame)
    again = frame.filter(~pl.struct("question_id", "prompt_variant", "target_key", "output_id").is_first_distinct())
    if len(again):
        row = again.row(0, named=True)
        sample = ", ".join(f"{name} '{row[name]}'" for name in named)
        raise InputError(f"{row['where']}: the sample of {sample} is there twice. List each once.")
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
    columns["fail_reason"] = pa.array([*REASONS, *FLAGS], LARGE_STRING).take(pa.array(why, mask=valid))
    total = columns["overall_recomputed"].fill_null(0).to_numpy() / prepared.rubric.best
    columns["score"] = pa.array(total, mask=~valid)
    columns["base_variant"] = pa.repeat(pa.scalar(prepared.base_variant, LARGE_STRING), batch.num_rows)
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
    tape = judged.fields.tape
    broken = [{"flag": FLAGS[flag], "rule": rule} for flag, rule, rows in judged.rules if rows[0]]
    if reason[0] != NO_REASON and tape.status[0]:
        broken[0]["rule"] += f": {REASONS[reason[0]]}, {tape.problem(0)}"
    sections = [Section("rules broken", tuple(sorted(broken, key=lambda line: FLAGS.index(line["flag"]))))]
    names = (*prepared.rubric.dimensions, OVERALL, "overall_recomputed")
    sections.append(Section("scores", tuple({"score": n, "value": judged.columns[n][0].as_py()} for n in names)))
    output_id = judged.columns["output_id"]
    entries, _ = entries_of(judged.fields, prepared.target_ids, prepared.targets, output_id, -1)
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
    keys = folded(rows.column("target_model").combine_chunks().cast(LARGE_STRING))
    named = pl.Series("target_key", pl.from_arrow(keys))
    return frame.with_columns(*columns, named, weight=pl.lit(1.0)).to_arrow()


SAMPLE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": list(SAMPLE),
    "properties": {
        name: {"type": "string", "pattern": "\\S", "description": "a text that is not blank"} for name in SAMPLE
    },
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
        keys=RECORD_KEYS,
        carried=_CARRIED,
        reconcile="judge_settled",
        log="judge_log",
        listed=listed_columns,
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
    question_marks=SAMPLE[1:],
    question_key=SAMPLE,
    unit="sample",
    unit_key=("question_id", "prompt_variant", "target_key", "output_id"),
    counted="cross_counted",
    restored=restored,
)  # fmt: skip
