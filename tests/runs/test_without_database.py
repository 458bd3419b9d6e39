"""What a commit needs no database for is what the database gives: tallies added up, nothing to tell of scores."""

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rageval_batch.model.schemas import TALLIES
from rageval_batch.profiles.registry import get_profile
from rageval_batch.runs import commit_files, findings, tallies
from rageval_batch.runs.database import database
from rageval_batch.runs.parts import part_bytes
from support.effort import examples

PROFILE = get_profile("eval_json_v2")
TEXTS = st.sampled_from(["", "a", "B", "é", "門", "😀", "a b"])
FOLDER_IS_SHARED = [HealthCheck.function_scoped_fixture]
SCORES = pa.schema(
    [
        ("run_id", pa.large_string()),
        ("fail_reason", pa.large_string()),
        ("fail_detail", pa.large_string()),
        ("context_missing", pa.bool_()),
        ("schema_ok", pa.bool_()),
        ("score", pa.float64()),
    ]
)
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["r", "s", "t"]),
        st.sampled_from([None, None, None, "invalid_json", "missing_output", "missing", "empty_output"]),
        st.sampled_from([None, "x", "y"]),
        st.sampled_from([False, False, False, False, True, None]),
        st.sampled_from([True, True, False, None]),
        st.sampled_from([0.0, 50.0, 100.0, None, -1.0, 101.0]),
    ),
    max_size=30,
)


@settings(max_examples=examples(60), suppress_health_check=FOLDER_IS_SHARED, deadline=None)
@given(st.lists(ROWS, min_size=1, max_size=2), st.integers(1, 7), st.booleans())
def test_scores_without_findings_are_seen_by_counting(
    tmp_path: Path, files: list[list[tuple[object, ...]]], rows_at_once: int, any_condition: bool
) -> None:
    """Files of any shape, read some rows at a time; a condition that is more than flags is for the database."""
    paths = [tmp_path / f"{k}.parquet" for k in range(len(files))]
    for path, rows in zip(paths, files, strict=True):
        columns = [list(column) for column in zip(*rows, strict=True)] or [[]] * len(SCORES)
        pq.write_table(pa.table(columns, SCORES), path, row_group_size=5)
    profile = PROFILE
    if any_condition:
        part = replace(PROFILE.scoring.uncomputed[0], where="context_missing or schema_ok is null")
        profile = replace(PROFILE, scoring=replace(PROFILE.scoring, uncomputed=(part,)))
    with pytest.MonkeyPatch.context() as patch, database(tmp_path) as own:
        patch.setattr(findings, "_ROWS_AT_ONCE", rows_at_once)
        found = findings.observed(paths, profile, database=own)
        patch.setattr(findings.CountedRows, "show_nothing", lambda *_: False)
        assert found == findings.observed(paths, profile, database=own)


TALLIED = st.lists(st.tuples(*[TEXTS] * 3, st.none() | TEXTS, st.integers(1, 9)), max_size=12)


@settings(max_examples=examples(60), suppress_health_check=FOLDER_IS_SHARED, deadline=None)
@given(st.lists(TALLIED, max_size=5), st.integers(1, 12), st.integers(1, 5))
def test_tallies_of_some_runs_at_a_time_are_those_of_a_query(
    tmp_path: Path, parts: list[list[tuple[object, ...]]], at_once: int, row_group: int
) -> None:
    paths = [tmp_path / f"part-{k}" for k in range(len(parts))]
    for path, part in zip(paths, parts, strict=True):
        rows = pa.Table.from_pylist([dict(zip(TALLIES.names, row, strict=True)) for row in part], TALLIES)
        path.write_bytes(part_bytes(rows))

    def written(**limits: int) -> pa.Table:
        with pytest.MonkeyPatch.context() as patch, database(tmp_path) as own:
            patch.setattr(commit_files, "ROW_GROUP", row_group)
            for name, limit in limits.items():
                patch.setattr(tallies, name, limit)
            commit_files.write_tallies(paths, target=tmp_path / "tallies.parquet", database=own)
        return pq.read_table(tmp_path / "tallies.parquet").cast(TALLIES)

    by_query = written(MOST_OF_RUN=0)
    assert written(AT_ONCE=at_once, _MOST_READS=1_000).equals(by_query)
    assert written(AT_ONCE=at_once).equals(by_query)


def test_tallies_of_scattered_runs_are_left_to_a_query(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every part has every run: reading all parts for each few runs would take too long."""
    monkeypatch.setattr(tallies, "AT_ONCE", 10)
    rows = [{"run_id": f"r{k}", "kind": "x", "got": "a", "expected": None, "n": 1} for k in range(100)]
    paths = [tmp_path / f"part-{k}" for k in range(10)]
    for path in paths:
        path.write_bytes(part_bytes(pa.Table.from_pylist(rows, TALLIES)))
    assert tallies.sorted_by_run(paths) is None
    assert tallies.sorted_by_run(paths[:1]) is not None
