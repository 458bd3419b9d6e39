"""Profile `judge_protocol`: verdicts of LLM judges, validated and aggregated."""

from rageval_batch.model import OutputFormat, Profile, QuestionFormat, Scoring, SelfKeyed, Summary, Unit, Views
from rageval_batch.profiles.judge_protocol.declaration import (
    CARRIED,
    COLUMNS,
    EXAMPLE,
    GATES,
    METRICS,
    PARAMS,
    RECORD_SCHEMA,
    SAMPLE_SCHEMA,
    columns_for,
)
from rageval_batch.profiles.judge_protocol.explain import explain_answer
from rageval_batch.profiles.judge_protocol.rubric import KEYS, SAMPLE
from rageval_batch.profiles.judge_protocol.samples import list_columns, read_list, restored
from rageval_batch.profiles.judge_protocol.score import prepare, score

PROFILE = Profile(
    name="judge_protocol",
    version=2,
    title="Verdicts of LLM judges, validated and compared",
    doc=(
        "An output is a judge's strict JSON: scores of a rubric's dimensions, verdict, evidence. A judgement is valid "
        "or carries every flag that holds; low scores are never invalid. -q is an optional list of the samples that "
        "should have been judged, -c the optional texts that were judged. Self-judging stays out of the main numbers."
    ),
    params=PARAMS,
    columns=COLUMNS,
    metrics=METRICS,
    gates=GATES,
    inputs=SelfKeyed(
        questions=QuestionFormat(schema=SAMPLE_SCHEMA, key=SAMPLE, marks=SAMPLE[1:]),
        outputs=OutputFormat(schema=RECORD_SCHEMA, text=False),
        example=EXAMPLE,
        keys=KEYS,
        carried=CARRIED,
        reconcile="judge_reconciled",
        log="judge_log",
        list_columns=list_columns,
        read_list=read_list,
        texts=("output_id", "text"),
        order=(
            "run_id", "question_id", "prompt_variant", "target_model", "output_id", "judge_model", "repeat", "input",
            "line",
        ),
        whole_files=True,
        archive=("valid", "flags"),
    ),
    scoring=Scoring(prepare=prepare, score=score, explain=explain_answer, columns=columns_for),
    summary=Summary(
        stats={
            "cross_score_avg": ("score", "micro"),
            "self_score_avg": ("self_score", "micro"),
            "valid_share": ("valid", "micro"),
            "answered_share": ("answered", "micro"),
        },
        headline=("cross_score_avg", "valid_share", "answered_share"),
        run_stat="micro",
        unit=Unit(
            name="sample",
            row="judgement",
            key=("question_id", "prompt_variant", "target_key", "output_id"),
            counted="cross_counted",
            restored=restored,
        ),
    ),
    views=Views(
        keys=("run_id", "judge_model", "question_id", "prompt_variant", "target_model", "output_id", "repeat"),
        shown={
            "judge_summary": (
                "judge_model", "target_model", "prompt_variant", "n", "score", "pass_share", "fail_share",
            ),
            "judge_self_summary": ("judge_model", "prompt_variant", "n", "score", "pass_share", "fail_share"),
            "judge_invalid": ("judge_model", "flag", "n", "rows", "rate"),
            "judge_agreement": ("judge_a", "judge_b", "n", "kappa", "alpha"),
            "judge_self_preference": ("model", "n_self", "n_others", "by_itself", "by_others", "self_preference"),
            "judge_variant_drift": ("base_variant", "prompt_variant", "n", "mean_change", "low", "high"),
        },
    ),
)  # fmt: skip
