"""Field names of a JSON Schema, and names in data that are a slip away from one of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, field
from functools import cached_property
from typing import Any

from rageval_batch.dataclass import dataclass
from rageval_batch.model.schemas import CHUNKS, EXPECTED, OUTPUT, QUESTION, QUESTION_ID

MISTAKEN_NAMES = "x-mistaken-names"  # annotation of a property: other names that are written when it is meant
_COMBINED = ("allOf", "anyOf", "oneOf")
_CONDITIONAL = ("if", "then", "else")
SAME_FIELD = (QUESTION_ID, QUESTION, EXPECTED, OUTPUT, CHUNKS)  # names of which one is enough


@dataclass(frozen=True)
class FieldNames:
    """The names that a schema knows in an object, in the objects below it, and in the items of a list."""

    members: dict[str, FieldNames] = field(default_factory=dict)
    items: list[FieldNames] = field(default_factory=list)
    mistaken: dict[str, str] = field(default_factory=dict)  # name written -> name meant
    _: KW_ONLY
    types: set[str] = field(default_factory=set)  # JSON types that the schema names for the value itself
    _slips: dict[tuple[str, ...], list[tuple[str, str]]] = field(default_factory=dict)  # by the names of an object

    @staticmethod
    def of_schema(schema: Mapping[str, Any]) -> FieldNames:
        """All names of a schema, those of its conditions and alternatives too."""
        names = FieldNames()
        names._add(schema)
        return names

    def _add(self, schema: Mapping[str, Any]) -> None:
        given = schema.get("type", ())
        self.types.update([given] if isinstance(given, str) else given)
        for name, rules in schema.get("properties", {}).items():
            self.members.setdefault(name, FieldNames())._add(rules)
            self.mistaken.update(dict.fromkeys(rules.get(MISTAKEN_NAMES, ()), name))
        if isinstance(schema.get("items"), dict):
            if not self.items:
                self.items.append(FieldNames())
            self.items[0]._add(schema["items"])
        for keyword in _COMBINED:
            for part in schema.get(keyword, ()):
                self._add(part)
        for keyword in _CONDITIONAL:
            if keyword in schema:
                self._add(schema[keyword])

    @cached_property
    def nested(self) -> dict[str, FieldNames]:
        """The members with names of their own below them; a list of texts has none."""
        return {name: below for name, below in self.members.items() if below.has_names}

    @property
    def has_names(self) -> bool:
        """Whether a value of this kind can have a name, in itself or in items."""
        return bool(self.members) or any(item.has_names for item in self.items)

    def slips(self, names: tuple[str, ...]) -> list[tuple[str, str]]:
        """(name written, name meant) of an object that has these names; objects with the same names are many."""
        if names not in self._slips:
            self._slips[names] = list(self._find_slips(names))
        return self._slips[names]

    def _find_slips(self, names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
        there = set(names)
        for same in SAME_FIELD:
            if not there.isdisjoint(same):
                there.update(same)
        absent = [name for name in self.members if name not in there]
        for name in names:
            if name in self.members:
                continue
            meant = self.mistaken.get(name)
            if meant not in absent:
                meant = next((known for known in absent if is_slip(name, known)), None)
            if meant is not None:
                yield name, meant


def schema_of_first(names: Sequence[str], rules: Mapping[str, Any], description: str) -> dict[str, Any]:
    """The schema of an object whose first present field of several names keeps rules; one of them must be there."""
    schema: dict[str, Any] = {"anyOf": [{"required": [name]} for name in names], "description": description}
    for name in reversed(names):
        schema = {"if": {"required": [name]}, "then": {"properties": {name: dict(rules)}}, "else": schema}
    return schema


def misspelt_fields(
    names: FieldNames, value: Any, steps: Sequence[str | int] = ()
) -> Iterator[tuple[list[str | int], str]]:
    """(steps to a name that a schema does not know, the absent name that is meant), of a value and all below it."""
    if isinstance(value, dict):
        for written, meant in names.slips(tuple(value)):
            yield [*steps, written], meant
        for name, below in names.nested.items():
            if name in value:
                yield from misspelt_fields(below, value[name], (*steps, name))
    elif isinstance(value, list) and names.items:
        for index, item in enumerate(value):
            yield from misspelt_fields(names.items[0], item, (*steps, index))


_SHORT, _LONG = 6, 10  # letters


def is_slip(written: str, meant: str) -> bool:
    """Whether a name is another one but for case and punctuation, a plural s, two letters swapped, or a letter or two.

    Short names are words of their own (data and date, court and count): there, letters are not exchanged.
    """
    a, b = _folded(written), _folded(meant)
    if a == b or a + "s" == b or a == b + "s":
        return True
    from difflib import SequenceMatcher  # for the few names that are not known

    swapped = len(a) == len(b) and sorted(a) == sorted(b)
    edits = len(a) + len(b) - 2 * sum(block.size for block in SequenceMatcher(None, a, b, False).get_matching_blocks())
    if len(b) < _SHORT:
        return swapped and edits <= 2
    if len(b) < _LONG:
        return abs(len(a) - len(b)) <= 1 and edits <= 2
    return edits <= 3


def _folded(name: str) -> str:
    return "".join(c for c in name.casefold() if c.isalnum())
