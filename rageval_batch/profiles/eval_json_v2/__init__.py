"""Profile `eval_json_v2`: structured JSON answers against an expected example."""

from rageval_batch.model import ByQuestion, OutputFormat, Profile, QuestionFormat, Scoring, Summary, Uncomputed
from rageval_batch.profiles.eval_json_v2.declaration import (
    ANSWER_SCHEMA,
    COLUMNS,
    EXAMPLE,
    FIELDS,
    GATES,
    METRICS,
    PARAMS,
    QUESTION_SCHEMA,
)
from rageval_batch.profiles.eval_json_v2.expected import prepare
from rageval_batch.profiles.eval_json_v2.explain import explain_answer
from rageval_batch.profiles.eval_json_v2.score import missing_columns, score

PROFILE = Profile(
    name="eval_json_v2",
    version=2,
    title="Structured JSON answers against an expected example",
    doc=(
        "The answer must be one JSON object with seven fields. Three class fields are matched softly, two lists by F1, "
        "the evidence by keywords and length, the source map against the retrieved chunks. 0 to 100."
    ),
    params=PARAMS,
    columns=COLUMNS,
    metrics=METRICS,
    gates=GATES,
    inputs=ByQuestion(
        questions=QuestionFormat(
            schema=QUESTION_SCHEMA,
            marks=("expected.answer_example", *(f"expected.{name}" for name in FIELDS)),
            strata=tuple(
                f"expected.answer_example.{name}|expected.{name}" for name in ("target_audience", "main_topic")
            ),
        ),
        outputs=OutputFormat(schema=ANSWER_SCHEMA, text=False),
        example=EXAMPLE,
    ),
    scoring=Scoring(
        prepare=prepare,
        score=score,
        missing=missing_columns,
        explain=explain_answer,
        uncomputed=(
            Uncomputed(
                part="grounding",
                where="context_missing and schema_ok",
                why="it is 0 without the retrieved chunks",
                give="Give them with -c FILE, or as contexts of the output rows.",
            ),
        ),
    ),
    summary=Summary(
        stats={
            "eval_score_avg": ("score", "mean"),
            "eval_score_p50": ("score", "p50"),
            "eval_score_p90": ("score", "p90"),
            "eval_score_p95": ("score", "p95"),
            "eval_score_min": ("score", "min"),
            "eval_score_max": ("score", "max"),
            "schema_pass_rate": ("schema_ok", "mean"),
            "repair_rate": ("repaired", "mean"),
            "context_missing_count": ("context_missing", "sum"),
        },
        headline=("eval_score_avg", "schema_pass_rate"),
        score_top=100.0,
        provenance=("prompt_sha256", "prompt_version", "index_version", "model_id", "adapter_id", "eval_set_version"),
    ),
)
