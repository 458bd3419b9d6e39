"""The house: imports point down, heavy dependencies have one home, commands and SQL files document themselves."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from rageval_batch.cli import COMMANDS, cli

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "rageval_batch"

# From the ground up: a room may import from the rooms above it in this list, and from itself.
ROOMS = (
    (
        "answering",
        "errors",
        "version",
        "config",
        "dataclass",
        "interrupts",
        "large_pages",
        "locations",
        "resources",
        "sql_text",
        "typed_config",
    ),
    ("columnar",),
    ("model",),
    ("profiles",),
    ("inputs",),
    ("runs",),
    ("analysis",),
    ("engines",),
    ("report",),
    ("view",),
    ("cli", "api", "functions", "bench", "start", "__init__", "__main__"),
)
LEVEL = {name: level for level, names in enumerate(ROOMS) for name in names}
STRANGERS = {"profiles": "inputs", "inputs": "profiles"}  # neither of the two may import the other

HOMES = {
    "jieba": {"columnar"},
    "zhconv": {"columnar"},
    "click": {"cli"},
    "jinja2": {"report"},
    "starlette": {"view"},
    "uvicorn": {"view"},
    "rapidfuzz": {"columnar", "profiles"},
    "prompt_toolkit": {"cli"},
    "xlsxwriter": {"report"},
    "pyspark": {"engines"},
    "fsspec": {"locations"},
}


def modules() -> list[Path]:
    """Every source file of the package."""
    return sorted(PACKAGE.rglob("*.py"))


def part_of(path: Path) -> str:
    """The module or sub-package of the house that a file belongs to."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """Every module that a file imports, by its full name, wherever the import stands."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            if node.module == "rageval_batch":
                names |= {f"rageval_batch.{alias.name}" for alias in node.names}
    return names


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_down(path: Path) -> None:
    """No room knows of one below it in the table; the ground and the top may import within themselves."""
    mine = part_of(path)
    assert mine in LEVEL, f"{mine} has no place in the house"
    for name in imported(path):
        parts = name.split(".")
        if parts[0] == "rageval_batch" and len(parts) > 1 and parts[1] != mine:
            assert LEVEL[parts[1]] <= LEVEL[mine] or parts[1] == "__init__", f"{path.name} imports {name}"
            assert STRANGERS.get(mine) != parts[1], f"{path.name} imports {name}"


def test_heavy_dependencies_have_one_home() -> None:
    """jieba, click and the others are imported in their home module only."""
    for path in modules():
        for name in imported(path):
            home = HOMES.get(name.split(".")[0])
            assert home is None or part_of(path) in home, f"{path} imports {name}"


def test_modules_stay_small() -> None:
    """A module of much more than 500 lines is two modules."""
    long = {str(path): n for path in modules() if (n := len(path.read_text(encoding="utf-8").splitlines())) > 560}
    assert not long


def test_one_place_knows_the_kinds_of_inputs() -> None:
    """Rows by question or self-keyed: `inputs.kinds` chooses, nobody else asks."""
    asks = re.compile(r"isinstance\([^)]*\b(ByQuestion|SelfKeyed)\b")
    found = {str(path.relative_to(PACKAGE)) for path in modules() if asks.search(path.read_text(encoding="utf-8"))}
    assert found == {"inputs/kinds.py"}


# Called by somebody else, with the arguments in their order.
CALLED_BY_POSITION = {
    "say_once": "replaces warnings.showwarning",
    "ndcg_at": "a declared function: its arguments are those of the SQL function",
}


def positional(node: ast.FunctionDef | ast.ClassDef, in_class: bool) -> list[str]:
    """The names that a call may give without a keyword: of a function without self, of a dataclass its fields."""
    if isinstance(node, ast.FunctionDef):
        names = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
        static = any(ast.unparse(decorator) == "staticmethod" for decorator in node.decorator_list)
        return names[1:] if in_class and not static else names
    decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
    if not any(name.startswith("dataclass") and "kw_only=True" not in name for name in decorators):
        return []
    fields = [part for part in node.body if isinstance(part, ast.AnnAssign)]
    marker = next((k for k, part in enumerate(fields) if ast.unparse(part.annotation) == "KW_ONLY"), len(fields))
    texts = [ast.unparse(part) for part in fields[:marker]]
    return [text for text in texts if "init=False" not in text and "ClassVar" not in text]


def test_positional_arguments_end_at_three() -> None:
    """What comes behind the third argument has a name at every call; a named tuple is made in the same way."""
    tuples: set[str] = set()
    long: list[str] = []
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in modules()}
    for path, tree in trees.items():
        for parent in ast.walk(tree):
            for node in ast.iter_child_nodes(parent):
                if isinstance(node, ast.ClassDef) and any(ast.unparse(base) == "NamedTuple" for base in node.bases):
                    tuples.add(node.name)
                if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name not in CALLED_BY_POSITION:
                    names = positional(node, isinstance(parent, ast.ClassDef))
                    long += [f"{path.name}: {node.name}({', '.join(names)})"] if len(names) > 3 else []
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in tuples:
                plain = [argument for argument in node.args if not isinstance(argument, ast.Starred)]
                long += [f"{path.name}: {ast.unparse(node)}"] if len(plain) > 3 else []
    assert not long


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_shows_an_example(name: str) -> None:
    """--help of every command ends in an example that names it."""
    command = cli.get_command(None, name)  # type: ignore[arg-type]
    assert command is not None and command.help is not None
    assert "Example:" in command.help
    assert f"rageval {name}" in command.help.rsplit("Example:", 1)[1]


def test_every_command_is_in_the_readme() -> None:
    """A command that the README does not name is not there for a newcomer."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert not [name for name in COMMANDS if f"rageval {name}" not in readme]


@pytest.mark.parametrize("path", sorted((ROOT / "sql").rglob("*.sql")), ids=lambda path: path.stem)
def test_every_sql_file_says_what_it_is(path: Path) -> None:
    """One view or macro a file, named as the file, behind a comment."""
    text = path.read_text(encoding="utf-8")
    assert text.startswith(f"-- {path.stem}")
    code = "\n".join(line for line in text.splitlines() if not line.startswith("--"))
    assert code.count("create ") == 1
    assert f"create view {path.stem} as" in code or f"create macro {path.stem}(" in code
