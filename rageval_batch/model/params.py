"""The parameters of a profile: what they are called, which values they take, and the hash of all of them."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import KW_ONLY
from typing import Any

from rageval_batch.columnar.strings import is_text
from rageval_batch.config import read_config
from rageval_batch.dataclass import dataclass
from rageval_batch.errors import InputError

Params = Mapping[str, Any]
Value = str | int | float | tuple[str, ...] | dict[str, Any]  # of a parameter

_JSON_LIST = re.compile(r'\s*\[\s*(?:"|\]\s*$)')  # a text that begins in another way is no list


@dataclass(frozen=True)
class Param:
    """A named setting of a profile; its type is that of its default. A tuple is a list of texts.

    A table is given as a TOML or JSON file, or as a table of a file of parameters.
    """

    name: str
    default: Value
    doc: str
    _: KW_ONLY
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    problem: Callable[[str], str | None] | None = None  # of a list: what is wrong with one of its texts
    problems: Callable[[dict[str, Any]], list[str]] | None = None  # what is wrong with a table
    or_names: bool = False  # in place of the number, names: a list, or a text with commas between them

    def read(self, given: Any) -> Value:
        """The value of what the user gave, as text or already typed; InputError with what is allowed."""
        if isinstance(self.default, dict):
            return self._table(given)
        if self.or_names and (names := _names(given)) is not None:
            return self._text_list(names)
        value = self._text_list(given) if isinstance(self.default, tuple) else self._typed(given)
        if self.choices and value not in self.choices:
            raise InputError(f"Parameter {self.name}={given} is not known. Allowed: {', '.join(self.choices)}.")
        if isinstance(value, str | tuple):
            return value
        if self.low is not None and value < self.low:
            raise InputError(f"Parameter {self.name}={given} is too small. Give a number of at least {self.low:g}.")
        if self.high is not None and value > self.high:
            raise InputError(f"Parameter {self.name}={given} is too large. Give a number of at most {self.high:g}.")
        return value

    def _table(self, given: Any) -> dict[str, Any]:
        value: dict[str, Any] = given if isinstance(given, dict) else read_config(str(given))
        if self.problems is not None and (found := self.problems(value)):
            where = f"{self.name}={given}" if not isinstance(given, dict) else self.name
            raise InputError(f"Parameter {where} cannot be used: {'; '.join(found)}.")
        return value

    def _text_list(self, given: Any) -> tuple[str, ...]:
        """A list of texts: a list, its JSON, or one text that stands for itself."""
        texts = self._json_list(given) if isinstance(given, str) else given
        if not isinstance(texts, list | tuple) or not all(map(is_text, texts)):
            raise InputError(f"Parameter {self.name}={given!r} is not a list of texts.")
        for item in texts:
            if self.problem and (wrong := self.problem(item)):
                raise InputError(f"Parameter {self.name}: '{item}' {wrong}.")
        return tuple(texts)

    def _json_list(self, given: str) -> Any:
        """The list whose JSON a text is, else a list of the text alone: [0-9] is no JSON."""
        if not given.lstrip().startswith("["):
            return (given,)
        try:
            return json.loads(given)
        except (ValueError, RecursionError) as error:
            if _JSON_LIST.match(given) is None:
                return (given,)
            raise InputError(
                f"Parameter {self.name}={given} is not a JSON list: {error}. In JSON, write \\\\ for a backslash."
            ) from None

    def _typed(self, given: Any) -> str | int | float:
        if isinstance(self.default, str):
            return str(given)
        wanted = "a whole number" if isinstance(self.default, int) else "a number"
        try:
            value = float(given)
            if isinstance(given, bool) or not math.isfinite(value):
                raise ValueError
            if isinstance(self.default, int):
                if value != int(value):
                    raise ValueError
                return int(value)
        except (TypeError, ValueError):
            raise InputError(f"Parameter {self.name}={given} is not {wanted}.") from None
        return value


def _names(given: Any) -> Any:
    """What was given in place of a number: a list or its JSON as it is, another text cut at its commas; else None."""
    if isinstance(given, list | tuple) or (isinstance(given, str) and _JSON_LIST.match(given)):
        return given
    if not isinstance(given, str):
        return None
    with suppress(ValueError):
        float(given)
        return None
    return tuple(name for part in given.split(",") if (name := part.strip())) or None


def brief_value(value: Any) -> Any:
    """The value of a parameter on one line: a table by the start of its hash, a list as JSON."""
    if isinstance(value, dict):
        return hashlib.sha256(canonical_json(value).encode()).hexdigest()[:12]
    return canonical_json(value) if isinstance(value, tuple) else value


def canonical_json(value: Any) -> str:
    """JSON with sorted keys, no spaces and characters as they are: equal values give equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def params_sha256(params: Params) -> str:
    """The hash of the canonical JSON of all parameters."""
    return hashlib.sha256(canonical_json(dict(params)).encode()).hexdigest()
