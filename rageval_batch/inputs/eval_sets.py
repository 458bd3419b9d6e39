"""Questions and contexts from files. A bad question is an error: dropping it would shrink every denominator."""

from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rageval_batch.columnar.strings import LARGE_STRING
from rageval_batch.errors import InputError
from rageval_batch.inputs import readers
from rageval_batch.inputs.questions import QuestionFile, question_id, read_question_file
from rageval_batch.inputs.readers import NUMERIC, TEXT, Block
from rageval_batch.inputs.sources import Source, content_hash
from rageval_batch.model.schemas import CHUNK_TEXT, QUESTION_ID, RUN_ID, SOURCE_PATH, EvalSet, first_of


@dataclass(frozen=True)
class Identity:
    """Which eval set it is: its name with a short hash, and the full one."""

    name: str
    version: str
    sha256: str


def identity(files: list[Source]) -> Identity:
    """`name@sha1[:12]` and the SHA-256 of the question files; without any the eval set is called none."""
    if not files:
        return Identity("none", "none", hashlib.sha256(b"").hexdigest())
    hashes = content_hash(files)
    name = "+".join(sorted({file.stem for file in files}))
    return Identity(name, f"{name}@{hashes.sha1[:12]}", hashes.sha256)


# --- questions ------------------------------------------------------------------------------------------------------


def read_questions(files: list[Source]) -> EvalSet:
    """All questions of the files, whatever profile they are for; InputError naming the first that is bad or doubled."""
    return eval_set_of([read_question_file(file) for file in files])


def eval_set_of(files: list[QuestionFile]) -> EvalSet:
    """The questions of files that were read; InputError naming the first that is bad or doubled."""
    seen: dict[str, str] = {}
    objects: list[dict[str, Any]] = []
    headers: list[dict[str, Any]] = []
    weights: list[float] = []
    for file in files:
        for bad in file.unreadable:
            line = "" if bad.line is None else f", line {bad.line}"
            raise InputError(f"{file.source.name}{line}: not a question: {bad.found}. Allowed is {bad.allowed}.")
        for index, question in enumerate(file.questions):
            where = file.where(index)
            name = question_id(question)
            if name is None:
                known = ", ".join(QUESTION_ID)
                raise InputError(f"{where}: this question has no id. Every question needs {known}, a text or number.")
            if name in seen:
                raise InputError(
                    f"{where}: question '{name}' is there twice, first at {seen[name]}. Ids must be unique."
                )
            weights.append(_weight(where, question))
            seen[name] = where
            objects.append(question)
            headers.append(file.header)
    if not objects:
        raise InputError(f"{', '.join(file.source.name for file in files)}: no question in it.")
    return EvalSet(
        tuple(seen),
        tuple(objects),
        tuple(_text_or_none(question.get("dataset")) for question in objects),
        tuple(weights),
        headers=tuple(headers) if any(headers) else (),
    )


def _weight(where: str, question: dict[str, Any]) -> float:
    weight = question.get("weight")
    if weight is None:
        return 1.0
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight <= sys.float_info.max:
        name = first_of(question, QUESTION_ID)
        raise InputError(f"{where}: question '{name}' has weight {weight!r}. A weight is a finite number from 0.")
    return float(weight)


def _text_or_none(value: Any) -> str | None:
    return None if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


# --- lists and texts of records -------------------------------------------------------------------------------------


def read_rows(files: list[Source], names: tuple[str, ...], kind: str) -> pa.Table:
    """The named columns of all rows of files, as text; InputError naming the first row that lacks one."""
    schema = pa.schema([*((name, LARGE_STRING) for name in names), ("where", LARGE_STRING)])
    parts = []
    for file in files:
        for block in readers.read_blocks(file):
            for row_error in block.row_errors:
                line = block.lines[row_error.row]
                raise InputError(f"{file.name}, line {line}: no {kind}: {row_error.reason}, {row_error.detail}.")
            columns = [block.field(_ALIASES.get(name, (name,))) for name in names]
            for name, column in zip(names, columns, strict=True):
                if (lacking := ~((column.kind == TEXT) | (column.kind == NUMERIC))).any():
                    line = block.lines[int(lacking.argmax())]
                    raise InputError(
                        f"{file.name}, line {line}: this {kind} has no {name}. All need {_joined_by_and(names)}."
                    )
            lines = pa.array(block.lines).cast(LARGE_STRING)
            where = pc.binary_join_element_wise(
                pa.scalar(file.name, LARGE_STRING), lines, pa.scalar(", line ", LARGE_STRING)
            )
            parts.append(pa.Table.from_arrays([*(column.text for column in columns), where], schema=schema))
    return pa.concat_tables(parts) if parts else schema.empty_table()


_ALIASES = {QUESTION_ID[0]: QUESTION_ID, CHUNK_TEXT[0]: CHUNK_TEXT}


def _joined_by_and(names: tuple[str, ...]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"


def read_texts(files: list[Source], names: tuple[str, str]) -> dict[str, str]:
    """Text by key; InputError where one key has two texts."""
    out: dict[str, str] = {}
    for key, text, where in zip(*read_rows(files, names, "text").to_pydict().values(), strict=True):
        if out.setdefault(key, text) != text:
            raise InputError(f"{where}: {names[0]} '{key}' has another text already. Give each one text.")
    return out


# --- contexts -------------------------------------------------------------------------------------------------------


def with_contexts(eval_set: EvalSet, files: list[Source], folder: Path) -> tuple[EvalSet, RunContexts | None]:
    """The eval set with the chunks of its questions, and those of single runs, which lie in a file of the folder."""
    question_ids = pl.Series(eval_set.ids).implode()
    general: list[pl.DataFrame] = []
    spilled = _Spill(folder / "contexts.parquet")
    for file in files:
        for block in readers.read_blocks(file):
            rows = _fragments(file, block).filter(pl.col("question_id").is_in(question_ids))
            general.append(rows.filter(pl.col("run_id").is_null()))
            spilled.write(rows.filter(pl.col("run_id").is_not_null()))
    chunks = dict(_as_arrays(pl.concat(general), ["question_id"]).iter_rows()) if general else {}
    return replace(eval_set, chunks=chunks), spilled.close()


def _as_arrays(fragments: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """One JSON array for each key, its fragments in their order."""
    told = pl.col("fragment").filter(pl.col("fragment") != "")
    joined = pl.concat_str(pl.lit("["), told.str.join(","), pl.lit("]")).alias("chunks")
    return fragments.group_by(keys, maintain_order=True).agg(joined)


def _fragments(file: Source, block: Block) -> pl.DataFrame:
    """(run_id or null, question_id, members of a JSON array of chunks) of every row of a block."""
    for row_error in block.row_errors:
        line = block.lines[row_error.row]
        raise InputError(
            f"{file.name}, line {line}: not a context: {row_error.reason}, {row_error.detail}. Mend the line."
        )
    question = block.field(QUESTION_ID)
    missing = question.text.is_null().to_numpy(zero_copy_only=False)
    if missing.any():
        line = block.lines[int(missing.argmax())]
        raise InputError(f"{file.name}, line {line}: a context without {' or '.join(QUESTION_ID)}.")
    run = block.field(RUN_ID).text
    lists = readers.read_chunks(block)
    path, text = block.field(SOURCE_PATH), block.field(CHUNK_TEXT)
    listed, single = lists.is_valid().to_numpy(zero_copy_only=False), text.kind == TEXT
    if not (listed | single).all():
        line = block.lines[int((~(listed | single)).argmax())]
        raise InputError(f"{file.name}, line {line}: a context needs `chunks`, a list, or `source_path` and `text`.")
    frame = pl.DataFrame(
        {
            "run_id": pl.from_arrow(pc.if_else(pc.equal(run, ""), pa.scalar(None, LARGE_STRING), run)),  # a blank cell
            "question_id": pl.from_arrow(question.text),
            "listed": pl.Series(listed),
            "chunks": pl.from_arrow(lists),
            "source_path": pl.from_arrow(
                pc.if_else(pa.array(path.kind == TEXT), path.text, pa.scalar(None, LARGE_STRING))
            ),
            "text": pl.from_arrow(text.text),
        }
    )
    own = pl.struct("source_path", "text").struct.json_encode()
    inner = pl.col("chunks").str.strip_chars().str.strip_prefix("[").str.strip_suffix("]").str.strip_chars()
    return frame.select("run_id", "question_id", pl.when("listed").then(inner).otherwise(own).alias("fragment"))


class _Spill:
    """Fragments of runs' own contexts, on disk because there may be as many as answers."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writer: pq.ParquetWriter | None = None

    def write(self, rows: pl.DataFrame) -> None:
        if rows.is_empty():
            return
        table = rows.to_arrow()
        if self._writer is None:
            self._writer = pq.ParquetWriter(self._path, table.schema, compression="zstd")
        self._writer.write_table(table)

    def close(self) -> RunContexts | None:
        if self._writer is None:
            return None
        self._writer.close()
        return RunContexts(self._path)


@dataclass(frozen=True)
class RunContexts:
    """Chunks of (run, question), looked up a batch at a time."""

    path: Path

    def joined_to(self, batch: pa.RecordBatch, ids: pa.Array) -> pa.RecordBatch:
        """The batch in which rows without chunks of their own have those given for their run and question."""
        chunks = self.chunks_for(batch.column("run_id"), ids.take(batch.column("question")))
        merged = pc.coalesce(batch.column("chunks"), chunks)
        return batch.set_column(batch.schema.get_field_index("chunks"), "chunks", merged)

    def chunks_for(self, run: pa.Array, question_id: pa.Array) -> pa.Array:
        """The JSON array of each row's own chunks, null where the run has none for the question."""
        keys = pl.DataFrame({"run_id": pl.from_arrow(run), "question_id": pl.from_arrow(question_id)})
        names = keys["run_id"].unique()
        stored = pl.scan_parquet(self.path, hive_partitioning=False)
        rows = stored.filter(pl.col("run_id").is_in(names.implode())).collect()
        found = _as_arrays(
            rows.join(keys, on=["run_id", "question_id"], how="semi", maintain_order="left"), keys.columns
        )
        joined = keys.join(found, on=keys.columns, how="left", maintain_order="left")["chunks"]
        return joined.to_arrow().cast(LARGE_STRING)
