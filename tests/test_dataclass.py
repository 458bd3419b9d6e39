"""Dataclasses of the package behave as those of the standard library, and there are no others."""

from __future__ import annotations

import ast
import copy
import dataclasses
import inspect
import pickle
from dataclasses import KW_ONLY, FrozenInstanceError, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rageval_batch
from rageval_batch.dataclass import dataclass


class _Declared:
    """What both kinds are made of."""

    kind: ClassVar[str] = "x"
    name: str
    values: tuple[Any, ...] = ()
    hidden: list[int] = field(default_factory=list, compare=False, repr=False)
    _: KW_ONLY
    size: int | None = None


def _copied() -> type[Any]:
    members = {name: value for name, value in vars(_Declared).items() if name not in ("__dict__", "__weakref__")}
    return type("Item", (), {**members, "__qualname__": "Item", "length": _length()})


def _length() -> Any:
    found = cached_property(lambda self: len(self.name))
    found.__set_name__(object, "length")
    return found


Item: Any = dataclass(frozen=True)(_copied())
Standard: Any = dataclasses.dataclass(frozen=True)(_copied())
Open: Any = dataclass(_copied())

SCALARS = st.none() | st.integers() | st.text(max_size=3) | st.floats()
MEMBERS = st.fixed_dictionaries(
    {"name": st.text(max_size=2), "values": st.tuples(SCALARS) | st.just(()), "size": st.none() | st.integers(0, 2)},
    optional={"hidden": st.lists(st.integers(), max_size=1)},
)


@given(MEMBERS, MEMBERS)
def test_equality_hash_and_repr_are_those_of_the_standard_library(one: dict[str, Any], other: dict[str, Any]) -> None:
    ours, theirs = (Item(**one), Item(**other)), (Standard(**one), Standard(**other))
    assert (ours[0] == ours[1]) == (theirs[0] == theirs[1])
    assert (hash(ours[0]) == hash(ours[1])) == (hash(theirs[0]) == hash(theirs[1]))
    assert hash(ours[0]) == hash(theirs[0])
    assert repr(ours[0]) == repr(theirs[0])
    assert dataclasses.asdict(ours[0]) == dataclasses.asdict(theirs[0])
    assert ours[0] != theirs[0] and ours[0] != "text"


@given(
    st.lists(SCALARS, max_size=4), st.dictionaries(st.sampled_from(["name", "values", "hidden", "size", "x"]), SCALARS)
)
def test_arguments_are_taken_as_by_the_standard_library(arguments: list[Any], named: dict[str, Any]) -> None:
    def fields_of(cls: Any) -> list[Any] | None:
        try:
            made = cls(*arguments, **named)
        except TypeError:
            return None
        return [getattr(made, one.name) for one in dataclasses.fields(cls)]

    assert repr(fields_of(Item)) == repr(fields_of(Standard)) == repr(fields_of(Open))


@pytest.mark.parametrize(
    ("arguments", "named", "said"),
    [
        ((), {}, "missing 1 required arguments: 'name'"),
        (("a", (), [], 1), {}, "takes 3 positional arguments but 4 were given"),
        (("a",), {"name": "b"}, "got multiple values for argument 'name'"),
        (("a",), {"x": 1}, "got an unexpected keyword argument 'x'"),
        ((), {"nme": "a"}, "got an unexpected keyword argument 'nme'"),
    ],
)
def test_wrong_arguments_are_named(arguments: tuple[Any, ...], named: dict[str, Any], said: str) -> None:
    with pytest.raises(TypeError) as found:
        Item(*arguments, **named)
    assert str(found.value) == f"Item.__init__() {said}"


def test_arguments_are_shown_as_they_are_declared() -> None:
    assert str(inspect.signature(Item)).replace("Item", "Standard") == str(inspect.signature(Standard)).replace(
        " -> None", ""
    )


def test_an_object_is_finished_by_its_class() -> None:
    @dataclass(frozen=True)
    class Checked:
        size: int

        def __post_init__(self) -> None:
            if self.size < 0:
                raise ValueError(self.size)

    assert Checked(1).size == 1
    with pytest.raises(ValueError, match="-1"):
        Checked(-1)


def test_lists_are_made_for_each_object() -> None:
    assert Item("a").hidden is not Item("a").hidden


def test_frozen_objects_cannot_be_changed() -> None:
    made = Item("a", size=1)
    for name in ("name", "size", "values", "other", "kind"):
        with pytest.raises(FrozenInstanceError, match=f"cannot assign to field '{name}'"):
            setattr(made, name, 2)
        with pytest.raises(FrozenInstanceError, match=f"cannot delete field '{name}'"):
            delattr(made, name)
    assert made.length == 1 and made == Item("a", size=1)


def test_copies_and_changed_copies() -> None:
    made = Item("a", (1,), [3], size=1)
    for same in (copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert same == made and same.hidden == [3]
    assert dataclasses.replace(made, size=2) == Item("a", (1,), size=2)


def test_objects_that_are_not_frozen_have_no_hash() -> None:
    made = Open("a")
    made.size = 3
    assert made == Open("a", size=3)
    with pytest.raises(TypeError, match="unhashable"):
        hash(made)


def test_an_object_that_holds_itself_is_shown() -> None:
    held: list[Any] = []
    made = Open("a", size=held)
    held.append(made)
    assert repr(made) == "Item(name='a', values=(), size=[...])"


def test_every_dataclass_of_the_package_is_made_here() -> None:
    package = Path(rageval_batch.__file__).parent
    elsewhere = [
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
        and node.module == "dataclasses"
        and any(alias.name == "dataclass" for alias in node.names)
    ]
    assert elsewhere == ["dataclass.py"]
