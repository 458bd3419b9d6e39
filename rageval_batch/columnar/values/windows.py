"""The numbers of whole columns of texts: compiled code finds the stretches that hold them, the reader reads each
distinct stretch once.

The reader's rules look at what stands around a figure, and no rule looks beyond a word or character that is in none of
its lists. What all of a text decides, whether a comma stands before decimals or lists, is told to the reader
with the stretch.
"""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rageval_batch.columnar import kernels
from rageval_batch.columnar.kernels.figure_windows import figure_windows
from rageval_batch.columnar.strings import Offsets, Strings
from rageval_batch.columnar.values import numbers_in
from rageval_batch.columnar.values.normal import MASK
from rageval_batch.columnar.values.window_classes import WindowClasses, classes_for_values

# What a stretch is, as the kernel says it.
_CYRILLIC, _AT_START, _AT_END, WHOLE, _LISTS, _SEPARATED = 1, 2, 4, 8, 1024, 2048
_LEFT, _RIGHT, _KIND = 4, 7, 7  # where in the flags of a window the kinds of the tokens beside it stand
_BESIDE = (MASK, "門", "の", "qq", "ж")  # a token of each kind that says nothing


class Windows(NamedTuple):
    """Stretches of texts with what their places in it are: text t has those from `bounds[t]` to `bounds[t + 1]`."""

    texts: Strings
    first: Offsets  # character of its text
    flags: npt.NDArray[np.uint16]
    bounds: Offsets


def find_windows(column: Strings, classes: WindowClasses | None = None) -> Windows:
    """The stretches that hold the numbers of each text; an empty text has none.

    With `classes` all that can be said of them is decided inside a stretch, else their values only.
    """
    chosen = classes or classes_for_values()
    starts, ends, first, flags, bounds = figure_windows(column.data, column.offsets, *chosen, classes is None)
    return Windows(kernels.cut(column.data, starts, ends), first, flags, bounds=bounds)


def padded(text: str, flags: int) -> tuple[str, str]:
    """What is put before and behind a stretch, so that it is read as it is where it stands; not for whole texts."""
    language = ""
    if flags & _SEPARATED:
        language = ("я" if flags & _CYRILLIC else "z") * (len(text) + 8)  # more letters than the stretch has
        language += "門" if flags & _LISTS else ""
    before = "\n" if flags & _AT_START else MASK + _BESIDE[flags >> _LEFT & _KIND]
    behind = "" if flags & _AT_END else _BESIDE[flags >> _RIGHT & _KIND] + MASK
    return f"{language}{before}", behind


@lru_cache(maxsize=65_536)
def window_numbers(text: str, flags: int) -> tuple[Decimal, ...]:
    """The numbers of a stretch as they are read where it stands; those of the newest are kept."""
    if flags & WHOLE:
        return tuple(numbers_in(text))
    before, behind = padded(text, flags)
    return tuple(numbers_in(f"{before}{text}{behind}"))
