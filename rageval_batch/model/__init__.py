"""What a profile is made of: all that a profile declared outside this package imports stands here.

    from rageval_batch.model import Column, Metric, Profile, Scored, Scoring, Summary

A profile is scored as `rageval score … -p FILE.py:NAME`, `-p package.module:NAME`, or by its name where a package
declares it as an entry point of the group `rageval_batch.profiles`.
"""

from rageval_batch.columnar.strings import LARGE_STRING
from rageval_batch.model.gate import LEVELS, METRIC_STATS, OPS, RUN_STATS, SCORE_STATS, STATS, Gate
from rageval_batch.model.inputs import ByQuestion, Example, Inputs, OutputFormat, QuestionFormat, SelfKeyed
from rageval_batch.model.metric import Column, Metric
from rageval_batch.model.params import Param, Params, canonical_json, params_sha256
from rageval_batch.model.profile import Explanation, Profile, Scored, Scoring, Section, Summary, Uncomputed, Unit, Views
from rageval_batch.model.schemas import BATCH, EvalSet, OutputField

__all__ = [
    "BATCH",
    "LARGE_STRING",
    "LEVELS",
    "METRIC_STATS",
    "OPS",
    "RUN_STATS",
    "SCORE_STATS",
    "STATS",
    "ByQuestion",
    "Column",
    "EvalSet",
    "Example",
    "Explanation",
    "Gate",
    "Inputs",
    "Metric",
    "OutputField",
    "OutputFormat",
    "Param",
    "Params",
    "Profile",
    "QuestionFormat",
    "Scored",
    "Scoring",
    "Section",
    "SelfKeyed",
    "Summary",
    "Uncomputed",
    "Unit",
    "Views",
    "canonical_json",
    "params_sha256",
]
