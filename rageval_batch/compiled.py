"""How loops over buffers are compiled: by numba, kept on disk between runs, free of the interpreter's lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from numba import njit

Function = TypeVar("Function", bound=Callable[..., object])


def compiled(function: Function) -> Function:
    """The same function as machine code, compiled at its first call."""
    return cast(Function, njit(cache=True, nogil=True)(function))
