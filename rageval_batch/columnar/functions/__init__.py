"""The library of functions behind SQL, profile files, Polars expressions and Python: one declaration each."""

from rageval_batch.columnar.functions.columns import has_type
from rageval_batch.columnar.functions.declaration import Argument, Example, Function
from rageval_batch.columnar.functions.library import FUNCTIONS
from rageval_batch.columnar.functions.sql import register_functions, sql_result

__all__ = ["FUNCTIONS", "Argument", "Example", "Function", "has_type", "register_functions", "sql_result"]
