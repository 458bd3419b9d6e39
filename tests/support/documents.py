"""Documents that tests run: files that they write, edits that they make, commands and what those print."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(r"^```(?P<kind>\w+)(?: (?P<how>file|append)=(?P<path>\S+))?\n(?P<text>.*?)^```$", re.M | re.S)


@dataclass(frozen=True)
class Block:
    """A block of code of a recipe: what it is, where it belongs, its lines."""

    kind: str
    how: str | None
    path: str | None
    text: str


def blocks_in(text: str) -> list[Block]:
    """The blocks of code of a text."""
    return [Block(**found.groupdict()) for found in _BLOCK.finditer(text)]


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


def run_console(text: str, tree: Path, package: Path | None = None) -> None:
    """Run the commands of a block; every word shown below a command must be in what it prints.

    A command with a line `# exit 1` below it ends with that code. `package`: where the package lies, else the tree.
    """
    options = "-p no:cacheprovider -p no:xdist"
    environment = {**os.environ, "PYTHONPATH": str(package or tree), "PYTEST_ADDOPTS": options}
    for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
        command, _, shown = part.partition("\n")
        code = re.search(r"^# exit (\d)\n", shown, re.M)
        shown = shown if code is None else shown.replace(code[0], "")
        program, *words = shlex.split(command)
        start = {"python": [], "rageval": ["-m", "rageval_batch"]}[program]
        done = subprocess.run(
            [sys.executable, *start, *words], cwd=tree, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == (0 if code is None else int(code[1])), f"{command}\n{done.stdout}\n{done.stderr}"
        printed = (done.stdout + done.stderr).split()
        assert not [word for word in shown.split() if word not in printed], f"{command}\n{done.stdout}\n{done.stderr}"
