"""A watched metric for people and machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import timedelta
from itertools import groupby
from typing import Any

from rageval_batch.analysis.monitor import Watch, Window
from rageval_batch.report.cells import json_line
from rageval_batch.report.formats import render
from rageval_batch.report.layout import table
from rageval_batch.report.screen import PLAIN, Screen, verdict_tone

MOST_EMPTY = 3  # windows without runs, one after the other, that a table shows one by one
_COLUMNS = ("until", "n", "mean", "base", "drop", "low", "high", "status")


def window_rows(watch: Watch) -> list[dict[str, Any]]:
    """A flat row for each window."""
    return [{"profile": watch.profile, "metric": watch.metric, **asdict(window)} for window in watch.windows]


def watch_text(watch: Watch, format: str, screen: Screen = PLAIN) -> str:
    """A table of all windows, one JSON object with everything, a JSON line an alert, or the rows of all windows."""
    if format == "json":
        return json_line(watch.as_dict())
    if format == "jsonl":
        return "\n".join(json_line({"profile": watch.profile, **asdict(window)}) for window in watch.alerts)
    if format == "table":
        return table(_window_rows(watch.windows), _COLUMNS, screen, tones={"status": verdict_tone})
    rows = window_rows(watch)
    return render(rows, list(rows[0]) if rows else [], format)


def _window_rows(windows: Sequence[Window]) -> list[dict[str, Any]]:
    """A row a window; many in a row that have no runs are one, at the end of the last."""
    rows = []
    for empty, found in groupby(windows, key=lambda window: window.status == "no runs"):
        part = list(found)
        if empty and len(part) > MOST_EMPTY:
            rows.append(_row(part[-1]) | {"base": None, "status": f"no runs ({len(part)} windows)"})
        else:
            rows += map(_row, part)
    return rows


def _row(window: Window) -> dict[str, Any]:
    daily = window.end - window.start >= timedelta(days=1)
    return {
        "until": window.end.strftime("%Y-%m-%d" if daily else "%m-%d %H:%M"),
        "n": window.n,
        "mean": window.mean,
        "base": window.baseline_mean,
        "drop": window.drop,
        "low": window.low,
        "high": window.high,
        "status": window.status,
    }
