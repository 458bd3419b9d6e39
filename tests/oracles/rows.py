"""The slow, obvious reader of a row that is a JSON object: the json module, and the rules for names and duplicates."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from oracles.json_text import decode, try_decode


@dataclass(frozen=True)
class Row:
    """What a row says: whether it is JSON, and its members in their order; None where it is no object."""

    is_json: bool
    members: list[tuple[str, Any]] | None

    def value(self, names: Sequence[str]) -> tuple[Any] | None:
        """The value under the first of several names that the row has, the last of duplicates; None without one."""
        for name in names:
            found = [value for key, value in self.members or () if key == name]
            if found:
                return (found[-1],)
        return None

    def has(self, name: str) -> bool:
        """Whether any member has the name."""
        return any(key == name for key, _ in self.members or ())


class _Members(list[tuple[str, Any]]):
    """The members of an object, duplicates too; a list of JSON is another type."""


def read_row(text: str) -> Row:
    """A row of a JSONL file. Values inside members are as a strict decoder has them."""
    is_json, value = try_decode(text)
    if not is_json or not isinstance(value, dict):
        return Row(is_json, None)
    members = json.loads(text, object_pairs_hook=_Members, parse_int=decode, parse_float=decode)
    return Row(True, [(key, _value(member)) for key, member in members])


def _value(value: Any) -> Any:
    """A value with objects as dicts, in which the last of duplicate keys stands."""
    if isinstance(value, _Members):
        return {key: _value(member) for key, member in value}
    return [_value(item) for item in value] if isinstance(value, list) else value
