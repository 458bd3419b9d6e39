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


def imported(room: str) -> set[str]:
    """The top-level names of all imports in modules whose path matches, those inside functions too."""
    found = set()
    for path in PACKAGE.rglob(room):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                found.add(node.module.split(".")[0])
    return found - INSIDE - sys.stdlib_module_names


def canonical(name: str) -> str:
    """A distribution's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def names(requirements: list[str]) -> set[str]:
    """The distributions that lines of requirements name."""
    return {canonical(re.split(r"[\s<>=!~\[;]", line, maxsplit=1)[0]) for line in requirements}


def test_imports_and_requirements_are_the_same() -> None:
    """What only an extra brings is imported by the room that needs the extra, and by no other."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    required = names(project["dependencies"])
    extra = set().union(*(names(project["optional-dependencies"][name]) for name in ("spark", "urls")))
    distributions = packages_distributions()
    used = {name: {canonical(found) for found in distributions.get(name, [name])} for name in imported("*.py")}
    not_required = {name for name, found in used.items() if not found & required}
    assert {name for name in not_required if not used[name] & extra} == set(), "imported, but not required"
    elsewhere = set().union(
        *(imported(f"{path.name}/**/*.py") for path in PACKAGE.iterdir() if path.is_dir() and path.name != "engines")
    )
    assert not_required & elsewhere == set(), "imported outside of the room that needs the extra"
    assert required - set().union(*used.values()) == set(), "required, but never imported"
