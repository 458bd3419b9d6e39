"""A metric over time: windows of live runs, each against the span before it."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from rageval_batch.analysis.runs import Run, matching_runs
from rageval_batch.analysis.session import Session
from rageval_batch.columnar import drift
from rageval_batch.columnar.drift import Sample
from rageval_batch.columnar.tolerance import TOLERANCE
from rageval_batch.dataclass import dataclass
from rageval_batch.errors import InputError, did_you_mean

TIMESTAMP = "timestamp"
MAX_DROP = 0.05  # of a metric's scale, where no other drop is allowed
MOST_WINDOWS = 10_000
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_LONGEST = timedelta(days=36_525)
_EARLIEST = datetime(1900, 1, 1, tzinfo=UTC)  # before it a time is a placeholder, such as the year 1
_SPAN = re.compile(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*([smhdw])\s*")


@dataclass(frozen=True, kw_only=True)
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
    max_drop: float | None  # what the drop was held against
    status: str  # alert, stale, ok, no runs, no values, no baseline

    @property
    def alert(self) -> bool:
        """The metric fell by too much, and not by chance; or it is not measured any more."""
        return self.status in ("alert", "stale")


@dataclass(frozen=True, kw_only=True)
class Watch:
    """All windows from the one of the first run on, oldest first, and what was noticed on the way."""

    profile: str
    metric: str
    higher_is_better: bool
    now: datetime
    window: timedelta
    baseline: timedelta
    max_drop: float | None  # None: of a count, MAX_DROP of what each window's baseline is
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
    sample: Sample


@dataclass(frozen=True, kw_only=True)
class _Watched:
    """A metric of the catalog: which way is better, its scale (null: a count), whether its mean is weighted."""

    profile: str
    metric: str
    higher_is_better: bool
    scale: float | None
    weighted: bool


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
    *,
    baseline: timedelta,
    max_drop: float | None = None,
    now: datetime | None = None,
    profile: str | None = None,
    eval_set: str | None = None,
) -> Watch:
    """Windows tiled back from `now` (else the latest run), each compared with the `baseline` span before it.

    `max_drop` is in the metric's unit; without one it is MAX_DROP of the metric's scale.
    """
    if max_drop is not None and not (math.isfinite(max_drop) and max_drop >= 0):
        raise InputError(f"--max-drop {max_drop} must be a number of at least 0.")
    session.store.require()
    runs = matching_runs(session, profile, eval_set)
    if not runs:
        raise InputError(f"The store {session.store.name} has no run of that profile or eval set. See rageval runs.")
    watched = _watched(session, metric, runs)
    if max_drop is None and watched.scale is not None:
        max_drop = MAX_DROP * watched.scale
    mine = [run for run in runs if run.record["profile"] == watched.profile]
    dated, notes = _dated(mine, _samples(session, watched))
    end = now or dated[-1].time
    there = [one for one in dated if one.time <= end]
    if len(there) < len(dated):
        notes.append(f"{len(dated) - len(there)} runs after {end.isoformat()} are left out.")
    oldest = (end - there[0].time) // window if there else 0  # a window has its end, not its start
    if oldest >= MOST_WINDOWS:
        raise InputError(
            f"--window is too short: from {there[0].time.isoformat()} to {end.isoformat()} it makes {oldest + 1:,} "
            f"windows, and {MOST_WINDOWS:,} can be watched."
        )
    spans = _Spans(there, window, baseline)
    windows = [_window(watched, spans, end - k * window, max_drop=max_drop) for k in range(oldest, -1, -1)]
    if not windows[-1].runs:
        windows[-1] = replace(windows[-1], status="stale")
    eval_sets = tuple(sorted({one.run.record["eval_set"] for one in there}))
    if len(eval_sets) > 1:
        notes.append(f"{len(eval_sets)} eval sets are watched together. --eval-set picks one.")
    return Watch(
        profile=watched.profile,
        metric=metric,
        higher_is_better=watched.higher_is_better,
        now=end,
        window=window,
        baseline=baseline,
        max_drop=max_drop,
        eval_sets=eval_sets,
        windows=tuple(windows),
        notes=tuple(notes),
    )


def _watched(session: Session, metric: str, runs: Sequence[Run]) -> _Watched:
    """The metric in the profile of the newest run that has it; InputError where none does."""
    rows = session.rows(
        "select m.profile, m.metric, m.higher_is_better, m.scale, p.run_stat = 'weighted_mean' as weighted "
        "from metric_catalog m join profile_catalog p on p.profile = m.profile order by m.profile, m.metric"
    )
    found = {(row["profile"], row["metric"]): _Watched(**row) for row in rows}
    for run in reversed(runs):
        if (key := (run.record["profile"], metric)) in found:
            return found[key]
    newest = runs[-1].record["profile"]
    known = [name for profile, name in found if profile == newest]
    raise InputError(did_you_mean(f"metric of {newest}", metric, known))


def _samples(session: Session, watched: _Watched) -> Mapping[tuple[str, str], Sample]:
    """The values of every run; a null counts as its metric says, or not at all.

    Where the profile's score of a run is a weighted mean, rows count by their weight, and one of weight 0 does not.
    """
    table = session.table(
        """
        with counted as (
            select
                r.run_id, r.eval_set, coalesce(m.value, c.null_counts_as) as value,
                case when $weighted then m.weight else 1.0 end as weight
            from metric_rows m
            join current_runs r on r.commit = m.commit and r.stored_id = m.run_id
            join metric_catalog c on c.profile = m.profile and c.metric = m.metric
            where m.profile = $profile and m.metric = $metric
        )
        select
            run_id, eval_set,
            list(value order by value, weight) as values, list(weight order by value, weight) as weights
        from counted
        where value is not null and weight > 0
        group by run_id, eval_set
        """,
        {"profile": watched.profile, "metric": watched.metric, "weighted": watched.weighted},
        metrics=(watched.metric,),
    ).combine_chunks()
    keys = zip(table["run_id"].to_pylist(), table["eval_set"].to_pylist(), strict=True)
    lists = zip(table["values"], table["weights"], strict=True)
    return {key: Sample(*(part.values.to_numpy() for part in parts)) for key, parts in zip(keys, lists, strict=True)}


def _dated(runs: Sequence[Run], samples: Mapping[tuple[str, str], Sample]) -> tuple[list[_Dated], list[str]]:
    """(runs with their time and values, oldest first, what is odd about their times)."""
    out, notes = [], []
    for run in runs:
        given = dict(run.record["meta"]).get(TIMESTAMP)
        time = read_time(given) if given else None
        if given and time is None:
            notes.append(f"Run '{run.record['run_id']}': timestamp '{given}' is no ISO time; its commit's is taken.")
        found = samples.get((run.record["run_id"], run.record["eval_set"]), drift.joined(()))
        out.append(_Dated(time or run.record["created_at"], run, found))
    out.sort(key=lambda one: (one.time, one.run.record["run_id"], one.run.record["eval_set"]))
    return out, notes


class _Spans:
    """Runs by time, and how long windows and the spans before them are."""

    def __init__(self, dated: Sequence[_Dated], window: timedelta, baseline: timedelta) -> None:
        """The runs stand oldest first."""
        self.window, self.baseline = window, baseline
        self._dated = dated
        self._times = [one.time for one in dated]

    def runs(self, start: datetime, end: datetime) -> Sequence[_Dated]:
        """Those behind `start`, up to `end`."""
        return self._dated[bisect_right(self._times, start) : bisect_right(self._times, end)]


def _window(watched: _Watched, spans: _Spans, end: datetime, *, max_drop: float | None) -> Window:
    start = end - spans.window
    inside, before = spans.runs(start, end), spans.runs(start - spans.baseline, start)
    now, then = (drift.joined([one.sample for one in part]) for part in (inside, before))
    drop = low = high = None
    limit = max_drop
    status = "ok"
    if not inside:
        status = "no runs"
    elif not len(now):
        status = "no values"
    elif not len(then):
        status = "no baseline"
    else:
        limit = MAX_DROP * abs(then.mean) if max_drop is None else max_drop
        found = drift.difference(then, now) if watched.higher_is_better else drift.difference(now, then)
        drop, low, high = found.value, found.low, found.high
        if drop > limit + TOLERANCE and low > 0:
            status = "alert"
    return Window(
        metric=watched.metric,
        start=start,
        end=end,
        runs=len(inside),
        n=len(now),
        mean=now.mean if len(now) else None,
        baseline_start=start - spans.baseline,
        baseline_runs=len(before),
        baseline_n=len(then),
        baseline_mean=then.mean if len(then) else None,
        drop=drop,
        low=low,
        high=high,
        max_drop=limit,
        status=status,
    )
