"""Profile `include_rate`: required and forbidden phrases, citations and weights."""

from rageval_batch.model import ByQuestion, Profile, QuestionFormat, Scoring, Summary, Views
from rageval_batch.profiles.include_rate.declaration import COLUMNS, EXAMPLE, FIELDS, METRICS, PARAMS, QUESTION_SCHEMA
from rageval_batch.profiles.include_rate.explain import explain_answer
from rageval_batch.profiles.include_rate.score import missing_columns, prepare, score

PROFILE = Profile(
    name="include_rate",
    version=4,
    title="Required and forbidden phrases, citations, weights",
    doc=(
        "The answer must have a phrase of every required group, none of the forbidden phrases and, where the question "
        "wants one, a citation. Both sides are normalised, so that 78,3% finds 78.3%. 0 to 1, weighted by question."
    ),
    params=PARAMS,
    columns=COLUMNS,
    metrics=METRICS,
    inputs=ByQuestion(
        questions=QuestionFormat(schema=QUESTION_SCHEMA, marks=tuple(FIELDS)),
        example=EXAMPLE,
    ),
    scoring=Scoring(prepare=prepare, score=score, missing=missing_columns, explain=explain_answer),
    summary=Summary(
        stats={
            "weighted_score": ("score", "weighted_mean"),
            "score_avg": ("score", "mean"),
            "include_rate_avg": ("include_rate", "mean"),
            "safe_rate": ("safe_ok", "mean"),
            "citation_rate": ("citation_ok", "mean"),
            "exclude_hits_sum": ("exclude_hits", "sum"),
        },
        headline=("weighted_score", "include_rate_avg", "safe_rate"),
        run_stat="weighted_mean",
    ),
    views=Views(keys=("run_id", "question_id", "repeat", "weight")),
)
