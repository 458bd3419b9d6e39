"""What the package imports is what it requires, and the other way round."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "rageval_batch"
INSIDE = {"rageval_batch", "oracles"}  # the oracles that bench runs are a part of the wheel


def imported() -> set[str]:
    """The top-level names of all imports in the package, those inside functions too."""
    found = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                found.add(node.module.split(".")[0])
    return found - INSIDE - sys.stdlib_module_names


def canonical(name: str) -> str:
    """A distribution's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def test_imports_and_requirements_are_the_same() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    required = {canonical(re.split(r"[\s<>=!~\[;]", line, maxsplit=1)[0]) for line in project["dependencies"]}
    distributions = packages_distributions()
    used = {name: {canonical(found) for found in distributions.get(name, [name])} for name in imported()}
    assert {name for name, found in used.items() if not found & required} == set(), "imported, but not required"
    assert required - set().union(*used.values()) == set(), "required, but never imported"
