"""Measurements beside those of an earlier file of `rageval bench --format json`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from rageval_batch.config import read_small_file
from rageval_batch.errors import InputError

COLUMNS = ("profile", "stage", "us_per_row_before", "us_per_row", "times", "peak_mib_before", "peak_mib")


def read_measured(path: str) -> list[dict[str, Any]]:
    """The profiles of an earlier measurement; InputError where the file is none."""
    try:
        found = json.loads(read_small_file(path, "measurement"))
        profiles: list[dict[str, Any]] = found["profiles"]
        _by_stage(profiles)
    except OSError as error:
        raise InputError(f"--against {path}: {error.strerror}.") from error
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise InputError(
            f"--against {path} is no measurement. Give a file that rageval bench --format json wrote."
        ) from error
    return profiles


def compared(before: Sequence[dict[str, Any]], now: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """A line for every stage that both have: CPU of a row then and now, and how many times as much it is now.

    The floor is the same work in both, so it tells how far the machines differ.
    """
    earlier, later = _by_stage(before), _by_stage(now)
    return [
        {
            "profile": profile,
            "stage": stage,
            "us_per_row_before": earlier[profile, stage].us_per_row,
            "us_per_row": line.us_per_row,
            "times": line.us_per_row / earlier[profile, stage].us_per_row,
            "peak_mib_before": earlier[profile, stage].peak_mib,
            "peak_mib": line.peak_mib,
        }
        for (profile, stage), line in later.items()
        if (profile, stage) in earlier
    ]


class _Line(NamedTuple):
    us_per_row: float
    peak_mib: float | None


def _by_stage(profiles: Sequence[dict[str, Any]]) -> dict[tuple[str, str], _Line]:
    """What a row costs in every stage of every profile."""
    return {
        (profile["profile"], line["stage"]): _Line(line["us_per_row"], line["peak_mib"])
        for profile in profiles
        for line in profile["stages"]
    }
