"""Profile `claim_evidence`: claims with their evidence, citations, entities, stages, rankings and contradictions."""

from rageval_batch.model import ByQuestion, OutputField, OutputFormat, Profile, QuestionFormat, Scoring, Summary
from rageval_batch.profiles.claim_evidence.declaration import (
    ANSWER_SCHEMA,
    COLUMNS,
    EXAMPLE,
    FIELDS,
    GAIN,
    GATES,
    METRICS,
    PARAMS,
    columns_for,
)
from rageval_batch.profiles.claim_evidence.explain import explain_answer
from rageval_batch.profiles.claim_evidence.score import failing_claims, missing_columns, prepare, score
from rageval_batch.profiles.claim_evidence.tasks import TASK_SCHEMA, contradictory_gold

PROFILE = Profile(
    name="claim_evidence",
    version=2,
    title="Claims, citations and evidence, with quality gates",
    doc=(
        "The answer lists its claims with their evidence, and may list sentences, stages, artifacts, a ranking and "
        "contradictions. A claim is supported by its label, else by the words that it shares with its evidence. "
        "The score is the share of the row's quality gates that hold. 0 to 1."
    ),
    params=PARAMS,
    columns=COLUMNS,
    metrics=METRICS,
    gates=GATES,
    inputs=ByQuestion(
        questions=QuestionFormat(
            schema=TASK_SCHEMA,
            problems=contradictory_gold,
            marks=("expected_entities", "min_citations", "gold_ranking", "gold_contradictions"),
            strata=("category",),
        ),
        outputs=OutputFormat(schema=ANSWER_SCHEMA, text=False),
        example=EXAMPLE,
        output_fields=tuple(OutputField(name, name == "answer") for name in FIELDS),
    ),
    scoring=Scoring(
        prepare=prepare,
        score=score,
        missing=missing_columns,
        explain=explain_answer,
        failing_claims=failing_claims,
        columns=columns_for,
    ),
    summary=Summary(
        stats={
            "score_avg": ("score", "mean"),
            "answered_share": ("answered", "mean"),
            "provenance_rate": ("provenance_rate", "micro"),
            "facts_without_evidence": ("facts_without_evidence", "sum"),
            "claim_precision": ("claim_precision", "micro"),
            "unsupported_claim_rate": ("unsupported_claim_rate", "micro"),
            "citation_precision": ("citation_precision", "micro"),
            "citations_ok_rate": ("citations_ok", "mean"),
            "entity_recall": ("entity_recall", "mean"),
            "pipeline_completion_min": ("pipeline_completion", "min"),
            "artifacts_missing_max": ("artifacts_missing", "max"),
            "ndcg_10": (GAIN, "mean"),
            "map": ("map", "mean"),
            "contradiction_precision": ("contradiction_precision", "micro"),
            "contradiction_recall": ("contradiction_recall", "micro"),
            "contradiction_f1": ("contradiction_f1", "micro"),
            "support_labelled": ("support_labelled", "sum"),
            "support_lexical": ("support_lexical", "sum"),
        },
        headline=("score_avg", "provenance_rate", "claim_precision"),
    ),
)
