"""Page 30 row by row: claims, citations, entities, stages, artifacts, ranking, contradictions, and the run gates."""

from __future__ import annotations

import math
import unicodedata
from typing import Any

from oracles.json_text import classify, element_word, try_decode
from oracles.text import keywords, squash, strip

PARAMS: dict[str, Any] = {"support_threshold": 0.5, "required_artifacts": 10, "ndcg_k": 10, "level": "initial"}
TOLERANCE = 1e-9
DONE = {"done", "ok", "success", "completed", "passed", "true"}
FIELDS: dict[str, tuple[type, ...]] = {
    "answer": (str,),
    "sentences": (list,),
    "claims": (list,),
    "stages": (dict, list),
    "artifacts": (list,),
    "ranking": (list,),
    "contradictions": (list,),
}
RATES = [
    "provenance_rate",
    "claim_precision",
    "unsupported_claim_rate",
    "citation_precision",
    "entity_recall",
    "pipeline_completion",
    "contradiction_precision",
    "contradiction_recall",
    "contradiction_f1",
]
COLUMNS = [
    *("question_id", "category", "score", "fail_reason", "fail_detail", "provenance_rate", "facts_without_evidence"),
    *("claim_count", "claim_precision", "unsupported_claim_rate", "citation_count", "citation_precision"),
    *("citations_ok", "entity_recall", "pipeline_completion", "failed_stage", "artifacts_missing", "ndcg_10", "map"),
    *("contradiction_precision", "contradiction_recall", "contradiction_f1", "support_labelled", "support_lexical"),
    *(f"{rate}_{part}" for rate in RATES for part in ("num", "den")),
]
CLAIM_SHAPE = "a list of {claim_id, text, type, evidence: [{evidence_id, text}]}"
# name, metric, stat, op, limit at initial, limit at target, failure
GATES: list[tuple[str, str, str, str, float, float, str]] = [
    ("provenance_rate", "provenance_rate", "micro", ">=", 0.95, 0.95, "QualityGateFailure"),
    ("facts_without_evidence", "facts_without_evidence", "sum", "=", 0, 0, "HallucinationRisk"),
    ("pipeline_completion", "pipeline_completion", "min", "=", 1, 1, "SystemError"),
    ("artifact_contract", "artifacts_missing", "max", "=", 0, 0, "ContractViolation"),
    ("claim_precision", "claim_precision", "micro", ">=", 0.85, 0.90, "QualityGateFailure"),
    ("citation_precision", "citation_precision", "micro", ">=", 0.90, 0.95, "QualityGateFailure"),
    ("unsupported_claim_rate", "unsupported_claim_rate", "micro", "<=", 0.10, 0.05, "HallucinationRisk"),
    ("answered_share", "fail_reason", "rate", "=", 1, 1, "SystemError"),
]
# Blocks of the scripts that are written without spaces (and of Hangul, whose particles follow a word directly).
UNSPACED = [
    *(("\u2e80", "\u2fdf"), ("\u3005", "\u3007"), ("\u3021", "\u3029"), ("\u3038", "\u303b"), ("\u3400", "\u4dbf")),
    *(("\u4e00", "\u9fff"), ("\uf900", "\ufaff"), ("\U00020000", "\U0003ffff")),
    *(("\u3041", "\u30ff"), ("\u31f0", "\u31ff"), ("\uff66", "\uff9f"), ("\U0001aff0", "\U0001b16f")),
    *(("\u1100", "\u11ff"), ("\u3131", "\u318e"), ("\ua960", "\ua97f"), ("\uac00", "\ud7ff"), ("\uffa0", "\uffdc")),
    *(("\u0e00", "\u0e7f"), ("\u0e80", "\u0eff"), ("\u1780", "\u17ff")),
    *(("\u1000", "\u109f"), ("\ua9e0", "\ua9ff"), ("\uaa60", "\uaa7f")),
]


# --- reading values of unknown quality: a wrong type is as if absent ---


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _given(task: dict[str, Any], name: str) -> Any:
    """A field of a task; where that is a text (a cell of a CSV file), the JSON value in it."""
    value = task.get(name)
    if isinstance(value, str):
        is_json, value = try_decode(value)
        return value if is_json else None
    return value


def _whole(value: Any) -> int | None:
    """A whole number of 31 bits that is not negative, 3 or 3.0: a count of stages."""
    number = _number(value)
    return int(number) if number is not None and number.is_integer() and 0 <= number < 2**31 else None


def _number(value: Any) -> float | None:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _id(value: Any) -> str | None:
    """A text that is not blank, or an integer of 64 bits as its digits."""
    if isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63:
        return str(value)
    return value if squash(_text(value)) else None


def _ids(value: Any) -> list[str]:
    return [key for item in _list(value) if (key := _id(item)) is not None]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _objects(value: Any) -> list[dict[str, Any]]:
    return [item for item in _list(value) if isinstance(item, dict)]


def _texts(value: Any) -> list[str]:
    """The distinct texts of a list that are not blank, first seen first."""
    return list(dict.fromkeys(item for item in _list(value) if squash(_text(item))))


def _word(value: Any) -> str:
    return strip(_text(value)).casefold()


# --- claims and evidence ---


def _type(claim: dict[str, Any]) -> str:
    return _word(claim.get("type")) or "fact"


def _evidence(claim: dict[str, Any]) -> list[dict[str, Any]]:
    """Evidence items of a claim; one that has neither an id nor a text is none."""
    items = _objects(claim.get("evidence"))
    return [item for item in items if _id(item.get("evidence_id")) is not None or squash(_text(item.get("text")))]


def _overlap(claim_text: str, evidence_texts: list[str]) -> float | None:
    """Share of the claim's keywords among those of the texts; null for a claim without keywords."""
    wanted = keywords(claim_text, kana=True)
    if not wanted:
        return None
    there = {word for text in evidence_texts for word in keywords(text, kana=True)}
    return sum(word in there for word in wanted) / len(wanted)


def _lexical(claim_text: str, evidence_texts: list[str], threshold: float) -> bool:
    share = _overlap(claim_text, evidence_texts)
    if share is not None:
        return share >= threshold - TOLERANCE
    squashed = squash(claim_text)
    return bool(squashed) and any(squashed in squash(text) for text in evidence_texts)


def _supported(claim: dict[str, Any], threshold: float) -> tuple[bool, bool]:
    """(supported, whether a label said so)."""
    label = claim.get("supported")
    if isinstance(label, bool):
        return label, True
    texts = [_text(item.get("text")) for item in _evidence(claim)]
    return _lexical(_text(claim.get("text")), texts, threshold), False


def _supports(item: dict[str, Any], claim: dict[str, Any], threshold: float) -> bool:
    label = item.get("supports")
    if isinstance(label, bool):
        return label
    return _lexical(_text(claim.get("text")), [_text(item.get("text"))], threshold)


# --- entities ---


def _normal(s: str) -> str:
    return unicodedata.normalize("NFKC", s).casefold()


def _letter_or_digit(ch: str) -> bool:
    category = unicodedata.category(ch)
    return category.startswith("L") or category == "Nd"


def _joins(neighbour: str) -> bool:
    """Whether a neighbour makes the entity part of a longer word."""
    if not (_letter_or_digit(neighbour) or unicodedata.category(neighbour).startswith("M")):
        return False
    return not any(first <= neighbour <= last for first, last in UNSPACED)


def _entity_in(entity: str, text: str) -> bool:
    """Both normalised; the entity is not empty."""
    at = text.find(entity)
    while at >= 0:
        end = at + len(entity)
        joined_before = _letter_or_digit(entity[0]) and at > 0 and _joins(text[at - 1])
        joined_after = _letter_or_digit(entity[-1]) and end < len(text) and _joins(text[end])
        if not joined_before and not joined_after:
            return True
        at = text.find(entity, at + 1)
    return False


def _entities(task: dict[str, Any]) -> list[str]:
    wanted = [strip(_normal(_text(item))) for item in _list(_given(task, "expected_entities"))]
    return [entity for entity in wanted if entity]


# --- stages and artifacts ---


def _is_done(value: Any) -> bool:
    return value is True or _word(value) in DONE


def _stages(stages: Any) -> tuple[int, int, str | None]:
    """(completed, expected, the first stage that is not done with its error)."""
    if isinstance(stages, list):
        states = [
            (_id(item.get("name")) or f"#{i}", _is_done(item.get("status")), _text(item.get("error")))
            for i, item in enumerate(stages, start=1)
            if isinstance(item, dict)
        ]
    elif isinstance(stages, dict):
        expected, completed = stages.get("expected"), stages.get("completed")
        if _whole(expected) is not None or isinstance(expected, list):
            if isinstance(expected, list) and isinstance(completed, list):
                states = [(name, name in _texts(completed), "") for name in _texts(expected)]
            else:
                total, finished = (
                    len(_texts(value)) if isinstance(value, list) else _whole(value) or 0
                    for value in (expected, completed)
                )
                return min(finished, total), total, None
        else:
            states = [
                (_id(name) or f"#{i}", _is_done(value), "") for i, (name, value) in enumerate(stages.items(), start=1)
            ]
    else:
        states = []
    failed = [f"{name}: {error}" if squash(error) else name for name, done, error in states if not done]
    return len(states) - len(failed), len(states), failed[0] if failed else None


def _artifacts_missing(artifacts: Any, required: Any) -> int | None:
    if not isinstance(artifacts, list):
        return None
    there = _texts(artifacts)
    if isinstance(required, list | tuple):
        return sum(name not in there for name in _texts(list(required)))
    return max(0, int(required) - len(there))


# --- ranking and contradictions ---


def _ranking(task: dict[str, Any], answer: dict[str, Any], k: int) -> tuple[float | None, float | None]:
    """(ndcg at k, average precision); null where the gold has no grade above 0."""
    grades: dict[str, float] = {}
    for item in _objects(_given(task, "gold_ranking")):
        key, grade = _id(item.get("id")), _number(item.get("grade"))
        if key is not None:
            grades[key] = max(0.0, grade or 0.0)
    relevant = sum(grade > 0 for grade in grades.values())
    if not relevant:
        return None, None
    if not math.isfinite(sum(grades.values())):  # only the proportions matter
        top = max(grades.values())
        grades = {key: grade / top for key, grade in grades.items()}
    ranked = list(dict.fromkeys(_ids(answer.get("ranking"))))
    ideal = sorted(grades.values(), reverse=True)
    dcg = sum(grades.get(key, 0.0) / math.log2(rank + 1) for rank, key in enumerate(ranked[:k], start=1))
    idcg = sum(grade / math.log2(rank + 1) for rank, grade in enumerate(ideal[:k], start=1))
    hits, precisions = 0, 0.0
    for rank, key in enumerate(ranked, start=1):
        if grades.get(key, 0.0) > 0:
            hits += 1
            precisions += hits / rank
    return dcg / idcg if idcg else 0.0, precisions / relevant


def _said_true(pairs: Any) -> set[frozenset[str]]:
    said = set()
    for item in _objects(pairs):
        a, b = _id(item.get("a")), _id(item.get("b"))
        if a is not None and b is not None and item.get("contradiction") is True:
            said.add(frozenset((a, b)))
    return said


# --- rows ---


def _rate(row: dict[str, Any], name: str, num: int, den: int) -> None:
    """Sets a rate with its parts; all three stay null where there is nothing to count."""
    if den:
        row[name], row[f"{name}_num"], row[f"{name}_den"] = num / den, num, den


def _holds(op: str, actual: float, limit: float) -> bool:
    if op == ">=":
        return actual >= limit - TOLERANCE
    if op == "<=":
        return actual <= limit + TOLERANCE
    return abs(actual - limit) <= TOLERANCE


def _parse(output: str | None, missing: bool) -> tuple[str | None, str | None, dict[str, Any]]:
    """(fail_reason, fail_detail, the known fields that have their type)."""
    if missing:
        return "missing_output", None, {}
    reason, value = classify(output)
    if reason is not None:
        return reason, None, {}
    answer = {name: value[name] for name, types in FIELDS.items() if isinstance(value.get(name), types)}
    if not answer:
        return "missing_field", ", ".join(FIELDS), {}
    if answer.get("claims") and not _objects(answer["claims"]):
        found = f"claims is a list of {element_word(answer['claims'][0])}"
        return "wrong_shape", f"{found}, wanted is {CLAIM_SHAPE}", {}
    return None, None, answer


def score(
    task: dict[str, Any], output: str | None, *, missing: bool = False, params: dict[str, Any] | None = None
) -> dict[str, Any]:
    """One score row: every column of page 30 but run_id and repeat; null where a metric does not apply."""
    settings = {**PARAMS, **(params or {})}
    threshold = settings["support_threshold"]
    row: dict[str, Any] = dict.fromkeys(COLUMNS)
    row["question_id"] = next((key for name in ("question_id", "task_id", "id") if (key := _id(task.get(name)))), None)
    row["category"] = _text(task.get("category")) or None
    row["fail_reason"], row["fail_detail"], answer = _parse(output, missing)
    entities = _entities(task)
    if row["fail_reason"]:
        row.update(score=0.0, citations_ok=False)
        row.update(pipeline_completion=0.0, pipeline_completion_num=0, pipeline_completion_den=1)
        row.update(entity_recall=0.0, entity_recall_num=0, entity_recall_den=len(entities))
        return row

    all_claims = _objects(answer.get("claims"))
    claims = [claim for claim in all_claims if _type(claim) != "log"]
    sentences = _objects(answer.get("sentences"))

    units = [bool(_ids(sentence.get("evidence_ids"))) for sentence in sentences]
    if not sentences:
        units = [bool(_evidence(claim)) for claim in claims]
    _rate(row, "provenance_rate", sum(units), len(units))

    row["claim_count"] = len(claims)
    if claims:
        row["facts_without_evidence"] = sum(_type(claim) == "fact" and not _evidence(claim) for claim in claims)
    support = [_supported(claim, threshold) for claim in claims]
    _rate(row, "claim_precision", sum(supported for supported, _ in support), len(claims))
    row["support_labelled"] = sum(labelled for _, labelled in support)
    row["support_lexical"] = len(support) - row["support_labelled"]
    _rate(row, "unsupported_claim_rate", sum(not _evidence(claim) for claim in claims), len(claims))

    cited = [(item, claim) for claim in all_claims for item in _evidence(claim)]
    _rate(row, "citation_precision", sum(_supports(item, claim, threshold) for item, claim in cited), len(cited))
    known = {key for sentence in sentences for key in _ids(sentence.get("evidence_ids"))}
    known |= {key for item, _ in cited if (key := _id(item.get("evidence_id"))) is not None}
    row["citation_count"] = len(known) + sum(_id(item.get("evidence_id")) is None for item, _ in cited)
    minimum = _number(_given(task, "min_citations"))
    row["citations_ok"] = None if minimum is None else row["citation_count"] >= minimum

    texts = [_normal(_text(text)) for text in [answer.get("answer"), *(claim.get("text") for claim in all_claims)]]
    found = sum(any(_entity_in(entity, text) for text in texts) for entity in entities)
    _rate(row, "entity_recall", found, len(entities))

    completed, expected, row["failed_stage"] = _stages(answer.get("stages"))
    _rate(row, "pipeline_completion", completed, expected)
    row["artifacts_missing"] = _artifacts_missing(answer.get("artifacts"), settings["required_artifacts"])
    row["ndcg_10"], row["map"] = _ranking(task, answer, settings["ndcg_k"])

    gold, predicted = _said_true(_given(task, "gold_contradictions")), _said_true(answer.get("contradictions"))
    if gold:
        hits = len(gold & predicted)
        row.update(contradiction_precision=0.0, contradiction_precision_num=0, contradiction_precision_den=0)
        _rate(row, "contradiction_precision", hits, len(predicted))
        _rate(row, "contradiction_recall", hits, len(gold))
        _rate(row, "contradiction_f1", 2 * hits, len(predicted) + len(gold))

    rules = [(row[metric], op, limit) for name, metric, _, op, limit, _, _ in GATES if name != "answered_share"]
    held = [_holds(op, actual, limit) for actual, op, limit in rules if actual is not None]
    row["score"] = sum(held) / len(held) if held else 0.0
    return row


def failing_claims(
    task: dict[str, Any], output: str | None, params: dict[str, Any] | None = None
) -> list[dict[str, str | None]]:
    """Claims (log excluded) that have no evidence or are not supported, in order, each with its first reason."""
    settings = {**PARAMS, **(params or {})}
    failing = []
    for claim in _objects(_parse(output, False)[2].get("claims")):
        supported, labelled = _supported(claim, settings["support_threshold"])
        has_evidence = bool(_evidence(claim))
        if _type(claim) == "log" or (supported and has_evidence):
            continue
        if not has_evidence:
            reason = "no_evidence"
        elif labelled:
            reason = "labelled_unsupported"
        elif keywords(_text(claim.get("text")), kana=True):
            reason = "low_overlap"
        else:
            reason = "not_in_evidence"
        task_id = next((key for name in ("question_id", "task_id", "id") if (key := _id(task.get(name)))), None)
        failing.append(
            {
                "task_id": task_id,
                "claim_id": _id(claim.get("claim_id")),
                "text": _text(claim.get("text")),
                "reason": reason,
            }
        )
    return failing


# --- runs ---


def _stat(rows: list[dict[str, Any]], metric: str, stat: str) -> tuple[float | None, int]:
    """(the statistic, how many rows it is over); null where there is nothing to apply it to."""
    if stat == "rate":
        return (sum(row[metric] is None for row in rows) / len(rows) if rows else None), len(rows)
    there = [row for row in rows if row[metric] is not None]
    if not there:
        return None, 0
    if stat == "micro":
        return sum(row[f"{metric}_num"] for row in there) / sum(row[f"{metric}_den"] for row in there), len(there)
    values = [row[metric] for row in there]
    return (sum(values) if stat == "sum" else min(values) if stat == "min" else max(values)), len(there)


def gates(rows: list[dict[str, Any]], level: str = "initial") -> list[dict[str, Any]]:
    """The gates of a run over its score rows, in the order of the page; status passed, failed or skipped."""
    results = []
    for name, metric, stat, op, initial, target, failure in GATES:
        limit = {"initial": initial, "target": target}[level]
        actual, n = _stat(rows, metric, stat)
        status = "skipped" if actual is None else "passed" if _holds(op, actual, limit) else "failed"
        results.append(
            {
                "gate": name,
                "metric": metric,
                "stat": stat,
                "actual": actual,
                "op": op,
                "limit": limit,
                "level": level,
                "status": status,
                "failure": failure if status == "failed" else None,
                "n": n,
            }
        )
    return results


def nothing_to_judge(results: list[dict[str, Any]]) -> bool:
    """Whether no gate but `answered_share` applies."""
    return all(result["status"] == "skipped" for result in results if result["gate"] != "answered_share")


def pass_fail(results: list[dict[str, Any]]) -> str:
    """`pass` if a gate beside `answered_share` applied and none failed."""
    failed = any(result["status"] == "failed" for result in results)
    return "fail" if failed or nothing_to_judge(results) else "pass"
