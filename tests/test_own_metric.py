"""docs/own-metric.md, done to the letter in an empty folder."""

from __future__ import annotations

from pathlib import Path

from support.documents import apply_block, blocks_in, run_console
from support.places import ROOT


def test_your_own_metric_in_five_minutes(tmp_path: Path) -> None:
    blocks = blocks_in((ROOT / "docs" / "own-metric.md").read_text(encoding="utf-8"))
    assert {block.kind for block in blocks} == {"json", "toml", "console", "python", "csv"}
    for block in blocks:
        if block.kind == "console":
            run_console(block.text, tmp_path, in_process=True)
        else:
            apply_block(block, tmp_path)
