"""Encoding and delimiter of a text file from its first bytes, where nobody says them."""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Iterable
from itertools import islice

from rageval_batch.model.schemas import EXPECTED, FIELDS, QUESTION

HEAD = 1 << 20  # bytes that are looked at
DELIMITERS = (",", ";", "\t", "|")
_RECORDS = 20  # records that decide about the delimiter
_MARKS = ((codecs.BOM_UTF8, ""), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_DAMAGED = 0.1  # share of bad sequences up to which a text is UTF-8 with bad cells, and no other encoding
_ENOUGH = 3  # bytes that are not UTF-8 from which another encoding is thought of: one or two are damage
_LEGACY = ("cp932", "gb18030", "cp1251", "cp1252")
_KNOWN = frozenset(name for names in (*FIELDS, QUESTION, EXPECTED) for name in names)


def recognise_mark(head: bytes) -> str:
    """The encoding that a byte order mark says; empty for UTF-8 and where there is none."""
    return next((encoding for mark, encoding in _MARKS if head.startswith(mark)), "")


def recognise_encoding(head: bytes) -> tuple[str, bool]:
    """(encoding, whether it is a guess) of a text; empty for UTF-8, also where few of its sequences are bad."""
    if any(head.startswith(mark) for mark, _ in _MARKS):
        return recognise_mark(head), False
    if wide := _without_mark(head):
        return wide, True
    text = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode(head)  # a sequence cut at the end waits
    strange = sum(1 for c in text if c >= "\x80")
    bad = sum(1 for c in text if "\udc80" <= c <= "\udcff")
    if bad < _ENOUGH or bad <= _DAMAGED * strange:
        return "", False
    scores = {name: score for name in _LEGACY if (score := _plausibility(head, name)) is not None}
    if not scores:
        return "", False
    return max(scores, key=lambda name: scores[name]), True


def _without_mark(head: bytes) -> str:
    """UTF-16 without a mark: ASCII characters have every other byte zero."""
    if len(head) < 4 or head[:64].count(0) < min(_ENOUGH, len(head) // 4):  # one or two are damage
        return ""
    even, odd = head[0:4096:2].count(0), head[1:4096:2].count(0)
    return "utf-16-le" if odd > 4 * even else "utf-16-be" if even > 4 * odd else ""


# What each encoding is used for: scripts whose letters are common in such files, and how sure a letter makes us.
_SCRIPTS = {
    "cp932": {"HIRAGANA": 1.0, "KATAKANA": 1.0, "CJK": 0.9, "FULLWIDTH": 0.5, "IDEOGRAPHIC": 1.0},
    "gb18030": {"CJK": 0.95, "FULLWIDTH": 0.8, "IDEOGRAPHIC": 1.0},
    "cp1251": {"CYRILLIC": 1.0},
    "cp1252": {"LATIN": 1.0},
}
_SAID = re.compile(r"sep=([^\r\n])\r?\n?", re.IGNORECASE)  # a first line for Excel that names the delimiter
_PUNCTUATION = frozenset("«»„“”‘’–—…№€£§°©®™·×")


def _plausibility(head: bytes, encoding: str) -> float | None:
    """How well bytes that are not ASCII read in an encoding, 0 to 1; None where they are not of that encoding."""
    try:
        text = codecs.getincrementaldecoder(encoding)("strict").decode(head)
    except UnicodeDecodeError:
        return None
    strange = [c for c in text if c >= "\x80"]
    if not strange:
        return None
    scripts = _SCRIPTS[encoding]
    worth = {c: _worth(c, encoding, scripts) for c in set(strange)}
    return sum(worth[c] for c in strange) / len(strange) * _in_words(text, encoding)


def _worth(c: str, encoding: str, scripts: dict[str, float]) -> float:
    if c in _PUNCTUATION:
        return 0.6
    name = unicodedata.name(c, "")
    if name.startswith("HALFWIDTH"):  # every byte from A1 on is such a letter in cp932
        return 0.1
    if name.startswith("CJK") and not _common_han(c, encoding):
        return 0.2
    return scripts.get(name.split(" ")[0].split("-")[0], 0.0)


def _common_han(c: str, encoding: str) -> bool:
    """Whether a Han character is of the first level of the national set, which holds the frequent ones."""
    try:
        first = c.encode("gb2312" if encoding == "gb18030" else "shift_jis")[0]
    except UnicodeEncodeError:
        return False
    return 0xB0 <= first <= 0xD7 if encoding == "gb18030" else 0x88 <= first <= 0x97


def _in_words(text: str, encoding: str) -> float:
    """How usual the neighbours of letters are: Western accents stand among ASCII letters, Cyrillic ones in words of
    their own, whose capitals are at their beginning."""
    if encoding not in ("cp1251", "cp1252"):
        return 1.0
    good = total = 0
    for before, c in zip(" " + text, text, strict=False):
        if c >= "\x80" and c.isalpha():
            total += 1
            plain = before.isascii() and before.isalpha()
            if encoding == "cp1252":
                good += plain or not before.isalpha()
            else:
                good += not plain and not (c.isupper() and before.islower())
    return good / total if total else 1.0


def recognise_delimiter(head: bytes, encoding: str, cut: bool) -> str:
    """What stands between the cells of a CSV text; a comma where nothing shows. `cut`: the text goes on."""
    decoder = codecs.getincrementaldecoder(encoding or "utf-8-sig")("replace")
    lines = decoder.decode(head).splitlines(keepends=True)
    if cut:
        lines = lines[:-1]
    if lines and (said := _SAID.fullmatch(lines[0])) is not None:
        return said[1]
    return max(DELIMITERS, key=lambda one: (_cells(lines, one), -DELIMITERS.index(one)))


def _cells(lines: Iterable[str], delimiter: str) -> tuple[int, float, int]:
    """(known names in the header, share of the records that are as wide as it, its width) with a delimiter."""
    import csv

    try:
        records = list(islice(csv.reader(lines, delimiter=delimiter), _RECORDS))
    except csv.Error:
        return 0, 0.0, 0
    if not records or len(records[0]) < 2:
        return 0, 0.0, 0
    header, *rows = records
    same = sum(len(row) == len(header) for row in rows) / len(rows) if rows else 1.0
    return sum(name.strip() in _KNOWN for name in header), same, len(header)
