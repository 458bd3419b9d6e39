"""Oracle of the profile include_rate: required and forbidden phrases, citations, weights."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from oracles.bounds import scale_word
from oracles.reading import FRACTIONS, figures_unified
from oracles.text import WHITE_SPACE

PARAMS: dict[str, Any] = {
    "normalizer": "ru_numeric",
    "citation_patterns": [r"(?i)(?:\(\s*)?стр\.?\s*\d+"],
    "w_include": 0.7,
    "w_safe": 0.3,
    "citation_penalty": 0.2,
    "citation_style": "patterns",
    "phrase_match": "substring",
}


def ru_numeric(text: str) -> str:
    """Lower case, ё as е, comparison words as signs, numbers without inner spaces and with a decimal point."""
    text = text.lower()
    text = text.replace("ё", "е")
    text = text.replace("\u00a0", " ").replace("\u202f", " ")
    text = re.sub(r"\b(?:более|свыше)\s+", ">", text)
    text = re.sub(r"\bменее\s+", "<", text)
    text = re.sub(r"(?<=\d)\s+(?=\d)", "", text)
    text = re.sub(r"(?<=\d),(?=\d)", ".", text)
    text = re.sub(r"\s+", " ", text)
    return text.strip()


def en_numeric(text: str) -> str:
    """Lower case, comparison words before figures as signs, figures in plain decimals, one space for white space."""
    kept = "".join(f"\ufdd0{ord(c)}\ufdd1" if c in FRACTIONS else c for c in text)  # 5½ is not 51⁄2
    text = re.sub(f"[{re.escape(''.join(WHITE_SPACE))}]+", " ", unicodedata.normalize("NFKC", kept).lower()).strip()
    text = re.sub(r"−[ \t]?(?=[$€£¥]?[0-9])", "-", text)
    text = re.sub(r"\bminus[ \t]+(?=[$€£¥]?[0-9])", "-", text)
    for words, sign in (("more than|greater than|over|above", ">"), ("less than|fewer than|under|below", "<")):
        text = re.sub(rf"\b(?:{words})[ \t]+(?=-?[$€£¥]?[0-9])", sign, text)
    text = figures_unified(text, "point").replace("٬", "")  # 1,00,000
    out, i = "", 0
    while i < len(text):
        if text[i] == "\ufdd0":
            end = text.index("\ufdd1", i)
            if re.search("[0-9] ?\\Z", out):
                out = f"{out.removesuffix(' ')} "
            out, i = out + unicodedata.normalize("NFKC", chr(int(text[i + 1 : end]))), end + 1
            continue
        figure = re.compile(r"[0-9]+(?:[.,][0-9]+)*").match(text, i)
        if figure is None:
            out, i = out + text[i], i + 1
            continue
        whole, _, tail = figure[0].partition(".")
        groups = whole.split(",")
        grouped = len(groups) == 1 or (len(groups[0]) <= 3 and all(len(group) == 3 for group in groups[1:]))
        coded = whole[0] == "0" and whole != "0"
        named = re.search(r"[a-z_.,]\Z", text[:i]) or text[figure.end() : figure.end() + 1] == "_"
        if not grouped or coded or named or "." in tail or "," in tail:
            out, i = out + figure[0], figure.end()
            continue
        power, i = scale_word(text, figure.start(), figure.end())
        out += "".join(groups) + (f".{tail}".rstrip("0").rstrip(".") if tail else "")
        out += {
            0: "", 2: " hundred", 3: " thousand", 5: " lakh", 6: " million", 7: " crore", 9: " billion",
            12: " trillion", 15: " quadrillion",
        }[power]  # fmt: skip
    return re.sub("(?<=[0-9]) %", "%", out)


def none(text: str) -> str:
    """The text as it stands."""
    return text


def nfkc_casefold(text: str) -> str:
    """Compatibility form, then full case folding; white space is left alone."""
    return unicodedata.normalize("NFKC", text).casefold()


NORMALIZERS: dict[str, Callable[[str], str]] = {
    "ru_numeric": ru_numeric,
    "en_numeric": en_numeric,
    "none": none,
    "nfkc_casefold": nfkc_casefold,
}


UNSPACED = (
    *("CJK", "IDEOGRAPHIC", "HIRAGANA", "HENTAIGANA", "KATAKANA", "HALFWIDTH KATAKANA", "VERTICAL KANA"),
    *("THAI", "LAO", "KHMER", "MYANMAR"),
)


def in_word(c: str) -> bool:
    """Whether a character is a letter, mark or digit of a script that puts spaces between words."""
    kind = unicodedata.category(c)
    if c == "_" or kind == "Nd" or kind[0] == "M":
        return True
    return kind[0] == "L" and not unicodedata.name(c, "").startswith(UNSPACED)


def stands_as_words(phrase: str, text: str) -> bool:
    """Whether a phrase that is not empty stands in a text, and at neither of its ends inside a word."""
    for at in range(len(text) - len(phrase) + 1 if phrase else 0):
        if not text.startswith(phrase, at):
            continue
        if not (_inside_word(text, at) or _inside_word(text, at + len(phrase))):
            return True
    return False


def _inside_word(text: str, at: int) -> bool:
    """Whether a place is inside a word or a number with separators."""
    if at in (0, len(text)):
        return False

    def digit(place: int) -> bool:
        return 0 <= place < len(text) and unicodedata.category(text[place]) == "Nd"

    behind_mark = text[at - 1] in ".," and digit(at - 2) and digit(at)
    before_mark = text[at] in ".," and digit(at - 1) and digit(at + 1)
    return behind_mark or before_mark or (in_word(text[at - 1]) and in_word(text[at]))


def cites_a_page(answer: str) -> bool:
    """(p. 12), page 12, [12], [1, 2], стр. 12, с. 12, 第12页, 12ページ."""
    patterns = [
        r"(?<![a-z])(?:page|pages|p\.|pp\.)\s*\d",
        r"\[\s*\d{1,4}(?:\s*[,;–-]\s*\d{1,4})*\s*\]",
        r"(?<![а-яё])(?:стр|стр\.|страниц[а-яё]{0,3}|с\.|сс\.)\s*\d",
        r"第\s*[\d零〇一二两三四五六七八九十百千]+\s*[页頁]",
        r"\d\s*(?:ページ|頁)",
    ]
    return any(re.search(pattern, answer, re.IGNORECASE) for pattern in patterns)


def phrase_text(entry: object) -> str:
    """A phrase as text: a number is its JSON text, what is neither text nor number is the empty phrase."""
    if isinstance(entry, str):
        return entry
    if isinstance(entry, bool):
        return ""
    if isinstance(entry, int):
        return str(Decimal(entry))  # str(int) refuses integers of more than 4,300 digits
    if isinstance(entry, float):
        return json.dumps(entry)
    return ""


def entries(question: Mapping[str, Any], field: str) -> list[Any]:
    """The list in a field; absent, null or not a list is the empty list."""
    value = question.get(field)
    return value if isinstance(value, list) else []


def phrase_groups(question: Mapping[str, Any]) -> list[list[str]]:
    """One group for each entry of must_include, then one for each entry of must_include_any."""
    groups = [[phrase_text(entry)] for entry in entries(question, "must_include")]
    for entry in entries(question, "must_include_any"):
        alternatives = entry if isinstance(entry, list) else [entry]
        groups.append([phrase_text(phrase) for phrase in alternatives])
    return groups


def question_weight(question: Mapping[str, Any]) -> float | None:
    """The weight, 1.0 where there is none; null where it is negative, not finite or no number."""
    value = question.get("weight")
    if value is None:
        return 1.0
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        weight = float(value)
    except OverflowError:
        return None
    return weight if math.isfinite(weight) and weight >= 0 else None


def question_error(question: Mapping[str, Any]) -> str | None:
    """Why the question is an input error, naming it; null for a good one."""
    name = phrase_text(question.get("id", question.get("question_id")))
    if not name:
        return "a question has no id"
    if not isinstance(question.get("question"), str):
        return f"question {name!r} has no text"
    for field in ("must_include", "must_include_any", "must_not_include"):
        if question.get(field) is not None and not isinstance(question[field], list):
            return f"question {name!r}: {field} is not a list"
    if question_weight(question) is None:
        return f"question {name!r}: weight is not a finite number of at least 0"
    return None


def score(
    question: Mapping[str, Any],
    output: str | None,
    *,
    missing: bool = False,
    params: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """All columns of one row but its keys."""
    settings = {**PARAMS, **(params or {})}
    weight = question_weight(question)
    require_citation = question.get("require_citation") is True
    if missing:
        return {
            "weight": weight,
            "score": 0.0,
            "include_hits": None,
            "include_total": None,
            "include_rate": None,
            "exclude_hits": None,
            "safe_ok": None,
            "require_citation": require_citation,
            "citation_ok": None,
            "citation_penalty": None,
            "fail_reason": "missing_output",
        }

    blank = output is None or output.strip() == ""
    answer = "" if output is None or blank else output
    normalize = NORMALIZERS[settings["normalizer"]]
    normal_answer = normalize(answer)

    def found(phrase: str) -> bool:
        normal_phrase = normalize(phrase)
        if settings["phrase_match"] == "word":
            return stands_as_words(normal_phrase, normal_answer)
        return normal_phrase != "" and normal_phrase in normal_answer

    groups = phrase_groups(question)
    include_total = len(groups)
    include_hits = 0
    for group in groups:
        if any(found(phrase) for phrase in group):
            include_hits += 1
    include_rate = include_hits / include_total if include_total else 1.0

    exclude_hits = 0
    for entry in entries(question, "must_not_include"):
        if found(phrase_text(entry)):
            exclude_hits += 1
    safe_ok = 1.0 if exclude_hits == 0 else 0.0

    cited = any(re.search(pattern, answer) is not None for pattern in settings["citation_patterns"])
    if settings["citation_style"] == "any":
        cited = cited or cites_a_page(answer)
    citation_ok = not require_citation or cited
    citation_penalty = 0.0 if citation_ok else float(settings["citation_penalty"])

    return {
        "weight": weight,
        "score": max(0.0, settings["w_include"] * include_rate + settings["w_safe"] * safe_ok - citation_penalty),
        "include_hits": include_hits,
        "include_total": include_total,
        "include_rate": include_rate,
        "exclude_hits": exclude_hits,
        "safe_ok": safe_ok,
        "require_citation": require_citation,
        "citation_ok": citation_ok,
        "citation_penalty": citation_penalty,
        "fail_reason": "empty_output" if blank else None,
    }


def weighted_score(rows: Iterable[Mapping[str, Any]]) -> float | None:
    """Sum of score times weight over sum of weight, exact until the end; null where the weights sum to 0.

    The rows are those of good questions (see question_error). Rows that share a question_id are its repeats:
    the question counts once, with the mean of their scores.
    """
    questions: dict[object, list[Mapping[str, Any]]] = {}
    for number, row in enumerate(rows):
        key = ("question", row["question_id"]) if "question_id" in row else ("row", number)
        questions.setdefault(key, []).append(row)
    numerator = Fraction(0)
    denominator = Fraction(0)
    for repeats in questions.values():
        weight = Fraction(repeats[0]["weight"])
        mean = sum((Fraction(row["score"]) for row in repeats), Fraction(0)) / len(repeats)
        numerator += mean * weight
        denominator += weight
    return float(numerator / denominator) if denominator else None
