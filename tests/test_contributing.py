"""The recipes of CONTRIBUTING.md, each applied to a copy of the tree: its files, its edits, its commands."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.places import ROOT

COPIED = ("rageval_batch", "sql", "data_samples", "tests", "pyproject.toml", "README.md")
RECIPES = ("Add a metric", "Add a profile", "Add a format", "Add a view")
_BLOCK = re.compile(r"^```(?P<kind>\w+)(?: (?P<how>file|append)=(?P<path>\S+))?\n(?P<text>.*?)^```$", re.M | re.S)


@dataclass(frozen=True)
class Block:
    """A block of code of a recipe: what it is, where it belongs, its lines."""

    kind: str
    how: str | None
    path: str | None
    text: str


def blocks_of(recipe: str) -> list[Block]:
    """The blocks of code below a heading of CONTRIBUTING.md."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (section,) = re.findall(rf"^## {recipe}\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    return [Block(**found.groupdict()) for found in _BLOCK.finditer(section)]


def apply_diff(path: Path, diff: str) -> None:
    """Replace the lines that each hunk finds, exactly once, by those it wants."""
    text = path.read_text(encoding="utf-8")
    for hunk in diff.split("@@\n"):
        lines = hunk.splitlines(keepends=True)
        old = "".join(line[1:] for line in lines if line[0] in " -")
        new = "".join(line[1:] for line in lines if line[0] in " +")
        assert text.count(old) == 1, f"{path.name}: not there exactly once:\n{old}"
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")


def apply_block(block: Block, tree: Path) -> None:
    """Write the file of a block, or change the one that is there."""
    assert block.path is not None
    path = tree / block.path
    if block.kind == "diff":
        apply_diff(path, block.text)
    elif block.how == "append":
        path.write_text(path.read_text(encoding="utf-8") + block.text, encoding="utf-8")
    else:
        assert not path.exists(), block.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")


def run_console(text: str, tree: Path) -> None:
    """Run the commands of a block; every word shown below a command must be in what it prints."""
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTEST_ADDOPTS": "-p no:cacheprovider -p no:xdist"}
    for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
        command, _, shown = part.partition("\n")
        program, *words = shlex.split(command)
        start = {"python": [], "rageval": ["-m", "rageval_batch"]}[program]
        done = subprocess.run(
            [sys.executable, *start, *words], cwd=tree, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        printed = (done.stdout + done.stderr).split()
        assert not [word for word in shown.split() if word not in printed], f"{command}\n{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("recipe", RECIPES)
def test_recipe(recipe: str, tmp_path: Path) -> None:
    """What a recipe says, done to the letter, works."""
    for name in COPIED:  # the compiled kernels too
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, tmp_path / name, ignore=shutil.ignore_patterns("golden"))
        else:
            shutil.copy2(source, tmp_path / name)
    blocks = blocks_of(recipe)
    assert blocks[-1].kind == "console"
    for block in blocks:
        if block.kind == "console":
            run_console(block.text, tmp_path)
        else:
            apply_block(block, tmp_path)


def test_every_recipe_is_tested() -> None:
    """A heading that begins with "Add" is a recipe."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert tuple(re.findall(r"^## (Add .*)$", text, re.M)) == RECIPES
