"""A pytest plugin for tests of another build of the kernels: it must be that one, and its errors end the process.

A function that runs without the interpreter's lock cannot raise an index that is out of bounds; Python hands the error
to `sys.unraisablehook`, and the loop around it goes on with a wrong value.
"""

from __future__ import annotations

import os
import sys
import traceback
from typing import Any

import pytest

from rageval_batch.columnar.kernels import buffers

WANTED = "RAGEVAL_KERNELS"  # the variable that names the build
_EXIT = 99


def _end(unraisable: Any) -> None:
    traceback.print_exception(unraisable.exc_type, unraisable.exc_value, unraisable.exc_traceback, file=sys.__stderr__)
    if issubclass(unraisable.exc_type, IndexError):
        os._exit(_EXIT)


@pytest.hookimpl(trylast=True)
def pytest_configure() -> None:
    """Behind pytest's own hook, which would only warn, and only at the end of the test."""
    if os.environ[WANTED] != buffers.VARIANT:
        raise pytest.UsageError(f"The kernels of {buffers.__file__} are {buffers.VARIANT}, not {os.environ[WANTED]}.")
    sys.unraisablehook = _end
