"""The notebooks run from top to bottom, and say what is committed with them."""

import json
import runpy
from typing import Any

import pytest

from support.places import ROOT

FOLDER = ROOT / "notebooks"
RUNNER = runpy.run_path(str(FOLDER / "execute.py"))


def texts(notebook: dict[str, Any]) -> list[str]:
    """What the cells print and show as text, in order; pictures are known to be there."""
    found = []
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            shown = "a picture" if "image/png" in data else data.get("text/plain", output.get("text"))
            found.append("".join(shown))
    return found


@pytest.mark.parametrize("name", RUNNER["NAMES"])
def test_a_notebook_says_what_is_committed(name: str) -> None:
    """`make notebooks` executes them again."""
    committed = (FOLDER / f"{name}.ipynb").read_text(encoding="utf-8")
    said = texts(json.loads(committed))
    assert "a picture" in said and str(ROOT) not in committed and "/tmp/" not in committed
    assert texts(RUNNER["executed"](name)) == said


def test_every_notebook_is_executed() -> None:
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == set(RUNNER["NAMES"])
