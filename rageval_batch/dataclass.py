"""`dataclass`, as of the standard library, for classes that cost little to make.

Python 3.11 writes the source of six methods for each frozen dataclass and compiles it, at every start. Here only
`__init__` is made so; what is the same for all classes is written once. docs/decisions/dataclasses.md has the figures.
"""

from __future__ import annotations

import dataclasses
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

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
            cls = dataclasses.dataclass(cls, repr=False, eq=False, kw_only=kw_only)
            cls.__field_names__ = frozenset(one.name for one in dataclasses.fields(cls))
            return cls

        return made if cls is None else made(cls)


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
