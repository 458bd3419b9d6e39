"""JSON in columns: nested Arrow values as JSON text, and texts that hold JSON."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch.columnar import json_tape
from rageval_batch.columnar.kernels.json import EMPTY, OK
from rageval_batch.columnar.strings import LARGE_STRING, from_arrow
from rageval_batch.errors import InputError
from rageval_batch.interrupts import stop_when_interrupted

_SETTINGS: dict[str, Any] = {
    "threads": 1,  # a batch at a time, read beside others that are scored
    "memory_limit": "2GB",  # a value takes about ten times its size
    "temp_directory": "",
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
}
_TOO_LARGE = "Nested values of a column are too large to be read: together they take more than 2 GB of memory."
NOT_JSON, BLANK = -1, -2  # kinds of texts that hold no JSON value
_NOT_FINITE = "NaN|Infinity"
_STRING_OR_NOT_FINITE = re.compile(rf'"(?:[^"\\]|\\.)*"|-?(?:{_NOT_FINITE})')


def json_of(column: pa.Array) -> pa.Array:
    """Every value of a column as JSON text; null for null and for a number that is not finite, which JSON lacks.

    InputError for values so large that the conversion takes more memory than it may.
    """
    import duckdb

    if column.offset:  # DuckDB refuses a struct that begins in the middle of its buffers
        column = column.take(pa.array(np.arange(len(column))))
    with duckdb.connect(config=_SETTINGS) as connection:
        stop_when_interrupted(connection)
        connection.register("nested", pa.table({"value": column}))
        try:
            found = connection.sql("select case when value is not null then to_json(value)::varchar end from nested")
            text = found.to_arrow_table().column(0).combine_chunks().cast(LARGE_STRING)
        except duckdb.OutOfMemoryException as error:
            raise InputError(f"{_TOO_LARGE} Give such values as a column of JSON text.") from error
    odd = pc.fill_null(pc.match_substring_regex(text, _NOT_FINITE), False)
    if not pc.any(odd).as_py():
        return text
    mended = [_null_for_not_finite(value) for value in text.filter(odd).to_pylist()]
    return pc.replace_with_mask(text, odd, pa.array(mended, LARGE_STRING))


def _null_for_not_finite(text: str) -> str | None:
    """JSON text with null in place of numbers that are not finite; None where it is nothing else."""
    mended = _STRING_OR_NOT_FINITE.sub(lambda found: found[0] if found[0].startswith('"') else "null", text)
    return None if mended == "null" else mended


def held_kinds(texts: pa.Array) -> npt.NDArray[np.int16]:
    """The kind of the JSON value that each text holds (`kernels.json`), NOT_JSON or BLANK; null is BLANK."""
    tape = json_tape.parse_strings(from_arrow(texts))
    kinds = np.where(tape.status == OK, tape.kinds(tape.root.copy()), NOT_JSON)
    return np.where(tape.status == EMPTY, BLANK, kinds).astype(np.int16)
