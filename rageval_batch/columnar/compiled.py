"""How loops over buffers are compiled: by numba, kept on disk between runs, free of the interpreter's lock.

Eight bytes at a time: `load64` and `store64` read and write a word at any byte, and `zero_bytes` finds the bytes of a
word that are 0, so that long stretches of plain text cost an eighth of a loop over bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

Function = TypeVar("Function", bound=Callable[..., object])


def compiled(function: Function) -> Function:
    """The same function as machine code, compiled at its first call."""
    return cast(Function, njit(cache=True, nogil=True)(function))


def kernel(function: Function) -> Function:
    """A compiled function that Python calls: its arrays are taken as read-only and contiguous.

    numba compiles a function anew for every kind of array; with one kind there is one compilation to make and to load.
    """
    fast = compiled(function)

    @wraps(function)
    def call(*arguments: Any) -> Any:
        return fast(*[_frozen(given) if isinstance(given, np.ndarray) else given for given in arguments])

    return cast(Function, call)


def _frozen(array: Any) -> Any:
    if not array.flags.c_contiguous:
        array = np.ascontiguousarray(array)
    if array.flags.writeable:
        array = array.view()
        array.flags.writeable = False
    return array


def _word_pointer(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    array = context.make_array(signature.args[0])(context, builder, args[0])
    at = builder.gep(array.data, [args[1]])
    return builder.bitcast(at, ir.IntType(64).as_pointer())


@intrinsic  # type: ignore[untyped-decorator]
def load64(typing_context: Any, data: Any, at: Any) -> Any:
    """The eight bytes at `at`, the first of them lowest; they must all be inside the array."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(_word_pointer(context, builder, signature, args), align=1)

    return types.uint64(data, types.intp), generate


@intrinsic  # type: ignore[untyped-decorator]
def store64(typing_context: Any, data: Any, at: Any, word: Any) -> Any:
    """Write eight bytes at `at`; they must all be inside the array."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[2], _word_pointer(context, builder, signature, args), align=1)
        return context.get_dummy_value()

    return types.void(data, types.intp, types.uint64), generate


LOW_BITS = np.uint64(0x0101010101010101)
HIGH_BITS = np.uint64(0x8080808080808080)


@compiled
def popcount(word: Any) -> Any:
    """How many bits of a word are set."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * LOW_BITS) >> np.uint64(56))


@compiled
def zero_bytes(word: Any) -> Any:
    """The high bit of the lowest zero byte is the lowest bit set; 0 where no byte is zero."""
    return (word - LOW_BITS) & ~word & HIGH_BITS


@compiled
def first_byte(marks: Any) -> Any:
    """The index of the byte that holds the lowest bit set; the marks must not be 0."""
    return popcount((marks & (~marks + np.uint64(1))) - np.uint64(1)) >> 3
