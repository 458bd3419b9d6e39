"""What a number without a listed unit counts: money of a currency, something else, or nothing that the text says."""

from __future__ import annotations

import re

from rageval_batch.columnar.values.numbers import Number

# Signs and words of a currency; yen and yuan share a sign.
_CURRENCIES = {
    "dollar": (r"\$", "dollars?|usd|доллар[а-яё]{0,3}|ドル"),
    "euro": ("€", "euros?|eur|евро|ユーロ"),
    "pound": ("£", "pounds?|gbp"),
    "yen or yuan": ("[¥￥円]", "yen|yuan|jpy|rmb|cny|иен[а-яё]{0,3}|юан[а-яё]{0,3}"),
    "rouble": ("₽", "rou?bles?|руб|рубл[а-яё]{0,3}"),
    "rupee": ("₹", "rupees?"),
    "Hong Kong dollar": ("(?!)", "hkd"),
    "Taiwan dollar": ("(?!)", "twd"),
}
_LETTER = "[A-Za-zА-Яа-яЁё_]"
_NAMES = "|".join(
    rf"(?P<c{place}>{sign}|(?<!{_LETTER})(?:{words})(?!{_LETTER}))"
    for place, (sign, words) in enumerate(_CURRENCIES.values())
)
_CURRENCY = re.compile(_NAMES, re.IGNORECASE)
_CURRENCY_BEFORE = re.compile(rf"(?:{_NAMES})\.?[ \t]*\Z", re.IGNORECASE)
_CURRENCY_BEHIND = re.compile(rf"[ \t]*(?:us[ \t]*)?(?:{_NAMES})", re.IGNORECASE)
_REACH = 24  # characters in which a word beside a number has room

_COUNTED_BEHIND = re.compile(
    r"[ \t]*(?:(?:calendar|working|business|рабочи[а-яё]|календарн[а-яё]{1,3})[ \t]+)?"
    r"(?:years?|months?|weeks?|days?|hours?|minutes?|seconds?|people|persons?|employees|times|pages?"
    r"|год[а-яё]{0,2}|лет|г\.|месяц[а-яё]{0,3}|недел[а-яё]{1,3}|день|дн[а-яё]{1,3}|час[а-яё]{0,3}|минут[а-яё]{0,2}"
    rf"|секунд[а-яё]{{0,2}}|человек[а-яё]{{0,2}}|раза?|か月|ヶ月|週間)(?!{_LETTER})",
    re.IGNORECASE,
)
_NAMED_BEFORE = re.compile(
    rf"(?:§|№|(?<!{_LETTER})(?:articles?|sections?|clauses?|paragraphs?|chapters?|art\.|sec\.|no\."
    rf"|ст\.|стать[а-яё]{{1,2}}|п\.|пункт[а-яё]{{0,2}}|глав[а-яё]{{1,2}}))[ \t]*\Z|{_LETTER}-\Z|[0-9]:\Z",
    re.IGNORECASE,
)
_CLOCK_BEHIND = re.compile(":[0-9]{2}")
_YEAR = re.compile("(?:19|20)[0-9]{2}")
_LIST_BEFORE = re.compile(r"\[[0-9,; –-]*\Z")
_LIST_BEHIND = re.compile(r"[0-9,; –-]*\]")


def currency(raw: str, number: Number) -> str:
    """The currency that stands beside a number of a text; "" for none."""
    start, end = number.start, number.end
    m = (
        _CURRENCY_BEFORE.search(raw[max(0, start - _REACH) : start])
        or _CURRENCY.search(raw[start:end])
        or _CURRENCY_BEHIND.match(raw, end)
    )
    return tuple(_CURRENCIES)[int(str(m.lastgroup)[1:])] if m else ""


def is_no_money(raw: str, number: Number) -> bool:
    """Whether a number without a currency is a year, a time, a count of other things or the number of something."""
    start, end = number.start, number.end
    before = raw[max(0, start - _REACH) : start]
    if _COUNTED_BEHIND.match(raw, end) or _NAMED_BEFORE.search(before) or _CLOCK_BEHIND.match(raw, end):
        return True
    return _YEAR.fullmatch(raw, start, end) is not None or (
        _LIST_BEFORE.search(before) is not None and _LIST_BEHIND.match(raw, end) is not None
    )
