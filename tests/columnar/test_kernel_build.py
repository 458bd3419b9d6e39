"""The compiled modules: built, typed, documented; a checkout without them says what to do."""

from __future__ import annotations

import ast
import inspect
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from rageval_batch.columnar import json_tape, kernels
from rageval_batch.columnar.kernels import built, record
from rageval_batch.columnar.strings import from_list
from rageval_batch.errors import KernelsNotBuilt
from support.places import ROOT

FOLDER = ROOT / "rageval_batch" / "columnar" / "kernels"
MODULES = sorted(path.stem for path in FOLDER.glob("*.pyx"))


def module(name: str) -> ModuleType:
    """A compiled module."""
    return import_module(f"rageval_batch.columnar.kernels.{name}")


def stub(name: str) -> ast.Module:
    """The parsed stub of a compiled module."""
    return ast.parse((FOLDER / f"{name}.pyi").read_text(encoding="utf-8"))


def public_functions(name: str) -> dict[str, object]:
    """The functions and classes that a module defines itself."""
    found = module(name)
    return {
        key: value
        for key, value in vars(found).items()
        if not key.startswith("_") and callable(value) and getattr(value, "__module__", None) == found.__name__
    }


def test_there_are_compiled_modules() -> None:
    assert {"json", "softmatch", "values"} <= set(MODULES)
    assert built.missing(FOLDER) == []


@pytest.mark.parametrize("name", MODULES)
def test_every_public_function_has_a_stub_and_a_docstring(name: str) -> None:
    defined = public_functions(name)
    assert defined
    typed = {node.name for node in stub(name).body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    assert typed == set(defined)
    for key, value in defined.items():
        assert inspect.getdoc(value), f"{name}.{key}"


@pytest.mark.parametrize("name", MODULES)
def test_stubs_name_the_parameters_of_the_source(name: str) -> None:
    """Names, order and which have defaults, as the signature that Cython keeps says."""
    for node in stub(name).body:
        if isinstance(node, ast.FunctionDef):
            found = inspect.signature(getattr(module(name), node.name)).parameters.values()
            assert [argument.arg for argument in node.args.args] == [parameter.name for parameter in found]
            optional = [parameter.name for parameter in found if parameter.default is not parameter.empty]
            assert len(node.args.defaults) == len(optional)


@pytest.mark.parametrize("name", MODULES)
def test_constants_of_a_stub_are_there(name: str) -> None:
    for node in stub(name).body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            assert isinstance(getattr(module(name), node.target.id), int | str)


def test_a_folder_without_extensions_names_them_and_says_how_to_build(tmp_path: Path) -> None:
    for name in ("alpha.pyx", "beta.pyx", "beta.abi3.so", "gamma.py"):
        (tmp_path / name).touch()
    with pytest.raises(KernelsNotBuilt, match=r"^The kernels alpha are not compiled: run `pip install -e \.`"):
        built.check(tmp_path)


def test_an_installed_folder_without_sources_is_built(tmp_path: Path) -> None:
    (tmp_path / "alpha.abi3.so").touch()
    built.check(tmp_path)


def test_columns_of_rows_may_be_strided() -> None:
    """A column of a matrix of nodes, and every second row, give what their copies give."""
    column = from_list(['{"a": 1, "b": "x"}', '{"b": "\\u00e9"}', "{}", '{"a": [2]}'])
    tape = json_tape.parse_strings(column)
    nodes = tape.members(tape.root, ["a", "b"])
    for k in range(2):
        strided, copied = nodes[:, k], nodes[:, k].copy()
        assert not strided.flags.c_contiguous
        assert tape.texts(strided).to_arrow().equals(tape.texts(copied).to_arrow())
        numbers = [record.whole_numbers(tape.data, tape.kind, tape.start, tape.stop, n) for n in (strided, copied)]
        assert np.array_equal(numbers[0], numbers[1])
    starts, ends = kernels.strip(column.data, column.starts[::2], column.ends[::2])
    assert starts.tolist() == column.starts[::2].tolist()
    assert ends.tolist() == column.ends[::2].tolist()


def test_read_only_arrays_are_taken() -> None:
    column = from_list([" a ", "b"])
    for array in (column.data, column.offsets):
        array.flags.writeable = False
    assert kernels.cut(column.data, column.starts, column.ends).to_arrow().to_pylist() == [" a ", "b"]
    assert kernels.squash(column).to_arrow().to_pylist() == ["a", "b"]
