"""`dataclass`, as of the standard library, for classes that cost little to make.

Python 3.11 writes the source of six methods for each frozen dataclass and compiles it, at every start. Here nothing is
compiled: what the methods do follows from the fields. docs/decisions/dataclasses.md has the figures.
"""

from __future__ import annotations

import dataclasses
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from inspect import Signature

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass  # noqa: PLC0414 - type checkers know it by that name
else:

    def dataclass(cls=None, /, *, frozen=False, kw_only=False, slots=False):
        """As `dataclasses.dataclass`: fields, equality, repr, and where frozen a hash and no assignment."""

        def made(cls):
            if slots:
                return dataclasses.dataclass(cls, frozen=frozen, kw_only=kw_only, slots=True)
            for name, method in (_COMMON | _FROZEN if frozen else _COMMON).items():
                if name not in cls.__dict__:
                    setattr(cls, name, method)
            cls = dataclasses.dataclass(cls, init=False, repr=False, eq=False, kw_only=kw_only)
            cls.__field_names__ = frozenset(one.name for one in dataclasses.fields(cls))
            cls.__init__ = _initialiser(cls)
            cls.__signature__ = _DECLARED
            return cls

        return made if cls is None else made(cls)


def _initialiser(cls: Any) -> Callable[..., None]:
    """`__init__` of a class: arguments and defaults become the fields."""
    fields, absent = dataclasses.fields(cls), dataclasses.MISSING
    order = tuple(one.name for one in fields if one.init and not one.kw_only)
    accepted = frozenset(one.name for one in fields if one.init)
    defaults = {one.name: one.default for one in fields if one.default is not absent}
    factories = {one.name: one.default_factory for one in fields if one.default_factory is not absent}
    required = accepted - defaults.keys() - factories.keys()
    is_finished = not hasattr(cls, "__post_init__")

    def __init__(self: Any, /, *arguments: Any, **named: Any) -> None:
        given = dict(zip(order, arguments, strict=False)) if arguments else {}
        is_clear = len(arguments) <= len(order) and given.keys().isdisjoint(named)
        given |= named
        if not (is_clear and required <= given.keys() <= accepted):
            raise TypeError(f"{cls.__qualname__}.__init__() {_wrong_arguments(cls, arguments, named)}")
        for name, make in factories.items():
            if name not in given:
                given[name] = make()
        self.__dict__.update(defaults | given)
        if not is_finished:
            self.__post_init__()

    return __init__


def _wrong_arguments(cls: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> str:
    """What is wrong with the arguments of a class; names that it does not have come first, as they explain the rest."""
    fields = [one for one in dataclasses.fields(cls) if one.init]
    order = [one.name for one in fields if not one.kw_only]
    if unknown := named.keys() - {one.name for one in fields}:
        return f"got an unexpected keyword argument '{min(unknown)}'"
    if len(arguments) > len(order):
        return f"takes {len(order)} positional arguments but {len(arguments)} were given"
    if twice := [name for name in order[: len(arguments)] if name in named]:
        return f"got multiple values for argument '{twice[0]}'"
    absent = dataclasses.MISSING
    needed = [one.name for one in fields if one.default is absent and one.default_factory is absent]
    missing = [name for name in needed if name not in named and name not in order[: len(arguments)]]
    return f"missing {len(missing)} required arguments: {', '.join(map(repr, missing))}"


class _DeclaredSignature:
    """The arguments of a class as they are declared, for `inspect` and `help`: worked out where somebody asks."""

    def __get__(self, made: object, cls: Any) -> Signature:
        from inspect import Parameter, Signature

        def default(field: Any) -> Any:
            if field.default_factory is not dataclasses.MISSING:
                return _MADE_ANEW
            return Parameter.empty if field.default is dataclasses.MISSING else field.default

        def kind(field: Any) -> Any:
            return Parameter.KEYWORD_ONLY if field.kw_only else Parameter.POSITIONAL_OR_KEYWORD

        fields = sorted((one for one in dataclasses.fields(cls) if one.init), key=kind)
        return Signature([Parameter(one.name, kind(one), default=default(one), annotation=one.type) for one in fields])


class _MadeAnew:
    """Shown as the default of a field whose value is made for each object."""

    def __repr__(self) -> str:
        return "<factory>"


_DECLARED, _MADE_ANEW = _DeclaredSignature(), _MadeAnew()


def _compared(self: Any) -> tuple[Any, ...]:
    return tuple([getattr(self, one.name) for one in dataclasses.fields(self) if one.compare])


def _equal(self: Any, other: object) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    return _compared(self) == _compared(other)


def _hash(self: Any) -> int:
    return hash(_compared(self))


@recursive_repr()
def _repr(self: Any) -> str:
    shown = ", ".join(f"{one.name}={getattr(self, one.name)!r}" for one in dataclasses.fields(self) if one.repr)
    return f"{self.__class__.__qualname__}({shown})"


def _set_once(self: Any, name: str, value: object) -> None:
    """Only `__init__` finds a field without a value."""
    if name in self.__dict__ or name not in self.__field_names__:
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
    object.__setattr__(self, name, value)


def _delete(self: Any, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


_COMMON = {"__eq__": _equal, "__hash__": None, "__repr__": _repr}
_FROZEN = {"__hash__": _hash, "__setattr__": _set_once, "__delattr__": _delete}
