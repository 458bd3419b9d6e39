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
from rageval_batch.runs import commit_files, findings
from rageval_batch.runs.database import database
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
    ]
)
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["r", "s", "t"]),
        st.sampled_from([None, None, None, "invalid_json", "missing_output", "missing", "empty_output"]),
        st.sampled_from([None, "x", "y"]),
        st.sampled_from([False, False, False, False, True, None]),
        st.sampled_from([True, True, False, None]),
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


@settings(max_examples=examples(60), suppress_health_check=FOLDER_IS_SHARED, deadline=None)
@given(st.lists(st.lists(st.tuples(*[TEXTS] * 3, st.none() | TEXTS, st.integers(1, 9)), max_size=12), max_size=3))
def test_few_tallies_are_added_up_as_many_are(tmp_path: Path, parts: list[list[tuple[object, ...]]]) -> None:
    def written(most: int) -> pa.Table:
        batches = [pa.RecordBatch.from_pylist([dict(zip(TALLIES.names, row, strict=True)) for row in part], TALLIES)
                   for part in parts]  # fmt: skip
        with pytest.MonkeyPatch.context() as patch, database(tmp_path) as own:
            patch.setattr(commit_files, "MOST_TALLIES", most)
            commit_files.write_tallies(iter(batches), target=tmp_path / "tallies.parquet", database=own)
        return pq.read_table(tmp_path / "tallies.parquet").cast(TALLIES)

    assert written(0).equals(written(1_000))
