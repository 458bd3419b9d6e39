"""A watched metric for people and machines."""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta
from typing import Any

from rageval_batch.monitor import Watch, Window
from rageval_batch.report.cells import json_line
from rageval_batch.report.formats import table

_COLUMNS = ("until", "n", "mean", "base", "drop", "low", "high", "status")


def watch_text(watch: Watch, form: str) -> str:
    """A table of all windows, one JSON object with everything, or a JSON line an alert."""
    if form == "json":
        return json_line(watch.as_dict())
    if form == "jsonl":
        return "\n".join(json_line({"profile": watch.profile, **asdict(window)}) for window in watch.alerts)
    return table([_row(window) for window in watch.windows], _COLUMNS)


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
