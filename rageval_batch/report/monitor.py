"""A watched metric for people and machines."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Any

from rageval_batch.monitor import Watch, Window
from rageval_batch.report.cells import json_line
from rageval_batch.report.formats import table

_COLUMNS = ("until", "runs", "n", "mean", "base n", "base", "drop", "low", "high", "status")


def watch_text(watch: Watch, form: str) -> str:
    """A table of all windows, one JSON object with everything, or a JSON line an alert."""
    if form == "json":
        return json_line(watch.as_dict())
    if form == "jsonl":
        return "\n".join(json_line({"profile": watch.profile, **asdict(window)}) for window in watch.alerts)
    return table([_row(window) for window in watch.windows], _COLUMNS)


def _row(window: Window) -> dict[str, Any]:
    return {
        "until": _minute(window.end),
        "runs": window.runs,
        "n": window.n,
        "mean": window.mean,
        "base n": window.baseline_n,
        "base": window.baseline_mean,
        "drop": window.drop,
        "low": window.low,
        "high": window.high,
        "status": window.status,
    }


def _minute(time: datetime) -> str:
    return time.strftime("%Y-%m-%d %H:%M")
