"""TREC files: runs (`query Q0 document rank score tag`) as a row for each run and query, qrels as questions."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from rageval_batch.columnar.strings import Offsets
from rageval_batch.errors import InputError
from rageval_batch.inputs.readers.columns import ColumnBlock, column_blocks
from rageval_batch.inputs.sources import Source

_WORD = r"[^ \t\r\x0b\x0c]+"


def read_trec_run(source: Source) -> Iterator[ColumnBlock]:
    """A row for each run and query with the ids in their order: by score, and of equal scores by id, both descending.

    That is how trec_eval orders them, whatever the column `rank` says; it holds scores as floats of 32 bits.
    """
    lines = _lines(source, ("question_id", "", "id", "", "score", "run_id"))
    scored = lines.with_columns(pl.col("score").cast(pl.Float32, strict=False))
    _refuse(source, scored, pl.col("score").is_null() | ~pl.col("score").is_finite(), "its score is no number")
    _refuse_doubles(source, scored, ("run_id", "question_id", "id"))
    ordered = scored.sort("score", "id", descending=True)
    rows = ordered.group_by("run_id", "question_id").agg(pl.col("line").min(), pl.col("id").alias("retrieved_ids"))
    yield from _blocks(rows)


def read_qrels(source: Source) -> Iterator[ColumnBlock]:
    """A question for each query with the graded ids that were judged for it, in the order of the file."""
    lines = _lines(source, ("question_id", "", "id", "grade"))
    graded = lines.with_columns(pl.col("grade").cast(pl.Int64, strict=False))
    _refuse(source, graded, pl.col("grade").is_null(), "its grade is no whole number")
    _refuse_doubles(source, graded, ("question_id", "id"))
    rows = graded.group_by("question_id", maintain_order=True).agg(
        pl.col("line").min(), pl.struct("id", "grade").alias("gold")
    )
    yield from _blocks(rows)


def _lines(source: Source, names: tuple[str, ...]) -> pl.DataFrame:
    """The words of each line by their names, with the number of the line; blank lines are none."""
    with source.open() as stream:
        text = stream.read().decode("utf-8-sig")
    words = (
        pl.DataFrame({"text": text.split("\n")})
        .with_row_index("line", 1)
        .with_columns(pl.col("text").str.extract_all(_WORD).alias("words"))
        .filter(pl.col("words").list.len() > 0)
    )
    wanted = len(names)
    _refuse(source, words, pl.col("words").list.len() != wanted, f"it does not have {wanted} columns")
    return words.select(
        pl.col("line").cast(pl.Int64),
        *(pl.col("words").list.get(k).alias(name) for k, name in enumerate(names) if name),
    )


def _refuse(source: Source, lines: pl.DataFrame, bad: pl.Expr, why: str) -> None:
    found = lines.filter(bad).head(1)
    if len(found):
        line = found["line"][0]
        known = "A run is query Q0 id rank score tag; qrels are query 0 id grade."
        raise InputError(f"{source.name}, line {line}: {why}. {known}")


def _refuse_doubles(source: Source, lines: pl.DataFrame, key: tuple[str, ...]) -> None:
    again = lines.filter(pl.struct(key).is_first_distinct().not_()).head(1)
    if len(again):
        row = again.to_dicts()[0]
        raise InputError(
            f"{source.name}, line {row['line']}: '{row['id']}' is there twice for query '{row['question_id']}'."
        )


def _blocks(rows: pl.DataFrame) -> Iterator[ColumnBlock]:
    ordered = rows.sort("line")
    lines: Offsets = ordered["line"].to_numpy()
    table = ordered.drop("line").to_arrow().combine_chunks()
    yield from column_blocks(table.to_batches(), lines)
