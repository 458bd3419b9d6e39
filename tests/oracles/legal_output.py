"""An output of page 50 as it is read: a strict JSON object, or plain text."""

import json
import re
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

from oracles.text import WHITE_SPACE, squash
from oracles.values import fold, numbers, page_citations, sentences


class Item(NamedTuple):
    """A citation or evidence item; every part may be missing."""

    page: str | None
    text: str
    section: str | None
    speaker: str | None


class Answer(NamedTuple):
    """An output as it is read: fields that are present, the answer's text, evidence and citations."""

    fields: dict[str, Any]
    text: str
    evidence: list[Item]
    citations: list[Item]


def read_output(output: str) -> Answer:
    """A strict JSON object is structured; anything else is plain text."""
    fields = _json_object(output)
    if fields is None:
        return Answer({}, output, [], _text_citations(output))
    fields = {key: value for key, value in fields.items() if value is not None}
    text = as_text(first_given(fields, ("answer", "text", "text_answer")))
    cited = first_given(fields, ("citations", "citation"))
    citations = _text_citations(text) if cited is None else items_of(cited)
    return Answer(fields, text, items_of(fields.get("evidence")), citations)


_TOKEN = re.compile(r'[ \t\n\r]*([\[\]{}:,]|"(?:[^"\\]|\\.)*"|[-+.0-9A-Za-z]+)', re.DOTALL)


def _json_object(output: str) -> dict[str, Any] | None:
    """The object, or None where the text is not exactly one JSON object as page 10 defines JSON."""
    text = output.strip("".join(WHITE_SPACE))
    if not text.startswith("{"):
        return None
    try:
        value = _decode(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _decode(text: str) -> Any:
    """The value of a JSON text, however deep; ValueError where it is none."""
    containers: list[Any] = []
    keys: list[str] = []
    want, pos = "value", 0  # want: value, value or ], key, key or }, :, "," (or the end of the container), end
    value: Any = None
    while want != "end":
        m = _TOKEN.match(text, pos)
        if m is None:
            raise ValueError(pos)
        token, pos = m[1], m.end()
        if token in "{[" and want in ("value", "value or ]"):
            containers.append({} if token == "{" else [])
            want = "key or }" if token == "{" else "value or ]"
            continue
        if (token == ":" and want == ":") or (token == "," and want == ","):
            want = "value" if token == ":" or isinstance(containers[-1], list) else "key"
            continue
        if token[0] == '"' and want in ("key", "key or }"):
            keys.append(_scalar(token))
            want = ":"
            continue
        closes = {"}": dict, "]": list}.get(token)
        if closes is not None and containers and isinstance(containers[-1], closes) and want in (",", _INSIDE[token]):
            value = containers.pop()
        elif closes is None and want in ("value", "value or ]"):
            value = _scalar(token)
        else:
            raise ValueError(pos)
        want = "," if containers else "end"
        if containers and isinstance(containers[-1], dict):
            containers[-1][keys.pop()] = value
        elif containers:
            containers[-1].append(value)
    if pos != len(text):
        raise ValueError(pos)
    return value


_INSIDE = {"}": "key or }", "]": "value or ]"}


def _scalar(token: str) -> Any:
    """A string, number, true, false or null; ValueError for anything else and for half a surrogate pair."""
    value = json.loads(token, parse_int=_json_number, parse_float=_json_number, parse_constant=_no_constant)
    if isinstance(value, str) and token[0] == '"' and any("\ud800" <= c <= "\udfff" for c in value):
        raise ValueError(token)
    return value


class Absurd(str):
    """A number of a size that nobody writes: it has a text and no value."""


def _json_number(s: str) -> Decimal | Absurd:
    """The number exactly, as far as that is sane."""
    try:
        value = Decimal(s)
    except InvalidOperation:
        return Absurd(s)
    return value if abs(value.adjusted()) <= 20_000 else Absurd(s)


def _no_constant(s: str) -> None:
    raise ValueError(s)


def as_object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def first_given(fields: dict[str, Any], keys: tuple[str, ...]) -> Any:
    return next((fields[key] for key in keys if fields.get(key) is not None), None)


def as_text(value: Any) -> str:
    """A string as it is, nothing as "", anything else as its JSON text where it has one."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    try:
        return _json_text(value)
    except (TypeError, ValueError, RecursionError):  # nested too deep, or an integer too long for a text
        return ""


def _json_text(value: Any) -> str:
    """JSON with numbers in plain decimals."""
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, Absurd):
        return str(value)
    if isinstance(value, list):
        return "[" + ", ".join(map(_json_text, value)) + "]"
    if isinstance(value, dict):
        members = [f"{json.dumps(key, ensure_ascii=False)}: {_json_text(part)}" for key, part in value.items()]
        return "{" + ", ".join(members) + "}"
    return json.dumps(value, ensure_ascii=False)


def items_of(value: Any) -> list[Item]:
    """Evidence or citation items; one without page and text is none."""
    items = []
    for entry in as_list(value):
        if isinstance(entry, dict):
            text = as_text(first_given(entry, ("text", "quote")))
            item = Item(
                page_of(entry.get("page")), text, label_of(entry.get("section")), label_of(entry.get("speaker"))
            )
        else:
            text = as_text(entry)
            cited = page_citations(text)
            item = Item(str(cited[0].page) if cited else None, text, None, None)
        if item.page is not None or squash(item.text):
            items.append(item)
    return items


def page_of(value: Any) -> str | None:
    """A page as comparable text: 2, 2.0, "2", "第2页" and "p. 2" are one page."""
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, int | float | Decimal):
        number = as_decimal(value)
        if number is None or number != number.to_integral_value():
            return None if number is None else f"{number:f}"
        return f"{number.to_integral_value():f}"
    text = fold(as_text(value))
    cited = page_citations(text)
    if cited:
        return str(cited[0].page)
    if re.fullmatch("[0-9]{1,9}", text):
        return str(int(text))
    return text or None


def label_of(value: Any) -> str | None:
    return None if value is None else fold(as_text(value)) or None


def _text_citations(text: str) -> list[Item]:
    """Cited pages of a plain text, each with its passage: the sentences behind the citing one before, up to its own.

    What stands behind the last citing sentence belongs to the last passage.
    """
    cited = page_citations(text)
    citing: list[tuple[int, list[str]]] = []  # where each citing sentence ends, and its pages
    for _start, end in sentences(text):
        pages = []
        while cited and cited[0].start < end:
            page = str(cited.pop(0).page)
            pages += [page] if page not in pages else []
        if pages:
            citing.append((end, pages))
    items = []
    begin = 0
    for k, (end, pages) in enumerate(citing):
        stop = len(text) if k == len(citing) - 1 else end
        items += [Item(page, text[begin:stop], None, None) for page in pages]
        begin = stop
    return items


def as_decimal(value: Any) -> Decimal | None:
    """A JSON number exactly; None for anything else."""
    if isinstance(value, bool | Absurd) or value is None:
        return None
    if isinstance(value, Decimal):
        return value
    if isinstance(value, int):
        return Decimal(value)
    if isinstance(value, float):
        number = Decimal(repr(value))
        return number if number.is_finite() else None
    return None


class Amount(NamedTuple):
    """A number with its kind; `low` and `high` are the ends of a range, and equal where it is none."""

    kind: str
    low: Decimal
    high: Decimal


def as_amount(value: Any) -> Amount | None:
    """A number, or the only number or range in a text; None for anything else."""
    if isinstance(value, str) and not isinstance(value, Absurd):
        found = numbers(value)
        if len({number.value for number in found}) == 1:
            exact = any(number.kind == "exact" for number in found)
            return Amount("exact" if exact else found[0].kind, found[0].value, found[0].value)
        if len(found) == 2 and found[0].high is not None:
            return Amount("range", found[0].value, found[0].high)
        return None
    number = as_decimal(value)
    return None if number is None else Amount("exact", number, number)
