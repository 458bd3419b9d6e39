"""Expressions that fail on some rows: those are null and marked, whatever DuckDB makes of the error."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_batch.errors import InputError
from rageval_batch.profiles.files.engine import Rows, evaluate
from support.effort import examples

LENGTH = "json_array_length(output)"  # an error of which `try` does not catch


@settings(max_examples=examples(30), deadline=None)
@given(st.lists(st.sampled_from(["[]", "[1]", "[1, 2]", "", "[", "x"]), min_size=1, max_size=40))
def test_rows_on_which_an_expression_fails_are_null(outputs: list[str]) -> None:
    rows = Rows(pa.table({"output": pa.array(outputs, pa.large_string())}), {})
    found = evaluate({"m": LENGTH, "n": "length(output)"}, rows)
    wanted = [len([c for c in text if c.isdigit()]) if text.endswith("]") else None for text in outputs]
    assert found["m"].column.to_pylist() == wanted
    assert found["m"].failed.tolist() == [value is None for value in wanted]
    assert found["n"].column.to_pylist() == [len(text) for text in outputs]


def test_an_expression_that_is_wrong_on_every_row_is_named() -> None:
    rows = Rows(pa.table({"output": pa.array(["a", "b"], pa.large_string())}), {})
    with pytest.raises(InputError, match="The expression of m cannot be computed"):
        evaluate({"m": "output like '%' escape 'xx'"}, rows)
