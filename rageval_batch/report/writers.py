"""Record batches as CSV, TSV, JSON lines, JSON, Parquet and Excel, one batch at a time: no result is held whole."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch.errors import InputError
from rageval_batch.report.cells import format_value, json_line, to_jsonable
from rageval_batch.report.safe_text import FORMULA, PLAIN_NUMBER, valid_text

if TYPE_CHECKING:
    import polars as pl

_SEPARATORS = {"csv": ",", "tsv": "\t"}
_TEXT_MAP = pa.map_(pa.string(), pa.string())
_EXCEL_ROWS, _EXCEL_COLUMNS, _EXCEL_TEXT = 1_048_576, 16_384, 32_767
_EXCEL_WHOLE = 2**53  # Excel has doubles only


def write_file(reader: pa.RecordBatchReader, format: str, target: str) -> None:
    """Write all batches to a file, which appears whole or not at all; InputError where it cannot be written."""
    try:
        with replaced_file(target) as out:
            _WRITERS[format](reader, out)
    except OSError as error:
        raise InputError(f"Cannot write {target}: {error.strerror or error}.") from error


@contextmanager
def replaced_file(target: str) -> Iterator[BinaryIO]:
    """A file to write to that takes the place of `target` at the end, unless something failed; a pipe or device is
    written to as it is."""
    import tempfile

    path = Path(target)
    try:
        device = path.open("wb") if path.exists() and not path.is_file() else None
        if device is None:
            handle, partial = tempfile.mkstemp(prefix=".", suffix=".partial", dir=path.resolve().parent)
    except (OSError, RuntimeError) as error:  # RuntimeError: links that lead in a circle, before Python 3.13
        raise InputError(f"Cannot write {target}: {getattr(error, 'strerror', None) or error}.") from error
    if device is not None:
        with device:
            yield device
        return
    try:
        with os.fdopen(handle, "w+b") as out:
            yield out
        mask = os.umask(0)
        os.umask(mask)
        Path(partial).chmod(0o666 & ~mask)
        Path(partial).replace(path.resolve())
    except BaseException:
        Path(partial).unlink(missing_ok=True)
        raise


def text_chunks(reader: pa.RecordBatchReader, format: str) -> Iterator[str]:
    """CSV, TSV, JSON or JSON lines, a text for each batch."""
    if format in _SEPARATORS:
        yield _csv_header(reader.schema.names, _SEPARATORS[format])
        for batch in reader:
            yield _csv_rows(batch, _SEPARATORS[format])
        return
    between, last = ("\n", "\n") if format == "jsonl" else (",\n ", "]\n")
    started = False
    if format == "json":
        yield "["
    for batch in reader:
        if batch.num_rows:
            yield (between if started else "") + between.join(map(json_line, row_dicts(batch)))
            started = True
    if started or format == "json":
        yield last


def row_dicts(batch: pa.RecordBatch | pa.Table) -> list[dict[str, Any]]:
    """The rows of a batch; InputError for a time that Python has not."""
    with _times_of_python():
        return _python_values(batch)


def _python_values(values: pa.RecordBatch | pa.Table | pa.Array) -> list[Any]:
    """Rows or values as Python has them, maps as dictionaries; where a key cannot be one of those, as pairs."""
    try:
        return list(values.to_pylist(maps_as_pydicts="strict"))
    except (TypeError, KeyError):
        return list(values.to_pylist())


@contextmanager
def _times_of_python() -> Iterator[None]:
    """InputError for values outside the years 1 to 9999, `infinity` among them."""
    try:
        yield
    except (OverflowError, ValueError) as error:
        raise InputError(
            f"A date or time of the result cannot be shown ({error}): the years 1 to 9999 can. "
            "Cast it to text in the query, as in created_at::varchar, or write .parquet."
        ) from error


def to_arrow(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> pa.Table:
    """Rows as Arrow; a dictionary of texts is a map, and a column whose values have no type in common is JSON text."""
    rows = list(rows)
    return pa.table({name: _array([row.get(name) for row in rows]) for name in columns})


def _array(values: list[Any]) -> pa.Array:
    values = [valid_text(value) if isinstance(value, str) else value for value in values]
    try:
        return pa.array(values, _TEXT_MAP if _are_text_maps(values) else None)
    except (pa.ArrowInvalid, pa.ArrowTypeError, UnicodeEncodeError):
        return pa.array([None if value is None else _json_or_text(value) for value in values], pa.large_string())


def _are_text_maps(values: list[Any]) -> bool:
    """Whether the values are dictionaries of texts, as the metadata of runs is, and not structs with the same names."""
    found = [value for value in values if value is not None]
    return bool(found) and all(
        isinstance(value, dict) and all(isinstance(part, str) for part in value.values()) for value in found
    )


def _json_or_text(value: Any) -> str:
    plain = to_jsonable(value)
    return plain if isinstance(plain, str) else json_line(plain)


# --- CSV ------------------------------------------------------------------------------------------------------------


def csv_text(rows: Iterable[Mapping[str, Any]], columns: Sequence[str], format: str = "csv") -> str:
    """Rows as CSV or TSV with a header, without a line end at the end."""
    return "".join(text_chunks(to_arrow(rows, columns).to_reader(), format)).removesuffix("\n")


def _csv_header(names: Sequence[str], separator: str) -> str:
    """Names are cells as others are: guarded, and quoted where they have line ends of any kind."""
    if not names:
        return "\n"
    cells = [pa.array([valid_text(name)]) for name in names]
    return _csv_rows(pa.RecordBatch.from_arrays(cells, names=names), separator)


def _csv_rows(batch: pa.RecordBatch, separator: str) -> str:
    """The rows of a batch; texts that a spreadsheet would run get an apostrophe, line ends of any kind are quoted."""
    if not batch.num_columns:
        return ""
    import polars as pl

    frame = pl.DataFrame({f"{k}": _csv_column(column) for k, column in enumerate(batch.columns)})
    return frame.write_csv(include_header=False, separator=separator)


def _csv_column(column: pa.Array) -> pl.Series:
    import polars as pl

    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.dictionary_decode(), kind.value_type
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        with _times_of_python():
            pc.min_max(column).as_py()  # Polars would end the process at one that it cannot show
    if pa.types.is_timestamp(kind):
        # Polars lays a timestamp out in one form for all rows; a zone is written as its offset.
        return pl.Series(pl.from_arrow(column)).dt.to_string("iso:strict")
    if pa.types.is_floating(kind):
        return pl.Series(pl.from_arrow(column.cast(pa.float64())))
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind) or pa.types.is_date(kind):
        return pl.Series(pl.from_arrow(column))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        texts = pl.Series(pl.from_arrow(column))
    else:
        with _times_of_python():
            values = _python_values(column)
        texts = pl.Series([None if value is None else _json_or_text(value) for value in values], dtype=pl.String)
    formula = texts.str.contains(FORMULA) & (texts != "==") & ~texts.str.contains(PLAIN_NUMBER)
    return pl.select(pl.when(formula).then(pl.lit("'") + texts).otherwise(texts)).to_series()


# --- files ----------------------------------------------------------------------------------------------------------


def _write_text(format: str) -> Callable[[pa.RecordBatchReader, BinaryIO], None]:
    def write(reader: pa.RecordBatchReader, out: BinaryIO) -> None:
        for chunk in text_chunks(reader, format):
            out.write(chunk.encode())

    return write


def _write_parquet(reader: pa.RecordBatchReader, out: BinaryIO) -> None:
    from pyarrow import parquet as pq

    try:
        writer = pq.ParquetWriter(out, reader.schema)
    except pa.ArrowNotImplementedError as error:
        raise InputError(
            f"A column of the result has no type in Parquet ({error}). Cast it to text in the query."
        ) from error
    with writer:
        for batch in reader:
            writer.write_batch(batch)


def _write_excel(reader: pa.RecordBatchReader, out: BinaryIO) -> None:
    """One sheet, written row by row. What Excel cannot hold is an error: nothing is cut."""
    from xlsxwriter import Workbook

    if len(reader.schema.names) > _EXCEL_COLUMNS:
        raise InputError(f"An Excel sheet has at most {_EXCEL_COLUMNS:,} columns. Write .csv or .parquet.")
    options = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
    stream = _Abandonable(out)
    try:
        with Workbook(stream, options) as book:
            _fill_sheet(book.add_worksheet("rageval", _exact_worksheet()), reader)
    except BaseException:
        stream.out = None
        raise


def _exact_worksheet() -> type[Any]:
    """The class of a sheet whose numbers have all their digits: the library writes 16, and some doubles have 17."""
    from xlsxwriter.worksheet import Worksheet

    class ExactWorksheet(Worksheet):  # type: ignore[misc]
        def _xml_number_element(self, number: float, attributes: Sequence[tuple[str, object]] = ()) -> None:
            given = "".join(f' {name}="{self._escape_attributes(value)}"' for name, value in attributes)
            self.fh.write(f"<c{given}><v>{number!r}</v></c>")

    return ExactWorksheet


def _fill_sheet(sheet: Any, reader: pa.RecordBatchReader) -> None:
    for k, name in enumerate(reader.schema.names):
        sheet.write_string(0, k, _excel_text(name))
    line = 0
    for batch in reader:
        with _times_of_python():
            columns = [_python_values(column) for column in batch.columns]
        for row in zip(*columns, strict=True):
            line += 1
            if line >= _EXCEL_ROWS:
                raise InputError(f"An Excel sheet has at most {_EXCEL_ROWS:,} rows. Write .csv or .parquet.")
            for k, value in enumerate(row):
                _excel_cell(sheet, line, k, value=value)


class _Abandonable:
    """A stream that can be given up: the zip file of a workbook that failed writes its end when it is forgotten, and
    would print another error then."""

    def __init__(self, out: BinaryIO) -> None:
        self.out: BinaryIO | None = out
        self._place = 0

    def write(self, content: Any) -> int:
        """Write bytes, or count them only."""
        self._place += len(content)
        return len(content) if self.out is None else self.out.write(content)

    def seek(self, place: int, whence: int = 0) -> int:
        """Go to a place; where that is."""
        self._place = place if self.out is None else self.out.seek(place, whence)
        return self._place

    def tell(self) -> int:
        """The place at hand."""
        return self._place

    def flush(self) -> None:
        """Have written what was given."""
        if self.out is not None:
            self.out.flush()


def _excel_cell(sheet: Any, line: int, place: int, *, value: Any) -> None:
    plain = format_value(value) if isinstance(value, float) and not math.isfinite(value) else to_jsonable(value)
    if plain is None:
        return
    if isinstance(plain, bool):
        sheet.write_boolean(line, place, plain)
    elif isinstance(plain, Decimal) and Decimal(repr(float(plain))) == plain:
        sheet.write_number(line, place, float(plain))
    elif isinstance(plain, float) or (isinstance(plain, int) and abs(plain) <= _EXCEL_WHOLE):
        sheet.write_number(line, place, plain)
    else:
        sheet.write_string(line, place, _excel_text(plain if isinstance(plain, str) else json_line(plain)))


def _excel_text(text: str) -> str:
    if len(text.encode("utf-16-le", "surrogatepass")) // 2 > _EXCEL_TEXT:
        raise InputError(f"A text of {len(text):,} characters is too long for an Excel cell. Write .csv or .parquet.")
    return valid_text(text)


_WRITERS: dict[str, Callable[[pa.RecordBatchReader, BinaryIO], None]] = {
    **{format: _write_text(format) for format in ("csv", "tsv", "json", "jsonl")},
    "parquet": _write_parquet,
    "xlsx": _write_excel,
}
