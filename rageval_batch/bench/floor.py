"""The floor that a sweep is measured against: DuckDB reads a JSONL file, validates and decodes every answer, no more.

It is measured twice. In a process that has started, by its second run, it is what the work costs; as a command of its
own (`python floor.py …`, which imports nothing of this package) it is what a user would pay, starting included.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import duckdb

# An answer is a JSON object or a text that holds one; as VARCHAR both are the same text.
_ROWS = """
    from (
        select case when json_valid(output) then output end as output
        from read_json($path, format = 'newline_delimited',
                       columns = {run_id: 'VARCHAR', question_id: 'VARCHAR', output: 'VARCHAR'})
    )
"""
_STRUCTURE = f"select json_group_structure(output) from (select output {_ROWS} limit 1000)"
_JSON_FLOOR = f"""
    select count(*), count(kinds), count(decoded)
    from (select json_type(output, $members) as kinds, from_json(output, $structure) as decoded {_ROWS})
"""
_TEXT_FLOOR = """
    select count(*), sum(length({answer}))
    from read_json($path, format = 'newline_delimited',
                   columns = {{run_id: 'VARCHAR', question_id: 'VARCHAR', {answer}: 'VARCHAR'}})
"""


def structure_of(connection: duckdb.DuckDBPyConnection, path: str) -> str:
    """What the first answers of a file have, as `from_json` takes it."""
    found = connection.execute(_STRUCTURE, {"path": path}).fetchone()
    return found[0] if found else "{}"


def read_and_decode(
    connection: duckdb.DuckDBPyConnection, path: str, answer: str, *, structure: str | None
) -> tuple[Any, ...]:
    """Read the file once; first the number of its rows. `structure`: what is decoded of an answer; None: it is text."""
    query = _TEXT_FLOOR.format(answer=answer)
    given: dict[str, Any] = {"path": path}
    if structure is not None:
        query = _JSON_FLOOR
        given |= {"structure": structure, "members": list(json.loads(structure))}
    counted = connection.execute(query, given).fetchone()
    assert counted is not None
    return counted


def command(path: str, answer: str, structure: str | None) -> list[str]:
    """The command that reads a file so in a process of its own."""
    return [sys.executable, "-P", __file__, path, answer, *([] if structure is None else [structure])]


def main(path: str, answer: str, structure: str | None = None) -> None:
    """What `command` runs."""
    with duckdb.connect() as connection:
        read_and_decode(connection, path, answer, structure=structure)


if __name__ == "__main__":
    main(*sys.argv[1:])
