"""What `compare` is measured against: DuckDB joins the scores of two runs by question and adds up the deltas, no more.

As a command of its own (`python raw_join.py …`) it imports nothing of this package.
"""

from __future__ import annotations

import sys

import duckdb

_DELTAS = """
    select count(*), sum(cand.score - base.score)
    from (select question_id, score from read_parquet($path, hive_partitioning = false) where run_id = $base) base
    join (select question_id, score from read_parquet($path, hive_partitioning = false) where run_id = $cand) cand
    using (question_id)
"""


def command(path: str, base: str, cand: str) -> list[str]:
    """The command that joins two runs of a score file so in a process of its own."""
    return [sys.executable, "-P", __file__, path, base, cand]


def main(path: str, base: str, cand: str) -> None:
    """What `command` runs."""
    with duckdb.connect() as connection:
        connection.execute(_DELTAS, {"path": path, "base": base, "cand": cand}).fetchall()


if __name__ == "__main__":
    main(*sys.argv[1:])
