"""Profile `legal_rag`: exact facts, sets of evidence, and gaps where the right answer is to say so."""

from rageval_batch.model import ByQuestion, OutputFormat, Profile, QuestionFormat, Scoring, Summary, Uncomputed, Views
from rageval_batch.profiles.legal_rag.declaration import COLUMNS, GATES, METRICS, PARAMS
from rageval_batch.profiles.legal_rag.explain import explain_answer
from rageval_batch.profiles.legal_rag.questions import weights
from rageval_batch.profiles.legal_rag.schema import (
    ANSWER_SCHEMA,
    EXAMPLE,
    HEADER,
    MARKS,
    QUESTION_SCHEMA,
    question_problems,
)
from rageval_batch.profiles.legal_rag.score import missing_columns, prepare, score

PROFILE = Profile(
    name="legal_rag",
    version=7,
    title="Exact facts, sets of evidence, and gaps in a record",
    doc=(
        "Three types of question. fact_exact: typed values and their citations. evidence_set: recall and precision of "
        "evidence. conflict_gap: abstain where the record is silent, quote it, make nothing up. Outputs are JSON "
        "objects or plain text. 0 to 1."
    ),
    params=PARAMS,
    columns=COLUMNS,
    metrics=METRICS,
    gates=GATES,
    inputs=ByQuestion(
        questions=QuestionFormat(
            schema=QUESTION_SCHEMA,
            header=HEADER,
            problems=question_problems,
            marks=MARKS,
            strata=("type", "category", "difficulty"),
        ),
        outputs=OutputFormat(schema=ANSWER_SCHEMA),
        example=EXAMPLE,
        weights=weights,
    ),
    scoring=Scoring(
        prepare=prepare,
        score=score,
        missing=missing_columns,
        explain=explain_answer,
        uncomputed=(
            Uncomputed(
                part="citation_correctness",
                where="question_type = 'fact_exact' and citation_correctness = 0 and critical_count is null",
                why="it is 0 where a question without required_evidence gets an answer without a citation, "
                "so a right fact scores 0.7",
                give="Give the questions required_evidence, or citation_required: false.",
            ),
        ),
    ),
    summary=Summary(
        stats={
            "total_tests": ("passed", "n_total"),
            "passed_tests": ("passed", "sum"),
            "pass_rate": ("passed", "mean"),
            "overall_percentage": ("score", "percent"),
        },
        headline=("overall_percentage", "pass_rate", "passed_tests"),
        groups=("question_type", "difficulty", "category", "tags"),
    ),
    views=Views(keys=("run_id", "question_id", "repeat", "question_type", "weight")),
)
