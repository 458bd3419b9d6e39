"""`legal_rag` as data: parameters, columns, metrics and gates; `schema` says what a question looks like."""

from __future__ import annotations

import pyarrow as pa

from rageval_batch.columnar.strings import LARGE_STRING
from rageval_batch.columnar.values import DATE_ORDERS, DECIMAL_MARKS
from rageval_batch.model import Column, Gate, Metric, Param
from rageval_batch.profiles.legal_rag.questions import TYPES

LIST_PARAMS = {
    "more_abstention": "phrases that say that nothing is known",
    "more_units": "units of numbers",
    "more_titles": "titles behind or before a name",
    "more_surnames": "surnames before a title",
}
PARAMS = (
    Param("numeric_tolerance", 0.01, "share by which a number may be off where it need not be exact", low=0, high=1),
    Param("date_tolerance_days", 31, "days by which a date may be off where it need not be exact", low=0),
    Param("key_point_recall", 0.6, "share of a key point's keywords that an item must have", low=0, high=1),
    Param("pass_score", 0.7, "score from which an answer passes", low=0, high=1),
    Param("decimal_mark", "auto", "of 1.250 and 1,250; auto: a comma before decimals in Cyrillic texts, else a point",
          choices=DECIMAL_MARKS),
    Param("date_order", "auto", "of 03/05/2024; auto: day first in Cyrillic texts, else month first",
          choices=DATE_ORDERS),
    *(Param(name, "", f"{doc}, beside the packaged ones, with | between them") for name, doc in LIST_PARAMS.items()),
)  # fmt: skip

COLUMNS = (
    Column("question_type", LARGE_STRING, ", ".join(TYPES)),
    Column("score", pa.float64(), "0 to 1, by the formula of the type"),
    Column("passed", pa.bool_(), "the score reaches pass_score"),
    Column("exact_match", pa.float64(), "1 if every typed field is right (fact_exact)"),
    Column("citation_correctness", pa.float64(), "share of the critical evidence that is cited (fact_exact)"),
    Column("evidence_recall", pa.float64(), "share of the key evidence that is covered (evidence_set)"),
    Column("evidence_precision", pa.float64(), "share of the distinct items that are relevant (evidence_set)"),
    Column("citation_provided", pa.bool_(), "an item with a page, or none is required (evidence_set)"),
    Column("abstained", pa.bool_(), "by the flag or by a phrase (conflict_gap)"),
    Column("correct_abstention", pa.bool_(), "abstained where it should, and only there (conflict_gap)"),
    Column("no_hallucination", pa.float64(), "1 less the penalty of every invention (conflict_gap)"),
    Column("inventions", pa.int32(), "numbers, dates and names that the question does not know (conflict_gap)"),
    Column("quote_included", pa.bool_(), "a quote of the record is there, or none is asked for (conflict_gap)"),
    Column("difficulty", LARGE_STRING, "of the question"),
    Column("category", LARGE_STRING, "of the question"),
    Column("tags", pa.list_(LARGE_STRING), "of the question"),
    Column("fail_reason", LARGE_STRING, "missing_output or empty_output"),
    Column("critical_cited", pa.int32(), "pieces of critical evidence that are cited (fact_exact)", internal=True),
    Column("critical_count", pa.int32(), "pieces of critical evidence (fact_exact)", internal=True),
    Column("key_covered", pa.int32(), "pieces of key evidence that are covered (evidence_set)", internal=True),
    Column("key_count", pa.int32(), "pieces of key evidence (evidence_set)", internal=True),
    Column("relevant_items", pa.int32(), "distinct items that cover anything", internal=True),
    Column("retrieved_items", pa.int32(), "distinct items", internal=True),
)

METRICS = (
    Metric("score", "0 to 1", null_counts_as=0.0),
    Metric("passed", "share of answers that pass", null_counts_as=0.0),
    Metric("exact_match", "share of answered facts that are right"),
    Metric("citation_correctness", "critical evidence cited", numerator="critical_cited", denominator="critical_count"),
    Metric("evidence_recall", "key evidence covered", numerator="key_covered", denominator="key_count"),
    Metric("evidence_precision", "items that are relevant", numerator="relevant_items", denominator="retrieved_items"),
    Metric("citation_provided", "share of answered evidence questions with a page"),
    Metric("correct_abstention", "share of answered gaps where it abstained as it should"),
    Metric("no_hallucination", "1 less the penalty of every invention"),
    Metric("inventions", "inventions an answer", higher_is_better=False, scale=None),
    Metric("quote_included", "share of answered gaps with a quote of the record"),
)

GATES = (Gate("pass_rate", "passed", "mean", op=">=", limit=0.7),)
