"""Score rows of parts in the order of a commit: the same as a sort of all of them."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_batch.columnar.strings import LARGE_STRING, Ints
from rageval_batch.runs import sorted_rows
from rageval_batch.runs.commit_files import ROW_GROUP, write_in_order
from rageval_batch.runs.parts import part_bytes
from support.effort import examples

SCHEMA = pa.schema(
    [("run_id", LARGE_STRING), ("question_id", LARGE_STRING), ("repeat", pa.int32()), ("value", pa.int64())]
)
Row = tuple[str, str, int]
KEYS = st.lists(
    st.tuples(st.sampled_from(["a", "b", "\u00e9", "字", "😀"]), st.sampled_from("qQé字1"), st.integers(0, 3)),
    unique=True,
    max_size=40,
)


def table(rows: list[Row]) -> pa.Table:
    """Rows with a value of their own."""
    columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
    return pa.table([*columns, [hash(row) % 1_000 for row in rows]], schema=SCHEMA)


def by_bytes(row: Row) -> tuple[bytes, bytes, int]:
    return row[0].encode(), row[1].encode(), row[2]


@settings(max_examples=examples(40), deadline=None)
@given(keys=KEYS, size=st.integers(1, 9), at_once=st.integers(1, 12), data=st.data())
def test_rows_come_in_the_order_of_their_keys(
    tmp_path_factory: pytest.TempPathFactory, keys: list[Row], size: int, at_once: int, data: st.DataObject
) -> None:
    folder: Path = tmp_path_factory.mktemp("parts")
    lacking = data.draw(st.lists(st.sampled_from(keys), unique=True)) if keys else []
    runs = data.draw(st.permutations(sorted({run for run, *_ in keys})))
    given_rows = sorted((row for row in keys if row not in lacking), key=lambda row: runs.index(row[0]))
    paths = []
    for k in range(0, len(given_rows), size):
        paths.append(folder / f"{k:03d}")
        paths[-1].write_bytes(part_bytes(table(given_rows[k : k + size])))
    missing = {
        run: np.array([k for k, row in enumerate(lacking) if row[0] == run], np.int32)
        for run in {row[0] for row in lacking}
    }

    def make(some: Mapping[str, Ints]) -> pa.Table:
        return table([lacking[k] for numbers in some.values() for k in numbers])

    chunks = sorted_rows.sorted_by_run(paths, missing, make, rows_at_once=at_once)
    assert chunks is not None  # every run stands together
    write_in_order((chunk.rows for chunk in chunks), SCHEMA, folder / "all.parquet")
    got = pq.read_table(folder / "all.parquet").to_pylist()
    assert got == table(sorted(keys, key=by_bytes)).to_pylist()


def test_missing_rows_of_a_large_run_are_made_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """In their order between those that are there, and not all at once; runs beside it stay whole."""
    monkeypatch.setattr(sorted_rows, "MOST_OF_RUN", 50)
    ids = sorted(f"q{k}" for k in range(100))
    answered = {"a": ids[:10], "b": [*ids[95:], *ids[20:55], *ids[20:22]], "c": ids[:20]}
    repeats = {("b", name): 1 for name in ids[20:22]}
    rows = [(run, name, 0) for run, names in answered.items() for name in dict.fromkeys(names)]
    rows += [(run, name, repeat) for (run, name), repeat in repeats.items()]
    rows.sort(key=lambda row: row[0])
    missing = {"b": np.array([k for k, name in enumerate(ids) if name not in answered["b"]], np.int32)}
    made = []

    def make(some: Mapping[str, Ints]) -> pa.Table:
        made.append(sum(map(len, some.values())))
        return table([(run, ids[k], 0) for run, questions in some.items() for k in questions])

    chunks = list(sorted_rows.sorted_by_run([table(rows)], missing, make, rows_at_once=16) or ())
    wanted = sorted([*rows, *(("b", ids[k], 0) for k in missing["b"])], key=by_bytes)
    assert pa.concat_tables([chunk.rows.cast(SCHEMA) for chunk in chunks]).equals(table(wanted))
    assert made == [16, 16, 16, 12]
    assert [chunk.has_whole_runs for chunk in chunks] == [True, False, False, False, False, True]


def left_to_sort(path: Path) -> bool:
    return sorted_rows.sorted_by_run([path], {}, lambda _: table([]), rows_at_once=10) is None


def test_scattered_and_long_runs_are_left_to_a_sort_that_spills(tmp_path: Path) -> None:
    mixed = [("ab"[k % 2], f"q{k:03d}", 0) for k in range(100)]
    (tmp_path / "mixed").write_bytes(part_bytes(table(mixed)))
    assert left_to_sort(tmp_path / "mixed")
    long = [("a", f"q{k}", 0) for k in range(sorted_rows.MOST_OF_RUN + 1)]
    (tmp_path / "long").write_bytes(part_bytes(table(long)))
    assert left_to_sort(tmp_path / "long")


@pytest.mark.parametrize("distinct", [1, 300, 100_000])
def test_written_rows_are_the_same_whatever_their_encodings(distinct: int, tmp_path: Path) -> None:
    """Few values and many, of all types that score rows have, in row groups that share a run."""
    rows = 2 * ROW_GROUP + 5
    values = np.random.default_rng(0).integers(0, distinct, rows)
    null = values % 7 == 3
    plain = pa.table(
        {
            "run_id": pa.repeat(pa.scalar("a", LARGE_STRING), rows),
            "question_id": pa.array([f"q{k:06d}" for k in range(rows)], LARGE_STRING),
            "repeat": pa.array(np.zeros(rows, np.int32)),
            "place": pa.array(np.arange(rows)[::-1] * 3),
            "count": pa.array(values.astype(np.int32), mask=null),
            "score": pa.array(values / 7, mask=null),
            "signed": pa.array(np.where(null, -0.0, values / -3)),
            "flag": pa.array(values % 2 == 0, mask=null),
            "detail": pa.array([f"{value}" for value in values], LARGE_STRING, mask=null),
        }
    )
    chunks = sorted_rows.sorted_by_run([plain], {}, lambda _: plain.slice(0, 0), rows_at_once=ROW_GROUP)
    assert chunks is not None
    target = tmp_path / "rows.parquet"
    write_in_order((chunk.rows for chunk in chunks), plain.schema, target)
    read = pq.read_table(target).cast(plain.schema)
    assert read.equals(plain)
    assert read.column("signed").to_numpy().tobytes() == plain.column("signed").to_numpy().tobytes()
    about = pq.read_metadata(target)
    assert about.num_row_groups == 3
    assert about.row_group(1).column(1).statistics.min == f"q{ROW_GROUP:06d}"  # its own, not those of the run
