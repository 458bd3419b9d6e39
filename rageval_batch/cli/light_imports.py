"""Importing pyarrow without what no command needs of it, which takes longer than most commands."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

# NumPy starts the threads of its linear algebra when it is imported, and they wait for work by turning round: 0.03 s of
# CPU for what no command uses. Arrow's own pools of memory give a block back to the system and fetch it again, cleared,
# for the next one: that of the C library costs `score` of 200,000 rows 0.2 s of 2.3 less, and a third of its memory.
_IMPORTED_WITH = {"OPENBLAS_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}
_DESCRIPTIONS = "pyarrow.vendored.docscrape"


class _Unneeded:
    """Finds no pandas, as where it is not installed, and no parser of descriptions."""

    @staticmethod
    def find_spec(fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if fullname == "pandas":
            raise ModuleNotFoundError(name=fullname)
        return ModuleSpec(fullname, _NoDescriptions()) if fullname == _DESCRIPTIONS else None  # type: ignore[arg-type]


class _NoDescriptions:
    """Loads a module in the place of the parser by which pyarrow describes 280 functions when it is imported."""

    @staticmethod
    def create_module(spec: ModuleSpec) -> None:
        return None

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        module.NumpyDocString = _NoSections  # type: ignore[attr-defined]


class _NoSections:
    """A description of nothing."""

    def __init__(self, text: str) -> None:
        """Whatever is described."""

    def __getitem__(self, section: str) -> tuple[()]:
        return ()


def import_pyarrow() -> None:
    """Import pyarrow so that it does not import pandas with its first array of a list, nor parse the descriptions of
    its functions: 0.01 s at every start. A profile of a user's own may still import and use pandas.

    What is read of the environment then is set by _IMPORTED_WITH; a variable that the user has set is left as it is.
    """
    if "pandas" in sys.modules or "pyarrow" in sys.modules:
        return
    finder = _Unneeded()
    sys.meta_path.insert(0, finder)
    unset = [name for name in _IMPORTED_WITH if name not in os.environ]
    os.environ.update({name: _IMPORTED_WITH[name] for name in unset})
    try:
        import pyarrow

        pyarrow.array([])
        with suppress(Exception):  # a version that asks more of its parser gets it where it is imported next
            import pyarrow.compute
    finally:
        sys.meta_path.remove(finder)
        for name in unset:
            del os.environ[name]
        _forget_descriptions()


def _forget_descriptions() -> None:
    """Let whoever asks for the parser from now on have pyarrow's own."""
    if sys.modules.pop(_DESCRIPTIONS, None) is not None:
        package, _, name = _DESCRIPTIONS.rpartition(".")
        delattr(sys.modules[package], name)
