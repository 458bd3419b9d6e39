"""Whether the compiled modules are there: a checkout that was not built says so in one sentence."""

from __future__ import annotations

import os
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

from rageval_batch.errors import KernelsNotBuilt


def missing(folder: Path) -> list[str]:
    """The modules of a folder that have a source and no extension; none in an installed package."""
    names = os.listdir(folder)
    there = {name.removesuffix(suffix) for name in names for suffix in EXTENSION_SUFFIXES if name.endswith(suffix)}
    return sorted({name.removesuffix(".pyx") for name in names if name.endswith(".pyx")} - there)


def check(folder: Path) -> None:
    """Raise where a module is missing."""
    if names := missing(folder):
        raise KernelsNotBuilt(
            f"The kernels {', '.join(names)} are not compiled: run `pip install -e .` or, where Cython and setuptools "
            "are installed, `python hatch_build.py` in the checkout."
        )


check(Path(__file__).parent)
