"""The library of functions, slow and obvious, on plain Python values: one row at a time, None for null.

Where a function takes a text or a list of texts, so does its oracle. `ORACLES` has them by name.
"""

import json
import math
import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from oracles import text, values
from oracles.include_rate import ru_numeric
from oracles.json_text import try_decode

Refs = str | Sequence[str | None] | None

_HAN = (
    "\u2e80-\u2e99\u2e9b-\u2ef3\u2f00-\u2fd5\u3005\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufa6d\ufa70-\ufad9\U00020000-\U0002fffd\U00030000-\U0003fffd"
)
_KANA = (
    "\u3041-\u3096\u3099\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"
    "\U0001aff0-\U0001affe\U0001b000-\U0001b167"
)
_ALONE = re.compile(f"([{_HAN}{_KANA}])")
_UNSPACED = re.compile(
    f"[{_HAN}{_KANA}\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u1950-\u19df\u19e0-\u19ff\u1a20-\u1aaf"
    "\u3100-\u312f\u31a0-\u31bf\ua9e0-\ua9ff\uaa60-\uaadf]"
)


def squad_tokens(s: str) -> list[str]:
    """The tokens of the SQuAD v1.1 script: its normalize_answer, step by step, then split."""
    lowered = s.lower()
    unpunctuated = "".join(c for c in lowered if c not in set(string.punctuation))
    return re.sub(r"\b(a|an|the)\b", " ", unpunctuated).split()


def words(s: str) -> list[str]:
    """squad_tokens with all of Unicode's punctuation, and Han and Kana characters as words."""
    kept = "".join(c for c in s.lower() if not unicodedata.category(c).startswith("P") and c not in string.punctuation)
    spaced = re.sub(r"\b(a|an|the)\b", " ", kept)
    return [word for run in spaced.split() for word in _ALONE.split(run) if word]


def references(refs: Refs) -> list[str]:
    """A text or a list of texts as a list, nulls left out."""
    given = [refs] if isinstance(refs, str) or refs is None else refs
    return [ref for ref in given if ref is not None]


def best(score: Callable[[str, str], float]) -> Callable[[str | None, Refs], float | None]:
    """A score against one reference as the best against all; None without a text or references."""

    def call(s: str | None, refs: Refs) -> float | None:
        given = references(refs)
        return max(score(s, ref) for ref in given) if s is not None and given else None

    return call


def of_texts(function: Callable[..., Any]) -> Callable[..., Any]:
    """None where an argument is None."""
    return lambda *given: None if None in given else function(*given)


# --- overlap ----------------------------------------------------------------------------------------------------


def f1(precision: float, recall: float) -> float:
    """Harmonic mean."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def bags(s: str, ref: str) -> tuple[float, float]:
    """(precision, recall) of words."""
    got, wanted = words(s), words(ref)
    if not got or not wanted:
        return (1.0, 1.0) if got == wanted else (0.0, 0.0)
    shared = sum((Counter(got) & Counter(wanted)).values())
    return shared / len(got), shared / len(wanted)


def rouge(got: Sequence[Any], wanted: Sequence[Any], shared: int) -> float:
    """F1 of a shared part of two sequences."""
    return f1(shared / len(got), shared / len(wanted)) if got and wanted else 0.0


def rouge_n(n: int) -> Callable[[str, str], float]:
    """ROUGE over n-grams of words."""

    def score(s: str, ref: str) -> float:
        got, wanted = ([tuple(w[k : k + n]) for k in range(len(w) - n + 1)] for w in (words(s), words(ref)))
        return rouge(got, wanted, sum((Counter(got) & Counter(wanted)).values()))

    return score


def lcs(a: Sequence[Any], b: Sequence[Any]) -> int:
    """The length of the longest common subsequence, by the table of all prefixes."""
    row = [0] * (len(b) + 1)
    for x in a:
        above = row
        row = [0]
        for k, y in enumerate(b):
            row.append(above[k] + 1 if x == y else max(above[k + 1], row[k]))
    return row[-1]


def rouge_l(s: str, ref: str) -> float:
    """ROUGE over the longest common subsequence."""
    got, wanted = words(s), words(ref)
    return rouge(got, wanted, lcs(got, wanted))


def chrf(s: str, ref: str) -> float:
    """chrF2 over orders 1 to 6 that both sides have."""
    got, wanted = "".join(s.split()), "".join(ref.split())
    shares = []
    for n in range(1, 7):
        mine, theirs = (Counter(t[k : k + n] for k in range(len(t) - n + 1)) for t in (got, wanted))
        if mine and theirs:
            shared = (mine & theirs).total()
            shares.append((shared / mine.total(), shared / theirs.total()))
    if not any(precision for precision, _ in shares):
        return 0.0
    precision, recall = (sum(side) / len(shares) for side in zip(*shares, strict=True))
    return float(5 * precision * recall / (4 * precision + recall))


# --- similarity -------------------------------------------------------------------------------------------------


def indel_similarity(a: str, b: str) -> float:
    """1 - (insertions + deletions) / (both lengths)."""
    both = len(a) + len(b)
    return 2 * lcs(a, b) / both if both else 1.0


def levenshtein_similarity(a: str, b: str) -> float:
    """1 - edits / (the longer length)."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        above = row
        row = [i]
        for k, y in enumerate(b):
            row.append(min(above[k] + (x != y), above[k + 1] + 1, row[k] + 1))
    longest = max(len(a), len(b))
    return 1 - row[-1] / longest if longest else 1.0


# --- phrases ----------------------------------------------------------------------------------------------------


def folded(s: str) -> str:
    """NFKC and casefold."""
    return unicodedata.normalize("NFKC", s).casefold()


def spaced(c: str) -> bool:
    """A letter, mark or digit of a script that writes spaces between words."""
    return bool(c) and unicodedata.category(c)[0] in "LMN" and not _UNSPACED.match(c)


def contains(s: str, part: str) -> bool:
    """Every place is tried."""
    hay, needle = folded(s), folded(part)
    return bool(needle) and any(
        hay.startswith(needle, at)
        and not (spaced(needle[0]) and spaced(hay[at - 1 : at] if at else ""))
        and not (spaced(needle[-1]) and spaced(hay[at + len(needle) : at + len(needle) + 1]))
        for at in range(len(hay) - len(needle) + 1)
    )


def include_rate(s: str, groups: Sequence[Any]) -> float:
    """Page 20's share of groups; a text in place of a group is a group of one phrase; nulls are left out."""
    answer = ru_numeric(s)
    kept = [group for group in groups if group is not None]
    if not kept:
        return 1.0
    phrases = [[ru_numeric(phrase) for phrase in references(group)] for group in kept]
    return sum(any(phrase and phrase in answer for phrase in group) for group in phrases) / len(kept)


_LISTS = json.loads((Path(__file__).parents[2] / "rageval_batch" / "data" / "phrases.json").read_text(encoding="utf-8"))
_PHRASES = [phrase for kind in ("refusal", "abstention") for listed in _LISTS[kind].values() for phrase in listed]


def refused(s: str) -> bool:
    """A listed phrase after NFKC, casefold, one kind of apostrophe and white space runs as one space."""

    def plain(t: str) -> str:
        spaced_out = "".join(" " if c in text.WHITE_SPACE else c for c in folded(t).replace("’", "'"))
        return re.sub(" +", " ", spaced_out)

    return any(plain(phrase) in plain(s) for phrase in _PHRASES)


# --- reading ----------------------------------------------------------------------------------------------------


def numbers_supported(s: str | None, texts: Refs) -> float | None:
    """Share of the numbers that some text has."""
    if s is None or texts is None:
        return None
    mine = [number.value for number in values.numbers(s)]
    theirs = {number.value for one in references(texts) for number in values.numbers(one)}
    if not mine or not references(texts):
        return None
    return sum(value in theirs for value in mine) / len(mine)


_TOKEN_RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def grounded_share(s: str | None, texts: Refs) -> float | None:
    """Share of the keywords that some text has: pairs of Han, and tokens but for the marks at their ends."""
    if s is None or texts is None:
        return None
    mine = text.keywords(s)
    theirs = {keyword for one in references(texts) for keyword in text.keywords(one)}
    theirs |= {run.lower().rstrip("._-") for one in references(texts) for run in _TOKEN_RUN.findall(one)}
    if not mine or not references(texts):
        return None
    return sum(keyword.rstrip("._-") in theirs for keyword in mine) / len(mine)


# The beginnings of the names of letters, of the scripts that the tests write.
_SCRIPT_NAMES = {
    "LATIN": "Latin", "FULLWIDTH LATIN": "Latin", "CYRILLIC": "Cyrillic", "GREEK": "Greek", "ARABIC": "Arabic",
    "HEBREW": "Hebrew", "DEVANAGARI": "Devanagari", "THAI": "Thai", "HANGUL": "Hangul", "CJK": "Han",
    "HIRAGANA": "Kana", "KATAKANA": "Kana", "HALFWIDTH KATAKANA": "Kana",
}  # fmt: skip


def script(s: str) -> str | None:
    """The most frequent script of the letters; Han is Kana where there is Kana; of equals the first."""
    found = [
        next((own for name, own in _SCRIPT_NAMES.items() if unicodedata.name(c, "").startswith(name)), None)
        for c in s
        if unicodedata.category(c).startswith("L")
    ]
    known = [name for name in found if name]
    if "Kana" in known:
        known = ["Kana" if name == "Han" else name for name in known]
    return Counter(known).most_common(1)[0][0] if known else None


def strict_json(s: str) -> str | None:
    """The text, where it is JSON."""
    return s if try_decode(s)[0] else None


# --- retrieval --------------------------------------------------------------------------------------------------


def ranking(ids: Sequence[str | None]) -> list[str]:
    """Distinct ids in their order."""
    return list(dict.fromkeys(i for i in ids if i is not None))


def hits_at(ids: Sequence[str | None], gold: Sequence[str | None], k: int) -> int:
    """Gold ids among the first k."""
    return len(set(ranking(ids)[:k]) & set(ranking(gold)))


def recall_at(ids: Sequence[str | None], gold: Sequence[str | None], k: int) -> float | None:
    """Found over all gold."""
    wanted = ranking(gold)
    return hits_at(ids, gold, k) / len(wanted) if wanted and k >= 1 else None


def precision_at(ids: Sequence[str | None], gold: Sequence[str | None], k: int) -> float | None:
    """Found over k."""
    return hits_at(ids, gold, k) / k if ranking(gold) and k >= 1 else None


def hit_at(ids: Sequence[str | None], gold: Sequence[str | None], k: int) -> float | None:
    """Whether anything was found."""
    return float(hits_at(ids, gold, k) > 0) if ranking(gold) and k >= 1 else None


def reciprocal_rank(ids: Sequence[str | None], gold: Sequence[str | None]) -> float | None:
    """1 over the rank of the first gold id."""
    if not ranking(gold):
        return None
    return next((1 / rank for rank, one in enumerate(ranking(ids), 1) if one in gold), 0.0)


def average_precision(ids: Sequence[str | None], gold: Sequence[str | None]) -> float | None:
    """Mean precision at the ranks of gold ids."""
    wanted = ranking(gold)
    if not wanted:
        return None
    total = sum(hits_at(ids, gold, rank) / rank for rank, one in enumerate(ranking(ids), 1) if one in wanted)
    return total / len(wanted)


def ndcg_at(
    ids: Sequence[str | None] | None,
    gold: Sequence[str | None] | None,
    grades: Sequence[float | None] | None,
    k: int | None,
) -> float | None:
    """Discounted gain over the best; a missing grade is 1, of an id given twice the greater grade counts."""
    if ids is None or gold is None or k is None or k < 1:
        return None
    grade_of: dict[str, float] = {}
    kept = [one for one in gold if one is not None]
    for place, one in enumerate(kept):
        grade = grades[place] if grades is not None and place < len(grades) else 1.0
        grade_of[one] = max(grade_of.get(one, -math.inf), 1.0 if grade is None else grade)

    def gain(graded: Sequence[float]) -> float:
        return sum(max(grade, 0.0) / math.log2(rank + 1) for rank, grade in enumerate(graded[:k], 1))

    ideal = gain(sorted(grade_of.values(), reverse=True))
    return gain([grade_of.get(one, 0.0) for one in ranking(ids)]) / ideal if ideal else None


ORACLES: dict[str, Callable[..., Any]] = {
    "words": of_texts(words),
    "exact_match": best(lambda s, ref: float(words(s) == words(ref))),
    "token_f1": best(lambda s, ref: f1(*bags(s, ref))),
    "token_precision": best(lambda s, ref: bags(s, ref)[0]),
    "token_recall": best(lambda s, ref: bags(s, ref)[1]),
    "rouge_1": best(rouge_n(1)),
    "rouge_2": best(rouge_n(2)),
    "rouge_l": best(rouge_l),
    "chrf": best(chrf),
    "bigram_jaccard": best(text.bigram_jaccard),
    "soft_match": best(text.soft_match),
    "squash": of_texts(text.squash),
    "keywords": of_texts(text.keywords),
    "keyword_hits": of_texts(text.keyword_hits),
    "indel_similarity": of_texts(indel_similarity),
    "levenshtein_similarity": of_texts(levenshtein_similarity),
    "contains": of_texts(contains),
    "contains_all": of_texts(lambda s, parts: all(contains(s, part) for part in references(parts))),
    "contains_any": of_texts(lambda s, parts: any(contains(s, part) for part in references(parts))),
    "include_rate": of_texts(include_rate),
    "refused": of_texts(refused),
    "numbers": of_texts(lambda s: [v for v in (float(n.value) for n in values.numbers(s)) if math.isfinite(v)]),
    "numbers_supported": numbers_supported,
    "grounded_share": grounded_share,
    "script": of_texts(script),
    "strict_json": of_texts(strict_json),
    "recall_at": of_texts(recall_at),
    "precision_at": of_texts(precision_at),
    "hit_at": of_texts(hit_at),
    "reciprocal_rank": of_texts(reciprocal_rank),
    "average_precision": of_texts(average_precision),
    "ndcg_at": ndcg_at,
}
