"""Text as the profiles read it: normal forms, squashing and keywords over columns. The only user of jieba."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch.columnar import characters, kernels
from rageval_batch.columnar.kernels import KeywordHits, KeywordTables, boundaries
from rageval_batch.columnar.strings import LARGE_STRING, Bytes, Flags, Ints, Offsets, Strings, bounds_of, from_arrow
from rageval_batch.columnar.tolerance import TOLERANCE

UNICODE_FORMS = ("none", "nfkc", "nfkc_casefold")
KEYWORD_MODES = ("bigram", "jieba")
SOFT_THRESHOLD = 0.72  # bigram Jaccard from which two texts match softly
NORMALIZERS = ("ru_numeric", "en_numeric", "none", "nfkc_casefold")

_TOKEN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{2,}")
_HAN_RUN = re.compile(r"[\u4e00-\u9fff\u3400-\u4dbf]+")


def nfkc(text: str) -> str:
    """NFKC, as Python does it."""
    return unicodedata.normalize("NFKC", text)


def nfkc_casefold(text: str) -> str:
    """NFKC, then casefold, as Python does them."""
    return nfkc(text).casefold()


def folded(column: Strings) -> Strings:
    """NFKC, then casefold, of every text, by a table where one has all of its characters."""
    data, offsets, left_out = boundaries.folded(column.data, column.offsets, characters.fold_table())
    out = Strings(data, offsets)
    if not left_out.any():
        return out
    rest = pa.array(left_out)
    changed = map_distinct(from_arrow(column.to_arrow().filter(rest)), nfkc_casefold)
    return from_arrow(pc.replace_with_mask(out.to_arrow(), rest, changed.to_arrow()))


def unicode_form(column: Strings, form: str) -> Strings:
    """A column in one of UNICODE_FORMS, each distinct string worked out once."""
    if form == "none":
        return column
    return map_distinct(column, nfkc if form == "nfkc" else nfkc_casefold)


def map_distinct(column: Strings, change: Callable[[str], str]) -> Strings:
    """`change` applied to every distinct string of a column once."""
    coded = column.to_arrow().dictionary_encode()
    changed = pa.array([change(text) for text in coded.dictionary.to_pylist()], LARGE_STRING)
    return from_arrow(changed.take(coded.indices))


def word_index(column: Strings, words: Sequence[str]) -> Ints:
    """The place of each string, stripped and casefolded, among the words; -1 where it is none of them."""
    starts, ends = kernels.strip(column.data, column.starts, column.ends)
    short = ends - starts <= 4 * max(map(len, words))  # a longer one cannot be one of them
    coded = kernels.cut(column.data, starts, np.where(short, ends, starts)).to_arrow().dictionary_encode()
    places = {word: k for k, word in enumerate(words)}
    known = np.array([places.get(text.casefold(), -1) for text in coded.dictionary.to_pylist()], np.int32)
    return np.where(short, known[coded.indices.to_numpy()], -1).astype(np.int32)


def normalized(column: Strings, normalizer: str) -> Strings:
    """A column as one of NORMALIZERS has it; empty stays empty."""
    if normalizer == "ru_numeric":
        return ru_numeric(column)
    if normalizer != "en_numeric":
        return unicode_form(column, normalizer)
    from rageval_batch.columnar.values.plain import en_numeric  # readers of figures, which take long to compile

    return map_distinct(column, en_numeric)


# --- numbers as Russian texts write them ------------------------------------------------------------------------

_COMPARISONS = {"более": ">", "свыше": ">", "менее": "<"}


@lru_cache(maxsize=1)
def _ru_tables() -> tuple[Ints, Bytes, Ints, Offsets, Bytes]:
    """What `kernels.unify_numbers` needs: every character mapped, kinds, comparison words and their signs."""
    mapped = characters.lower_table().copy()
    for spelling, plain in (("ё", "е"), ("\u00a0", " "), ("\u202f", " ")):
        mapped[mapped == ord(spelling)] = ord(plain)
    words = np.array([ord(letter) for word in _COMPARISONS for letter in word], np.int32)
    bounds = np.cumsum([0, *map(len, _COMPARISONS)], dtype=np.int64)
    signs = np.array([ord(sign) for sign in _COMPARISONS.values()], np.uint8)
    return mapped, characters.kind_table(), words, bounds, signs


def ru_numeric(column: Strings) -> Strings:
    """Lower case, ё as е, comparison words as signs, numbers without inner spaces and with a decimal point."""
    return kernels.unify_numbers(lower_untabled(column), *_ru_tables())


def lower_untabled(column: Strings) -> Strings:
    """The column with those strings lowered by Python that have a character whose lower case no table can give."""
    content = column.data[column.offsets[0] : column.offsets[-1]]
    if not any((content == character.encode()[0]).any() for character in characters.UNTABLED):
        return column
    texts = column.to_arrow()
    odd = pc.match_substring_regex(texts, f"[{characters.UNTABLED}]")
    lowered = pa.array([text.lower() for text in texts.filter(odd).to_pylist()], LARGE_STRING)
    return from_arrow(pc.replace_with_mask(texts, odd, lowered))


def blank(column: Strings) -> Flags:
    """Which strings are empty or white space only, as `str.strip` sees white space."""
    flags: Flags = kernels.blank(column.data, column.starts, column.ends, characters.kind_table())
    return flags


# --- words ----------------------------------------------------------------------------------------------------------

_WORD_MARK = "\ufdd0"  # no character: Unicode keeps it for such uses
# Letters, marks and digits of scripts that put spaces between words; in the others every place is a boundary.
# A number with separators is one word: 5% is not in 12.5%.
_SPACED = (
    r"(?:\p{Nd}(?:[.,]\p{Nd})+|[^\P{L}\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}〆〱-〵ーｰ]"
    r"|\p{M}|\p{Nd}|_)+"
)


def word_marked(column: Strings) -> Strings:
    """A column with a mark on both sides of every word of a spaced script.

    A marked text has another one as a substring where the unmarked one stands at word boundaries.
    """
    texts = pc.replace_substring(column.to_arrow(), _WORD_MARK, "")
    return from_arrow(pc.replace_substring_regex(texts, f"({_SPACED})", rf"{_WORD_MARK}\1{_WORD_MARK}"))


def without_word_marks(text: str) -> str:
    """A text of a marked column as it was."""
    return text.replace(_WORD_MARK, "")


# --- citations ----------------------------------------------------------------------------------------------------

# `(?i)стр\.?\s*\d+` and the like, mostly with an optional bracket in front: decided in compiled code.
_NUMBERED = re.compile(r"\(\?i\)(?:\(\?:\\\(\\s\*\)\?)?(\w+)\\\.\?\\s\*\\d\+")


class PatternSet:
    """Regular expressions of Python, to be looked for in columns."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._all = [re.compile(pattern) for pattern in patterns]
        self._words, self._others = [], []
        for pattern in self._all:
            word = _NUMBERED.fullmatch(pattern.pattern)
            if word and len(word[1]) <= characters.MOST_LETTERS:
                self._words.append(word[1])
            else:
                self._others.append(pattern)

    @property
    def patterns(self) -> tuple[str, ...]:
        """The expressions as they were written."""
        return tuple(pattern.pattern for pattern in self._all)

    def found(self, column: Strings) -> Flags:
        """Which strings any of the patterns matches somewhere."""
        out: Flags = np.zeros(len(column), np.bool_)
        for word in self._words:
            marks, kinds = characters.letter_marks(word), characters.kind_table()
            out |= kernels.numbered(column.data, column.starts, column.ends, marks, len(word), kinds)
        if self._others and not out.all():
            rest = np.flatnonzero(~out)
            texts = column.to_arrow().take(pa.array(rest)).to_pylist()
            out[rest] = [any(pattern.search(text) for pattern in self._others) for text in texts]
        return out

    def first(self, text: str) -> str | None:
        """What the first pattern that matches one text matches there, for explaining a row."""
        return next((match[0] for pattern in self._all if (match := pattern.search(text))), None)


# --- keywords by words ------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _segmenter() -> Any:
    """jieba with its dictionary loaded, silent; costs about a second, so only when it is asked for."""
    import logging
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its sources predate today's rules for escapes and resources
        import jieba

        jieba.setLogLevel(logging.WARNING)
        tokenizer = jieba.Tokenizer()
        # Not by `initialize`: that believes a cache in the folder of temporary files, which anybody may have written.
        tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
        tokenizer.initialized = True
        _simplified("門")  # loads the table of characters
    return tokenizer


@lru_cache(maxsize=65536)
def _simplified(character: str) -> str:
    from zhconv import convert

    other = convert(character, "zh-hans")
    return other if len(other) == 1 else character


def _words(run: str) -> list[str]:
    """Words of two or more characters of a run of Han: boundaries from its Simplified form, characters as they are."""
    words = []
    at = 0
    for word in _segmenter().cut("".join(map(_simplified, run))):
        if len(word) >= 2:
            words.append(run[at : at + len(word)])
        at += len(word)
    return words


def word_keywords(text: str) -> list[str]:
    """Distinct keywords by jieba, first seen first: ASCII tokens, then words of two or more Han characters."""
    found = [token.lower() for token in _TOKEN.findall(text)]
    for run in _HAN_RUN.findall(text):
        found.extend(_words(run))
    return list(dict.fromkeys(found))


class KeywordIndex:
    """The first `cap` keywords of each expected text, ready to be looked up in answers."""

    def __init__(self, expected: Strings, mode: str, cap: int, *, kana: bool = False) -> None:
        self._mode = mode
        self._kana = kana
        self.tables: KeywordTables | None = None  # what kernels look keywords up in; words of jieba have none
        if mode == "jieba":
            self._lists = [word_keywords(text)[:cap] for text in expected.to_arrow().to_pylist()]
            self.counts = np.array([len(words) for words in self._lists], np.int32)
            self._bounds = bounds_of(self.counts)
        else:
            self.tables = kernels.keyword_tables(kernels.keywords(expected, cap, kana))
            self.counts = self.tables.found.counts().astype(np.int32)
            self._bounds = self.tables.found.bounds

    def hits(self, which: Ints, got: Strings) -> KeywordHits:
        """Which keywords of expected text `which[i]` are among the keywords of `got[i]`; an empty text has none."""
        if self.tables is not None:
            return kernels.keyword_hits(self.tables, which, got, self._kana)
        coded = got.to_arrow().dictionary_encode()
        found = [frozenset(word_keywords(text)) for text in coded.dictionary.to_pylist()]
        counts, last_row = np.zeros(len(which), np.int32), np.full(self._bounds[-1], -1, np.int32)
        for row, (expected, code) in enumerate(zip(which.tolist(), coded.indices.to_pylist(), strict=True)):
            hit = [k for k, word in enumerate(self._lists[expected], self._bounds[expected]) if word in found[code]]
            counts[row] = len(hit)
            last_row[hit] = row
        return KeywordHits(counts, last_row)

    def hit_keywords(self, which: int, hits: KeywordHits, row: int) -> list[tuple[str, bool]]:
        """Every keyword of one expected text with whether `row` has it; no other row may have looked the text up."""
        first, last = int(self._bounds[which]), int(self._bounds[which + 1])
        if self.tables is None:
            words = self._lists[which]
        else:
            texts = kernels.keyword_texts(self.tables.found)
            words = [texts.at(k) for k in range(first, last)]
        return list(zip(words, (hits.last_row[first:last] == row).tolist(), strict=True))


# --- the scorer's functions over Arrow columns, as SQL sees them ----------------------------------------------------


def squash(column: pa.Array) -> pa.Array:
    """Strings without White_Space; null stays null."""
    return kernels.squash(from_arrow(column)).to_arrow(_valid(column))


def keyword_lists(column: pa.Array, kana: bool = False) -> pa.Array:
    """The distinct keywords of each string as a list; null gives null."""
    found = kernels.keywords(from_arrow(column), kana=kana)
    words = kernels.keyword_texts(found).to_arrow()
    lists = pa.LargeListArray.from_arrays(pa.array(found.bounds), words)
    return lists if column.null_count == 0 else pc.if_else(column.is_valid(), lists, None)


def keyword_hits(expected: pa.Array, got: pa.Array, cap: int = 30) -> pa.Array:
    """How many of the first `cap` keywords of expected are among those of got; null where either is null."""
    index = KeywordIndex(from_arrow(expected), "bigram", cap)
    hits = index.hits(np.arange(len(expected), dtype=np.int32), from_arrow(got))
    return _where_both(expected, got, pa.array(hits.counts))


def soft_match(a: pa.Array, b: pa.Array, threshold: float = SOFT_THRESHOLD) -> pa.Array:
    """The soft match of each pair of strings; null where either is null."""
    rows = np.arange(len(a), dtype=np.int32)
    left, right = (kernels.squashed_points(from_arrow(column)) for column in (a, b))
    one, least = np.int32(1), threshold - TOLERANCE
    pairs = kernels.match_pairs(left, kernels.grams_of(left), rows, rows + one, right, rows, rows + one, least)
    return _where_both(a, b, pa.array(pairs.matched))


def _valid(column: pa.Array) -> Any:
    return column.is_valid().to_numpy(zero_copy_only=False)


def _where_both(a: pa.Array, b: pa.Array, values: pa.Array) -> pa.Array:
    if a.null_count == 0 and b.null_count == 0:
        return values
    return pc.if_else(pc.and_(a.is_valid(), b.is_valid()), values, None)
