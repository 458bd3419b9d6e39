"""The slow, obvious scorer of profile eval_json_v2: one answer in, one row of columns out."""

from typing import Any

from rapidfuzz.distance import Indel

from oracles.json_text import classify, element_word, json_text
from oracles.text import (
    TOLERANCE,
    collapse,
    contained,
    keyword_hits,
    keywords,
    soft_match,
    squash,
    strip,
    unicode_form,
)

PARAMS: dict[str, Any] = {
    "json_mode": "strict",
    "soft_threshold": 0.72,
    "containment_min": 1,
    "unicode_form": "none",
    "list_match": "one_to_one",
    "list_matcher": "bigram_jaccard",
    "indel_threshold": 0.80,
    "description_cap": 12,
    "questions_cap": 10,
    "keywords": "bigram",
    "keyword_cap": 30,
    "full_hits": 8,
    "full_length": 40,
    "entry_cap": 12,
    "ref_cap": 6,
    "anchor_cap": 6,
    "w_target_audience": 0.10,
    "w_main_topic": 0.10,
    "w_sub_topic": 0.10,
    "w_detailed_description": 0.30,
    "w_original_evidence": 0.20,
    "w_predicted_questions": 0.10,
    "w_grounding": 0.10,
}

FIELDS: dict[str, type] = {
    "target_audience": str,
    "main_topic": str,
    "sub_topic": str,
    "detailed_description": list,
    "original_evidence": str,
    "source_map": list,
    "predicted_questions": list,
}

SUB_SCORES = (
    "target_audience",
    "main_topic",
    "sub_topic",
    "detailed_description_recall",
    "detailed_description_precision",
    "detailed_description_f1",
    "predicted_questions_recall",
    "predicted_questions_precision",
    "predicted_questions_f1",
    "evidence_keywords",
    "evidence_hits",
    "original_evidence",
    "grounding_ok_refs",
    "grounding_total_refs",
    "grounding",
)


def score(
    expected: dict[str, Any] | None,
    chunks: list[Any] | None,
    output: str | None,
    *,
    missing: bool = False,
    params: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The score row of one answer, without its keys."""
    p = {**PARAMS, **(params or {})}
    expected = expected or {}
    row: dict[str, Any] = {
        "score": 0.0,
        "schema_ok": False,
        "repaired": False,
        "fail_reason": None,
        "fail_detail": None,
        "context_missing": not chunks,
        **dict.fromkeys(SUB_SCORES),
    }
    if missing:
        row["fail_reason"] = "missing_output"
        return row
    reason, got = classify(output)
    repaired = p["json_mode"] == "lenient" and reason in ("code_fence", "extra_text")
    if repaired and not isinstance(got, dict):
        reason = "not_object"
    if reason is not None and (not repaired or reason == "not_object"):
        row["fail_reason"] = reason
        return row
    absent = [name for name in FIELDS if name not in got]
    if absent:
        row["fail_reason"], row["fail_detail"] = "missing_field", ", ".join(absent)
        return row
    wrong = [name for name, kind in FIELDS.items() if not isinstance(got[name], kind)]
    if wrong:
        row["fail_reason"], row["fail_detail"] = "wrong_type", ", ".join(wrong)
        return row
    row["schema_ok"], row["repaired"], row["fail_reason"] = True, repaired, reason
    if reason is None and (found := strange_map(got["source_map"])):
        wanted = "a list of {refs: [{file, anchors: [text]}]}"
        row["fail_reason"], row["fail_detail"] = "wrong_shape", f"source_map is a list of {found}, wanted is {wanted}"

    for name in ("target_audience", "main_topic", "sub_topic"):
        row[name] = 1.0 if matches(as_text(expected.get(name)), got[name], "bigram_jaccard", p) else 0.0
    for name, cap in (("detailed_description", "description_cap"), ("predicted_questions", "questions_cap")):
        recall, precision, f1 = list_scores(items(expected.get(name)), items(got[name][: p[cap]]), p)
        row[f"{name}_recall"], row[f"{name}_precision"], row[f"{name}_f1"] = recall, precision, f1
    row.update(evidence(as_text(expected.get("original_evidence")), got["original_evidence"], p))
    row.update(grounding(got["source_map"], chunks or [], p))

    total = (
        p["w_target_audience"] * row["target_audience"]
        + p["w_main_topic"] * row["main_topic"]
        + p["w_sub_topic"] * row["sub_topic"]
        + p["w_detailed_description"] * row["detailed_description_f1"]
        + p["w_original_evidence"] * row["original_evidence"]
        + p["w_predicted_questions"] * row["predicted_questions_f1"]
        + p["w_grounding"] * row["grounding"]
    )
    row["score"] = 100 * min(max(total, 0.0), 1.0)
    return row


def as_text(value: Any) -> str:
    """A string as it is, null as the empty string, anything else as its JSON text."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json_text(value)


def items(value: Any) -> list[str]:
    """The texts of a list, without nulls and items that are empty after squash; null gives an empty list."""
    if value is None:
        return []
    elements = value if isinstance(value, list) else [value]
    texts = [as_text(element) for element in elements if element is not None]
    return [text for text in texts if squash(text)]


def matches(e: str, g: str, matcher: str, p: dict[str, Any]) -> bool:
    """The soft match of section 2 with the run's parameters."""
    e = squash(unicode_form(e, p["unicode_form"]))
    g = squash(unicode_form(g, p["unicode_form"]))
    if not e or not g:
        return False
    if contained(e, g, p["containment_min"]):
        return True
    if matcher == "indel":
        return Indel.normalized_similarity(e, g) >= float(p["indel_threshold"]) - TOLERANCE
    return soft_match(e, g, float(p["soft_threshold"]), p["containment_min"])


def list_scores(expected: list[str], got: list[str], p: dict[str, Any]) -> tuple[float, float, float]:
    """Recall, precision and F1 of two lists of texts."""
    if not expected and not got:
        return 1.0, 1.0, 1.0
    if not expected or not got:
        return 0.0, 0.0, 0.0
    if p["list_match"] == "independent":
        matched_expected = sum(1 for e in expected if any(matches(e, g, p["list_matcher"], p) for g in got))
        matched_got = sum(1 for g in got if any(matches(e, g, p["list_matcher"], p) for e in expected))
    else:
        used: set[int] = set()
        for e in expected:
            for i, g in enumerate(got):
                if i not in used and matches(e, g, p["list_matcher"], p):
                    used.add(i)
                    break
        matched_expected = matched_got = len(used)
    recall = matched_expected / len(expected)
    precision = matched_got / len(got)
    if precision + recall == 0:
        return recall, precision, 0.0
    return recall, precision, 2 * precision * recall / (precision + recall)


def evidence(expected: str, got: str, p: dict[str, Any]) -> dict[str, Any]:
    """The columns of section 5."""
    hits = keyword_hits(expected, got, p["keyword_cap"], p["keywords"])
    return {
        "evidence_keywords": len(keywords(expected, p["keywords"])[: p["keyword_cap"]]),
        "evidence_hits": hits,
        "original_evidence": min(1.0, hits / p["full_hits"]) * min(1.0, len(collapse(got)) / p["full_length"]),
    }


def strange_map(source_map: list[Any]) -> str | None:
    """What a source map is a list of, where it has entries and none of them has refs that could be read."""
    for entry in source_map:
        refs = entry.get("refs") if isinstance(entry, dict) else None
        if isinstance(refs, list) and (not refs or any(isinstance(ref, dict) for ref in refs)):
            return None
    if not source_map:
        return None
    return "objects without such refs" if isinstance(source_map[0], dict) else element_word(source_map[0])


def first_text(chunk: dict[str, Any], *names: str) -> str | None:
    """The value under the first of the names that has a text."""
    return next((chunk[name] for name in names if isinstance(chunk.get(name), str)), None)


def grounding(source_map: list[Any], chunks: list[Any], p: dict[str, Any]) -> dict[str, Any]:
    """The columns of section 6."""
    chunks = [chunk for chunk in chunks if isinstance(chunk, dict)]
    named = [first_text(chunk, "source_path", "source", "file") for chunk in chunks]
    paths = {strip(path) for path in named if path is not None}
    context = "\n".join(first_text(chunk, "text", "content", "page_content") or "" for chunk in chunks)
    total = ok = 0
    for entry in source_map[: p["entry_cap"]]:
        refs = entry.get("refs") if isinstance(entry, dict) else None
        if not isinstance(refs, list):
            continue
        for ref in refs[: p["ref_cap"]]:
            if not isinstance(ref, dict):
                continue
            total += 1
            anchors = ref.get("anchors")
            if not isinstance(anchors, list):
                anchors = []
            texts = [strip(anchor) for anchor in anchors[: p["anchor_cap"]] if isinstance(anchor, str)]
            file = ref.get("file")
            file_known = isinstance(file, str) and strip(file) in paths
            if file_known and any(text and text in context for text in texts):
                ok += 1
    return {
        "grounding_ok_refs": ok,
        "grounding_total_refs": total,
        "grounding": ok / total if total else 0.0,
    }
