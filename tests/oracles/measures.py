"""Whether one number of a text can contradict another: by their units, currencies and what they count."""

import re
from typing import Protocol

LETTER = "[A-Za-zА-Яа-яЁё_]"
CURRENCIES = {
    "$": ["$", "dollar", "dollars", "usd", "ドル", "доллар@"],
    "€": ["€", "euro", "euros", "eur", "евро", "ユーロ"],
    "£": ["£", "pound", "pounds", "gbp"],
    "¥": ["¥", "￥", "円", "yen", "yuan", "jpy", "rmb", "cny", "иен@", "юан@"],
    "₽": ["₽", "ruble", "rubles", "rouble", "roubles", "руб", "рубл@"],
    "₹": ["₹", "rupee", "rupees"],
    "hkd": ["hkd"],
    "twd": ["twd"],
}
COUNTED = """
    year years month months week weeks day days hour hours minute minutes second seconds people person persons
    employees times page pages год@ лет месяц@ недел@ день дн@ час@ минут@ секунд@ человек@ раз раза か月 ヶ月 週間
"""
ADJECTIVES = ["calendar", "working", "business", "рабочи@", "календарн@"]
NAMING = """
    article articles section sections clause clauses paragraph paragraphs chapter chapters art. sec. no. ст. п.
    статья статьи статью статье пункт пункта пункте пункту глава главы главе § №
"""


class Span(Protocol):
    """A number with its unit and span."""

    @property
    def unit(self) -> str: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


def _is(word: str, entries: list[str]) -> bool:
    """@ stands for an ending of at most three letters."""
    return any(
        word == entry or (entry[-1] == "@" and re.fullmatch(f"{entry[:-1]}[а-яё]{{0,3}}", word)) for entry in entries
    )


def _pieces(text: str) -> list[str]:
    """Words, currency signs and kana, without anything else."""
    return re.findall(f"{LETTER}+|か月|ヶ月|週間|[ァ-ヶー]+|[^ \t]", text.lower())


def _currency(text: str, number: Span) -> str:
    head, tail = _pieces(text[max(0, number.start - 24) : number.start]), _pieces(text[number.end :][:24])
    head = head[:-1] if head[-1:] == ["."] else head
    tail = tail[1:] if tail[:1] == ["us"] else tail
    for word in [*head[-1:], *_pieces(text[number.start : number.end]), *tail[:1]]:
        for name, spellings in CURRENCIES.items():
            if _is(word, spellings):
                return name
    return ""


def _counts_something_else(text: str, number: Span) -> bool:
    before, behind = text[max(0, number.start - 24) : number.start].lower(), text[number.end :]
    tail = _pieces(behind[:40])
    if tail and _is(tail[0], ADJECTIVES):
        tail = tail[1:]
    if (tail and _is(tail[0], COUNTED.split())) or re.match(rf"[ \t]*г\.(?!{LETTER})", behind.lower()):
        return True
    named = any(
        before.rstrip(" \t").endswith(word)
        and not (re.match(LETTER, word) and re.search(f"{LETTER}\\Z", before.rstrip(" \t")[: -len(word)]))
        for word in NAMING.split()
    )
    if named or re.search(f"{LETTER}-\\Z", before) or re.search("[0-9]:\\Z", before) or re.match(":[0-9]{2}", behind):
        return True
    cited = re.search(r"\[[0-9,; –-]*\Z", before) and re.match(r"[0-9,; –-]*\]", behind)
    return bool(cited) or bool(re.fullmatch("(19|20)[0-9]{2}", text[number.start : number.end]))


def contradicts(text: str, other: Span, hit: Span) -> bool:
    """Whether a number has the unit of another; money has a currency for its unit."""
    if other.unit != hit.unit or hit.unit:
        return other.unit == hit.unit
    money, also = _currency(text, hit), _currency(text, other)
    if not money:
        return True
    return also == money if also else not _counts_something_else(text, other)
