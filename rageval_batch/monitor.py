"""A metric over time: windows of live runs, each against the span before it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from rageval_batch import drift
from rageval_batch.analytics import Session
from rageval_batch.errors import InputError, did_you_mean
from rageval_batch.kernels.draws import Floats
from rageval_batch.results import Run, matching_runs

TOLERANCE = 1e-9
TIMESTAMP = "timestamp"
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_LONGEST = timedelta(days=36_525)
_EARLIEST = datetime(1900, 1, 1, tzinfo=UTC)  # before it a time is a placeholder, such as the year 1
_SPAN = re.compile(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*([smhdw])\s*")


@dataclass(frozen=True)
class Window:
    """A span of time (start, end] and the span before it; `drop` is positive where the metric became worse."""

    metric: str
    start: datetime
    end: datetime
    runs: int
    n: int
    mean: float | None
    baseline_start: datetime
    baseline_runs: int
    baseline_n: int
    baseline_mean: float | None
    drop: float | None
    low: float | None
    high: float | None
    status: str  # alert, ok, no values, no baseline

    @property
    def alert(self) -> bool:
        """The metric fell by too much, and not by chance."""
        return self.status == "alert"


@dataclass(frozen=True)
class Watch:
    """All windows that have runs, oldest first, and what was noticed on the way."""

    profile: str
    metric: str
    higher_is_better: bool
    now: datetime
    window: timedelta
    baseline: timedelta
    max_drop: float
    eval_sets: tuple[str, ...]
    windows: tuple[Window, ...]
    notes: tuple[str, ...]

    @property
    def alerts(self) -> list[Window]:
        """The windows to worry about."""
        return [window for window in self.windows if window.alert]

    def as_dict(self) -> dict[str, Any]:
        """One object with everything, unrounded; spans in seconds."""
        plain = asdict(self) | {"window": self.window.total_seconds(), "baseline": self.baseline.total_seconds()}
        return {"alerts": len(self.alerts), **plain}


@dataclass(frozen=True)
class _Dated:
    time: datetime
    run: Run
    values: Floats


def read_span(text: str, option: str) -> timedelta:
    """A length of time such as 7d, 12h or 2w; InputError otherwise."""
    found = _SPAN.fullmatch(text)
    seconds = float(found[1]) * _SECONDS[found[2]] if found else 0.0
    if not 1.0 <= seconds <= _LONGEST.total_seconds():
        raise InputError(f"{option} {text}: write a length of time such as 12h, 7d or 4w, up to a hundred years.")
    return timedelta(seconds=seconds)


def read_time(text: str) -> datetime | None:
    """An ISO time, in UTC where it names no zone; None where it is none."""
    try:
        time = datetime.fromisoformat(text.strip())
        time = (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return time if time >= _EARLIEST else None


def watch(
    session: Session,
    metric: str,
    window: timedelta,
    baseline: timedelta,
    max_drop: float = 0.05,
    now: datetime | None = None,
    profile: str | None = None,
    eval_set: str | None = None,
) -> Watch:
    """Windows tiled back from `now` (else the latest run), each compared with the `baseline` span before it."""
    if not (math.isfinite(max_drop) and max_drop >= 0):
        raise InputError(f"--max-drop {max_drop} must be a number of at least 0.")
    session.store.require()
    runs = matching_runs(session, profile, eval_set)
    if not runs:
        raise InputError(f"The store {session.store.path} has no run of that profile or eval set. See rageval runs.")
    chosen, higher = _profile_with(session, metric, runs)
    dated, notes = _dated([run for run in runs if run.record["profile"] == chosen], _values(session, chosen, metric))
    end = now or dated[-1].time
    there = [one for one in dated if one.time <= end]
    if len(there) < len(dated):
        notes.append(f"{len(dated) - len(there)} runs after {end.isoformat()} are left out.")
    numbers = sorted({_number(end - one.time, window) for one in there}, reverse=True)
    windows = [_window(metric, there, end - k * window, window, baseline, max_drop, higher) for k in numbers]
    eval_sets = tuple(sorted({one.run.record["eval_set"] for one in there}))
    if len(eval_sets) > 1:
        notes.append(f"{len(eval_sets)} eval sets are watched together. --eval-set picks one.")
    return Watch(chosen, metric, higher, end, window, baseline, max_drop, eval_sets, tuple(windows), tuple(notes))


def _number(age: timedelta, window: timedelta) -> int:
    """Which window back from now a run is in; a window has its end, not its start."""
    return age // window


def _profile_with(session: Session, metric: str, runs: Sequence[Run]) -> tuple[str, bool]:
    """(the profile of the newest run that has the metric, whether higher is better)."""
    rows = session.rows("select profile, metric, higher_is_better from metric_catalog")
    better = {(row["profile"], row["metric"]): row["higher_is_better"] for row in rows}
    for run in reversed(runs):
        key = (run.record["profile"], metric)
        if key in better:
            return run.record["profile"], better[key]
    newest = runs[-1].record["profile"]
    known = [name for profile, name in better if profile == newest]
    raise InputError(did_you_mean(f"metric of {newest}", metric, known))


def _values(session: Session, profile: str, metric: str) -> Mapping[tuple[str, str], Floats]:
    """The values of every run, sorted; a null counts as its metric says, or not at all."""
    table = session.sql(
        """
        select r.run_id, r.eval_set, list_sort(list(coalesce(m.value, c.null_counts_as))) as values
        from metric_rows m
        join current_runs r on r.commit = m.commit and r.stored_id = m.run_id
        join metric_catalog c on c.profile = m.profile and c.metric = m.metric
        where m.profile = $profile and m.metric = $metric and coalesce(m.value, c.null_counts_as) is not null
        group by r.run_id, r.eval_set
        """,
        {"profile": profile, "metric": metric},
    ).combine_chunks()
    keys = zip(table["run_id"].to_pylist(), table["eval_set"].to_pylist(), strict=True)
    return {key: values.values.to_numpy() for key, values in zip(keys, table["values"], strict=True)}


def _dated(runs: Sequence[Run], values: Mapping[tuple[str, str], Floats]) -> tuple[list[_Dated], list[str]]:
    """(runs with their time and values, oldest first, what is odd about their times)."""
    out, notes = [], []
    for run in runs:
        given = dict(run.record["meta"]).get(TIMESTAMP)
        time = read_time(given) if given else None
        if given and time is None:
            notes.append(f"Run '{run.record['run_id']}': timestamp '{given}' is no ISO time; its commit's is taken.")
        found = values.get((run.record["run_id"], run.record["eval_set"]), np.zeros(0))
        out.append(_Dated(time or run.record["created_at"], run, found))
    out.sort(key=lambda one: (one.time, one.run.record["run_id"], one.run.record["eval_set"]))
    return out, notes


def _window(
    metric: str,
    dated: Sequence[_Dated],
    end: datetime,
    window: timedelta,
    baseline: timedelta,
    max_drop: float,
    higher: bool,
) -> Window:
    start = end - window
    inside = [one for one in dated if start < one.time <= end]
    before = [one for one in dated if start - baseline < one.time <= start]
    now, then = (np.concatenate([np.zeros(0), *(one.values for one in part)]) for part in (inside, before))
    drop = low = high = None
    status = "ok"
    if not len(now):
        status = "no values"
    elif not len(then):
        status = "no baseline"
    else:
        found = drift.difference(then, now) if higher else drift.difference(now, then)
        drop, low, high = found.value, found.low, found.high
        if drop > max_drop + TOLERANCE and low > 0:
            status = "alert"
    return Window(
        metric, start, end, len(inside), len(now), drift.mean(now) if len(now) else None,
        start - baseline, len(before), len(then), drift.mean(then) if len(then) else None, drop, low, high, status,
    )  # fmt: skip
