"""The recipes of CONTRIBUTING.md, each applied to a copy of the tree: its files, its edits, its commands."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from support.documents import Block, apply_block, blocks_in, run_console
from support.places import ROOT

COPIED = ("rageval_batch", "sql", "data_samples", "tests", "pyproject.toml", "README.md")
RECIPES = ("Add a metric", "Add a profile", "Add a format", "Add a view")


def blocks_of(recipe: str) -> list[Block]:
    """The blocks of code below a heading of CONTRIBUTING.md."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (section,) = re.findall(rf"^## {recipe}\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    return blocks_in(section)


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
