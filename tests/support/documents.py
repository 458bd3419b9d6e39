"""Documents that tests run: files that they write, edits that they make, commands and what those print."""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from rageval_batch.cli import main
from support.registered import profiles_forgotten

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


def run_console(text: str, tree: Path, *, in_process: bool = False) -> None:
    """Run the commands of a block in a tree; every word shown below a command must be in what it prints.

    A command with a line `# exit 1` below it ends with that code. `in_process`: `rageval` is the package of the tests,
    not that of the tree, and each command knows no more of profiles from elsewhere than a process of its own would.
    """
    run = _in_process if in_process else _in_tree
    for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
        command, _, shown = part.partition("\n")
        code = re.search(r"^# exit (\d)\n", shown, re.M)
        shown = shown if code is None else shown.replace(code[0], "")
        left, printed = run(shlex.split(command), tree)
        assert left == (0 if code is None else int(code[1])), f"{command}\n{printed}"
        words = printed.split()
        assert not [word for word in shown.split() if word not in words], f"{command}\n{printed}"


def _in_tree(command: list[str], tree: Path) -> tuple[int, str]:
    """(exit code, what it printed) of a command with the package of the tree."""
    options = "-p no:cacheprovider -p no:xdist"
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTEST_ADDOPTS": options}
    start = {"python": [], "rageval": ["-m", "rageval_batch"]}[command[0]]
    done = subprocess.run(
        [sys.executable, *start, *command[1:]], cwd=tree, env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def _in_process(command: list[str], tree: Path) -> tuple[int, str]:
    """(exit code, what it printed) of a command of `rageval` in the folder of the tree."""
    assert command[0] == "rageval"
    printed = io.StringIO()
    with profiles_forgotten(), chdir(tree), redirect_stdout(printed), redirect_stderr(printed):
        try:
            main(command[1:])
        except SystemExit as left:
            return int(left.code or 0), printed.getvalue()
    return 0, printed.getvalue()
