"""One database for the steps of a job: each sees an empty catalog and its own limit, and no file stays behind."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from rageval_batch.runs.database import connected, database


def test_a_connection_sees_nothing_of_those_before_it(tmp_path: Path) -> None:
    with database(tmp_path) as shared:
        for value in (1, 2):
            with shared.connected() as connection:
                connection.register("rows", pa.table({"value": [value]}))
                connection.execute("create table kept as from rows")
                connection.execute("create temp table passing as from rows")
                connection.execute("create macro doubled() as table select 2 * value as value from rows")
                connection.execute("create view seen as from kept")
                for source, expected in (("seen", value), ("passing", value), ("doubled()", 2 * value)):
                    assert connection.execute(f"from {source}").fetchall() == [(expected,)]
                connection.sql("from range(100_000)").to_arrow_reader(10).read_next_batch()  # a result left open


def test_threads_use_it_one_after_the_other(tmp_path: Path) -> None:
    def used(value: int) -> int:
        with shared.connected() as connection:
            connection.execute(f"create table kept as select {value} as value from range(1_000)")
            ((total,),) = connection.execute("select sum(value) from kept").fetchall()
            return int(total)

    with database(tmp_path) as shared, ThreadPoolExecutor(4) as threads:
        assert list(threads.map(used, range(20))) == [1_000 * value for value in range(20)]


def test_an_error_does_not_reach_the_next_connection(tmp_path: Path) -> None:
    with database(tmp_path) as shared:
        with pytest.raises(duckdb.InvalidInputException, match="broken"), shared.connected() as connection:
            connection.execute("begin")
            connection.execute("create table half (value integer)")
            connection.execute("select error('broken')")
        with shared.connected() as connection:
            assert connection.execute("select count(*) from duckdb_tables()").fetchall() == [(0,)]


def test_what_was_spilled_is_removed_and_the_limit_is_that_of_the_step(tmp_path: Path) -> None:
    """The sort needs several times the memory that its step has."""
    with database(tmp_path) as shared:
        for memory, shown in (("20MB", "19.0 MiB"), ("40MB", "38.1 MiB")):
            with shared.connected(memory) as connection:
                assert connection.execute("select current_setting('memory_limit')").fetchall() == [(shown,)]
                connection.execute("create temp table rows as select hash(range) as value from range(6_000_000)")
                assert list(tmp_path.glob("rageval-spill-*/*"))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with connected(tmp_path / "none") as connection:
        assert connection.execute("select 1").fetchall() == [(1,)]
    assert list(tmp_path.iterdir()) == []
