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

_PART_BYTES = 64 << 20  # of the lines that are collected at once
_WORD = r"[^ \t\r\x0b\x0c]+"


def read_trec_run(source: Source) -> Iterator[ColumnBlock]:
    """A row for each run and query with the ids in their order: by score, and of equal scores by id, both descending.

    That is how trec_eval orders them, whatever the column `rank` says; it holds scores as floats of 32 bits. A line
    that is no result, or has an id again, is a row error.

    The lines of a query may stand anywhere: those of some queries, by a hash, are collected in each reading of a file,
    as many times as it is larger than what is collected at once.
    """
    names = ("question_id", "", "id", "", "score", "run_id")
    size, run_ids = 0, list[str]()
    for lines in map(_scored, _lines(source, names)):
        size += int(lines["text"].str.len_bytes().sum())
        run_ids = run_ids or lines.filter(pl.col("problem").is_null())["run_id"].head(1).to_list()
    parts = 1 + size // _PART_BYTES
    for part in range(parts):
        is_part = pl.struct("run_id", "question_id").hash(1) % parts == part
        collected = []
        for lines in map(_scored, _lines(source, names)):
            if part == 0:
                yield from _bad_lines(lines.filter(pl.col("problem").is_not_null()), run_ids)
            # As Arrow: a selection of Polars' own texts would keep those of all lines.
            good = lines.filter(pl.col("problem").is_null() & is_part).drop("problem")
            collected.append(good.to_arrow(compat_level=pl.CompatLevel.oldest()))
        if not collected:
            return
        good = pl.DataFrame(pa.concat_tables(collected)).with_columns(pl.lit(None, pl.String).alias("problem"))
        collected.clear()
        lines = _with_doubles(good, ("run_id", "question_id", "id"))
        ordered = lines.filter(pl.col("problem").is_null()).sort("score", "id", descending=True)
        yield from _bad_lines(lines.filter(pl.col("problem").is_not_null()), run_ids)
        rows = ordered.group_by("run_id", "question_id").agg(pl.col("line").min(), pl.col("id").alias("retrieved_ids"))
        yield from _blocks(rows)


def _scored(lines: pl.DataFrame) -> pl.DataFrame:
    """The lines of a run with their scores as numbers."""
    lines = lines.with_columns(pl.col("score").cast(pl.Float32, strict=False))
    return _with_problem(
        lines, pl.col("score").is_null() | ~pl.col("score").is_finite(), pl.lit("its score is no number")
    )


def read_qrels(source: Source) -> Iterator[ColumnBlock]:
    """A question for each query with the graded ids that were judged for it, in the order of the file."""
    collected = []
    for part in _lines(source, ("question_id", "", "id", "grade")):
        numbers = part.with_columns(pl.col("grade").cast(pl.Int64, strict=False))
        lines = _with_problem(numbers, pl.col("grade").is_null(), pl.lit("its grade is no whole number"))
        _check_qrels(source, lines)
        collected.append(lines.drop("text"))
    if not collected:
        return
    graded = _with_doubles(pl.concat(collected), ("question_id", "id"))
    _check_qrels(source, graded)
    rows = graded.group_by("question_id", maintain_order=True).agg(
        pl.col("line").min(), pl.struct("id", "grade").alias("gold")
    )
    yield from _blocks(rows)


def _check_qrels(source: Source, lines: pl.DataFrame) -> None:
    """InputError for the first line with a problem."""
    for line, problem in lines.filter(pl.col("problem").is_not_null()).select("line", "problem").head(1).iter_rows():
        raise InputError(f"{source.name}, line {line}: {problem}. Qrels are query 0 id grade.")


def _lines(source: Source, names: tuple[str, ...]) -> Iterator[pl.DataFrame]:
    """The words of each line by their names, with its number, text and `problem`, null where it has none.

    Blank lines are none. A line without an end within `max_row_bytes` is an error.
    """
    line, longest = 1, source.reading.max_row_bytes
    with source.open() as stream:
        rest, is_first = b"", True
        while piece := stream.read(blocks.BLOCK_BYTES):
            whole, newline, behind = (rest + piece).rpartition(b"\n")
            rest = behind
            if len(rest) > longest:
                raise InputError(f"{source.name}, line {line + whole.count(10)} has more than {longest:,} bytes.")
            if newline:
                texts = whole.decode("utf-8-sig" if is_first else "utf-8").split("\n")
                yield _words(texts, line, names)
                line, is_first = line + len(texts), False
        if rest:
            yield _words([rest.decode("utf-8-sig" if is_first else "utf-8")], line, names)


def _words(texts: list[str], line: int, names: tuple[str, ...]) -> pl.DataFrame:
    """Lines as of `_lines`; `line` is the number of the first."""
    words = (
        pl.DataFrame({"text": texts}, schema={"text": pl.String})
        .with_row_index("line", line)
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


def _bad_lines(lines: pl.DataFrame, run_ids: list[str]) -> Iterator[ColumnBlock]:
    """Lines with a problem as rows that cannot be read; they are of the file's run, as a file has one as a rule."""
    for part in lines.iter_slices(blocks.BLOCK_ROWS):
        yield ColumnBlock(
            lines=part["line"].to_numpy(),
            columns={"run_id": pa.array(run_ids * len(part), LARGE_STRING)} if run_ids else {},
            row_errors=[RowError(row, "malformed_trec", problem) for row, problem in enumerate(part["problem"])],
            raw_rows=part["text"].str.strip_chars_end("\r").to_list(),
        )


def _blocks(rows: pl.DataFrame) -> Iterator[ColumnBlock]:
    ordered = rows.sort("line")
    lines: Offsets = ordered["line"].to_numpy()
    table = ordered.drop("line").to_arrow().combine_chunks()
    yield from column_blocks(table.to_batches(), lines)
