"""Single JSON values as they are compared: texts, numbers, dates, booleans, pages, labels."""

from __future__ import annotations

import json
import re
from decimal import Decimal, InvalidOperation
from json.encoder import encode_basestring
from typing import Any

from rageval_batch.columnar.json_numbers import number_text
from rageval_batch.columnar.kernels.json import FALSE, NULL, NUMBER, STRING, TRUE
from rageval_batch.columnar.values import Kind, Number, Reader, fold
from rageval_batch.dataclass import dataclass

_SANE_EXPONENT = 20_000
_PAGE = re.compile("[0-9]{1,9}")


@dataclass(frozen=True)
class Absurd:
    """A JSON number of a size that nobody writes: it has a text and no value."""

    raw: str


def decode(kind: int, text: str) -> Any:
    """The value of a node of a JSON tape: numbers exact, the rest as Python has it; nothing where it is too deep."""
    if kind == STRING:
        return text
    if kind == NUMBER:
        return _read_decimal(text)
    if kind in (TRUE, FALSE):
        return kind == TRUE
    if kind == NULL:
        return None
    try:
        return json.loads(text, parse_int=_read_decimal, parse_float=_read_decimal)
    except RecursionError:
        return None


def _read_decimal(raw: str) -> Decimal | Absurd:
    try:
        value = Decimal(raw)
    except InvalidOperation:
        return Absurd(raw)
    return value if abs(value.adjusted()) <= _SANE_EXPONENT else Absurd(raw)


def as_text(value: Any) -> str:
    """A string as it is, nothing as "", anything else as its JSON text, numbers in plain decimals."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    try:
        return _json_text(value)
    except (TypeError, ValueError, RecursionError):
        return ""


def _json_text(value: Any) -> str:
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, Absurd):
        return value.raw
    if isinstance(value, list):
        return f"[{', '.join(map(_json_text, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_json_text(name)}: {_json_text(part)}" for name, part in value.items()) + "}"
    return encode_basestring(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def as_list(value: Any) -> list[Any]:
    """A list as it is, nothing as an empty one, anything else as the only entry."""
    return [] if value is None else value if isinstance(value, list) else [value]


@dataclass(frozen=True)
class Quantity:
    """What a field says of a number: its value and kind; of a range the low end, and the other in `high`."""

    value: Decimal
    kind: Kind = Kind.EXACT
    high: Decimal | None = None

    @property
    def values(self) -> tuple[Decimal, ...]:
        """The value, or both ends."""
        return (self.value,) if self.high is None else (self.value, self.high)

    @property
    def shown(self) -> str:
        """As people read it."""
        if self.high is not None:
            return f"{self.value:f} to {self.high:f}"
        return f"{self.value:f}" if self.kind is Kind.EXACT else f"{self.value:f} ({self.kind})"


def as_quantity(reader: Reader, value: Any) -> Quantity | None:
    """A number, or the only number or range that a text has; None for anything else."""
    if isinstance(value, str):
        return _single_quantity(reader.read(value).numbers)
    number = _as_decimal(value)
    return None if number is None else Quantity(number)


def _single_quantity(numbers: list[Number]) -> Quantity | None:
    """One value that is written several times is exact where one of its writings is."""
    distinct = {number.value: None for number in numbers}
    if len(distinct) == 1:
        return Quantity(
            next(iter(distinct)), min((number.kind for number in numbers), key=lambda kind: kind != "exact")
        )
    if len(numbers) == 2 and numbers[0].high is not None:
        return Quantity(numbers[0].value, Kind.RANGE, numbers[0].high)
    return None


def _as_decimal(value: Any) -> Decimal | None:
    if isinstance(value, Decimal):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return Decimal(value)
    if isinstance(value, float):
        number = Decimal(number_text(value))
        return number if number.is_finite() else None
    return None


def as_date(reader: Reader, value: Any) -> str | None:
    """The only date that a text has, as ISO."""
    distinct = {date.iso for date in reader.read(as_text(value)).dates}
    return distinct.pop() if len(distinct) == 1 else None


def as_boolean(reader: Reader, value: Any) -> bool | None:
    """A boolean, or the first that a text has."""
    if isinstance(value, bool):
        return value
    found = reader.read(as_text(value)).boolean
    return found.value if found else None


def as_page(reader: Reader, value: Any) -> str | None:
    """A page as it is compared: 2, 2.0, "2", "第2页" and "p. 2" are one page."""
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, int | float | Decimal):
        number = _as_decimal(value)
        if number is None:
            return None
        return f"{number.to_integral_value() if number == number.to_integral_value() else number:f}"
    text = fold(as_text(value))
    if cited := reader.read(text).citations:
        return str(cited[0].page)
    return str(int(text)) if _PAGE.fullmatch(text) else text or None


def as_label(value: Any) -> str | None:
    """A section or speaker as it is compared."""
    return None if value is None else fold(as_text(value)) or None
