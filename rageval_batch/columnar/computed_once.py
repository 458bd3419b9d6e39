"""Attributes worked out when first asked for, without a lock: that of `functools.cached_property` in Python 3.11 costs
more than most of what a short reading is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

Value = TypeVar("Value")


class computed_once(Generic[Value]):
    """A method as an attribute: its value is kept in the object. Two threads may both work it out."""

    def __init__(self, method: Callable[[Any], Value]) -> None:
        self._method = method
        self._name = method.__name__
        self.__doc__ = method.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> computed_once[Value]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...

    def __get__(self, instance: object | None, owner: type) -> computed_once[Value] | Value:
        if instance is None:
            return self
        value = instance.__dict__[self._name] = self._method(instance)
        return value
