"""Slow, obvious text primitives: white space, the soft match and keywords, on plain Python strings."""

import itertools
import re
import unicodedata

TOLERANCE = 1e-9  # of every limit

# Unicode's White_Space property, written out: str.isspace() also has U+001C to U+001F, which are not in it.
WHITE_SPACE = frozenset(
    "\u0009\u000a\u000b\u000c\u000d\u0020\u0085\u00a0\u1680"
    "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
_WHITE_SPACE_STRING = "".join(sorted(WHITE_SPACE))

TOKEN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{2,}")
HAN_RUN = re.compile(r"[\u4e00-\u9fff\u3400-\u4dbf]+")
# Letters and combining marks of Hiragana and Katakana, with the length mark; the middle dot separates words.
KANA_RUN = re.compile(r"[\u3041-\u3096\u3099\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f]+")


def strip(s: str) -> str:
    """The string without white space at its two ends."""
    return s.strip(_WHITE_SPACE_STRING)


def squash(s: str) -> str:
    """The string without any white space."""
    return "".join(c for c in s if c not in WHITE_SPACE)


def collapse(s: str) -> str:
    """The string with each run of white space made one space, and none at its ends."""
    spaced = "".join(" " if c in WHITE_SPACE else c for c in s)
    return " ".join(word for word in spaced.split(" ") if word)


def unicode_form(s: str, form: str = "none") -> str:
    """The string as it is, in NFKC, or case-folded in NFKC."""
    if form == "none":
        return s
    s = unicodedata.normalize("NFKC", s)
    if form == "nfkc":
        return s
    if form == "nfkc_casefold":
        return s.casefold()
    raise ValueError(f"unknown unicode_form {form!r}")


def bigrams(s: str) -> set[str]:
    """The set of adjacent code-point pairs; empty for fewer than two code points."""
    return {a + b for a, b in itertools.pairwise(s)}


def bigram_jaccard(a: str, b: str) -> float:
    """Shared pairs over all pairs of two strings taken as they are; 0 where neither has a pair."""
    pairs_a, pairs_b = bigrams(a), bigrams(b)
    union = pairs_a | pairs_b
    if not union:
        return 0.0
    return len(pairs_a & pairs_b) / len(union)


def contained(e: str, g: str, least: int) -> bool:
    """Whether two squashed strings are equal, or the shorter, of at least so many characters, is in the longer."""
    return bool(e and g) and (e == g or (min(len(e), len(g)) >= least and (e in g or g in e)))


def soft_match(e: str, g: str, threshold: float = 0.72, containment_min: int = 1) -> bool:
    """Whether two strings, squashed, contain one another or share enough pairs; never where one is empty."""
    e, g = squash(e), squash(g)
    if contained(e, g, containment_min):
        return True
    if not bigrams(e) or not bigrams(g):
        return False
    return bigram_jaccard(e, g) >= threshold - TOLERANCE


def distinct(items: list[str]) -> list[str]:
    """The items without repetitions, first seen first."""
    return list(dict.fromkeys(items))


def run_pairs(run: str) -> list[str]:
    """The adjacent pairs of a run, in order, repetitions kept."""
    return [a + b for a, b in itertools.pairwise(run)]


def simplified(c: str) -> str:
    """The Simplified form of one character, or the character where that is not exactly one."""
    import zhconv

    converted = str(zhconv.convert(c, "zh-hans"))
    return converted if len(converted) == 1 else c


def jieba_words(run: str) -> list[str]:
    """The run's words of two or more characters: boundaries from the Simplified form, characters as they are."""
    import jieba

    words = []
    begin = 0
    for word in jieba.cut("".join(simplified(c) for c in run)):
        end = begin + len(word)
        if end - begin >= 2:
            words.append(run[begin:end])
        begin = end
    return words


def keywords(s: str, mode: str = "bigram", kana: bool = False) -> list[str]:
    """Lower-cased tokens, then pairs (or jieba's words) of Han runs, then with kana pairs of Kana runs; distinct."""
    if mode not in ("bigram", "jieba"):
        raise ValueError(f"unknown keywords mode {mode!r}")
    found = [token.lower() for token in TOKEN.findall(s)]
    for run in HAN_RUN.findall(s):
        found.extend(run_pairs(run) if mode == "bigram" else jieba_words(run))
    if kana:
        for run in KANA_RUN.findall(s):
            found.extend(run_pairs(run))
    return distinct(found)


def keyword_hits(e: str, g: str, cap: int = 30, mode: str = "bigram") -> int:
    """How many of the first `cap` keywords of e are among all keywords of g."""
    of_got = set(keywords(g, mode))
    return sum(1 for keyword in keywords(e, mode)[:cap] if keyword in of_got)
