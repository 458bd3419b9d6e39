"""TREC files: runs (`query Q0 document rank score tag`) as a row for each run and query, qrels as questions."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl
import pyarrow as pa

from rageval_batch.columnar.strings import LARGE_STRING, Offsets
from rageval_batch.errors import InputError
from rageval_batch.inputs.readers import blocks
from rageval_batch.inputs.readers.blocks import RowError
from rageval_batch.inputs.readers.columns import ColumnBlock, column_blocks
from rageval_batch.inputs.sources import Source

_WORD = r"[^ \t\r\x0b\x0c]+"


def read_trec_run(source: Source) -> Iterator[ColumnBlock]:
    """A row for each run and query with the ids in their order: by score, and of equal scores by id, both descending.

    That is how trec_eval orders them, whatever the column `rank` says; it holds scores as floats of 32 bits. A line
    that is no result, or has an id again, is a row error.
    """
    lines = _lines(source, ("question_id", "", "id", "", "score", "run_id"))
    lines = lines.with_columns(pl.col("score").cast(pl.Float32, strict=False))
    lines = _with_problem(
        lines, pl.col("score").is_null() | ~pl.col("score").is_finite(), pl.lit("its score is no number")
    )
    lines = _with_doubles(lines, ("run_id", "question_id", "id"))
    good = lines.filter(pl.col("problem").is_null())
    ordered = good.sort("score", "id", descending=True)
    rows = ordered.group_by("run_id", "question_id").agg(pl.col("line").min(), pl.col("id").alias("retrieved_ids"))
    yield from _blocks(rows)
    bad = lines.filter(pl.col("problem").is_not_null())
    for part in bad.iter_slices(blocks.BLOCK_ROWS):
        yield _bad_lines(part, good["run_id"].head(1).to_list())


def read_qrels(source: Source) -> Iterator[ColumnBlock]:
    """A question for each query with the graded ids that were judged for it, in the order of the file."""
    lines = _lines(source, ("question_id", "", "id", "grade"))
    lines = lines.with_columns(pl.col("grade").cast(pl.Int64, strict=False))
    lines = _with_problem(lines, pl.col("grade").is_null(), pl.lit("its grade is no whole number"))
    graded = _with_doubles(lines, ("question_id", "id"))
    for line, problem in graded.filter(pl.col("problem").is_not_null()).select("line", "problem").head(1).iter_rows():
        raise InputError(f"{source.name}, line {line}: {problem}. Qrels are query 0 id grade.")
    rows = graded.group_by("question_id", maintain_order=True).agg(
        pl.col("line").min(), pl.struct("id", "grade").alias("gold")
    )
    yield from _blocks(rows)


def _lines(source: Source, names: tuple[str, ...]) -> pl.DataFrame:
    """The words of each line by their names, with its number, text and `problem`, null where it has none.

    Blank lines are none.
    """
    with source.open() as stream:
        text = stream.read().decode("utf-8-sig")
    words = (
        pl.DataFrame({"text": text.split("\n")})
        .with_row_index("line", 1)
        .with_columns(pl.col("text").str.extract_all(_WORD).alias("words"))
        .filter(pl.col("words").list.len() > 0)
    )
    wanted = len(names)
    lines = words.select(
        pl.col("line").cast(pl.Int64), "text",
        (pl.col("words").list.len() != wanted).alias("odd"), pl.lit(None, pl.String).alias("problem"),
        *(pl.col("words").list.get(k, null_on_oob=True).alias(name) for k, name in enumerate(names) if name),
    )  # fmt: skip
    return _with_problem(lines, pl.col("odd"), pl.lit(f"it does not have {wanted} columns")).drop("odd")


def _with_problem(lines: pl.DataFrame, bad: pl.Expr, why: pl.Expr) -> pl.DataFrame:
    """The lines; those that are bad and have no problem yet have this one."""
    return lines.with_columns(pl.coalesce("problem", pl.when(bad).then(why)).alias("problem"))


def _with_doubles(lines: pl.DataFrame, key: tuple[str, ...]) -> pl.DataFrame:
    """The lines; of good ones with the same key all but the first have that as their problem."""
    good = pl.col("problem").is_null()
    again = good & pl.struct(good.alias("good"), *key).is_first_distinct().not_()
    return _with_problem(lines, again, pl.format("'{}' is there twice for query '{}'", "id", "question_id"))


def _bad_lines(lines: pl.DataFrame, run_ids: list[str]) -> ColumnBlock:
    """Lines with a problem as rows that cannot be read; they are of the file's run, as a file has one as a rule."""
    return ColumnBlock(
        lines=lines["line"].to_numpy(),
        columns={"run_id": pa.array(run_ids * len(lines), LARGE_STRING)} if run_ids else {},
        row_errors=[RowError(row, "malformed_trec", problem) for row, problem in enumerate(lines["problem"])],
        raw_rows=lines["text"].str.strip_chars_end("\r").to_list(),
    )


def _blocks(rows: pl.DataFrame) -> Iterator[ColumnBlock]:
    ordered = rows.sort("line")
    lines: Offsets = ordered["line"].to_numpy()
    table = ordered.drop("line").to_arrow().combine_chunks()
    yield from column_blocks(table.to_batches(), lines)
