"""The inputs of a commit, found again: the copy that the store keeps, or the files by path if they are unchanged."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rageval_batch.dataclass import dataclass
from rageval_batch.errors import InputError
from rageval_batch.inputs import readers
from rageval_batch.inputs.file_hashes import Stamps, stamps
from rageval_batch.inputs.kinds import input_kind
from rageval_batch.inputs.outputs import RowReader
from rageval_batch.inputs.protocols import InputCopyFormat, LoadedInputs
from rageval_batch.inputs.reading import Reading
from rageval_batch.inputs.run_metadata import RunMetadata
from rageval_batch.inputs.sources import (
    Source,
    frame_source,
    json_members,
    members_source,
    recorded,
    shown_name,
    source,
)
from rageval_batch.locations import is_url
from rageval_batch.model import Explanation, Profile
from rageval_batch.model.schemas import PROVENANCE, REJECTED_ROWS, RUN_WARNINGS
from rageval_batch.runs.damage import reading
from rageval_batch.runs.database import connected
from rageval_batch.runs.job import Job
from rageval_batch.runs.store import Commit
from rageval_batch.runs.written_items import with_written_items
from rageval_batch.sql_text import identifier, parquet_reader, quoted

_HASHES: dict[tuple[str, int, Stamps], str] = {}  # of files by path, size and time stamps
_MOST_HASHES = 10_000

_FEW_LINES = 0.5  # share of the lines of a file up to which those alone are looked for

MEMORY = "1GB"  # kept answers are long, and are sorted whole where their order is known


def _named_file(reference: dict[str, Any]) -> Source:
    """The file of a reference under the name it was given by, from which its format and run come."""
    at = None if is_url(reference["path"]) else Path(reference["path"])
    return replace(source(reference["name"], at), reading=_reading(reference))


def _reading(reference: dict[str, Any]) -> Reading:
    """How the file of a reference was read."""
    return Reading.from_dict(reference.get("reading", {}))


def _unchanged(reference: dict[str, Any], opened: Callable[[dict[str, Any]], Source] = _named_file) -> Source:
    """The file of a reference; InputError if it is gone or says something else now."""
    name = reference["name"]
    if reference["path"] is None:
        raise InputError(f"{name} was given in memory and is not kept. Score with keep_inputs to keep it.")
    if not is_url(reference["path"]) and not Path(reference["path"]).exists():
        raise InputError(f"{name} is gone. Put it back; --keep-inputs keeps a copy of what is scored.")
    file = _with_hash(opened(reference), reference)
    if file.sha256 != reference["sha256"]:
        raise InputError(f"{name} has changed since it was scored. Put the old file back, or score the new one.")
    return replace(file, name=name)


def _with_hash(file: Source, reference: dict[str, Any]) -> Source:
    """The file with its size and hash.

    One on this machine is not read again for as long as it has the time stamps that the commit noted, or that it had
    when it was last read here: to hash a gigabyte takes longer than to find a line in it.
    """
    if file.url or file.members or file.table is not None:
        return file.with_hash()
    try:
        found = os.stat(file.path)
    except OSError:
        return file.with_hash()  # which says what is wrong
    now = stamps(found)
    is_as_noted = found.st_size == reference["size"] and reference.get("stamps") == [*now]
    known = reference["sha256"] if is_as_noted else _HASHES.get((str(file.path), found.st_size, now))
    if known is not None:
        return replace(file, size=found.st_size, sha256=known)
    hashed = file.with_hash()
    if hashed.stamps is not None and len(_HASHES) < _MOST_HASHES:
        _HASHES[str(file.path), hashed.size, hashed.stamps] = hashed.sha256
    return hashed


def _outputs(commit: Commit, number: int) -> Source:
    """An output file of a commit, or the folder whose files are its rows, as they were."""
    reference = commit.manifest["inputs"][number]
    if not reference.get("folder"):
        return _unchanged(reference)
    rows = commit.rows("scores")
    query = f"select distinct file from ({rows}) where input = $number and file is not null"
    with connected() as connection:
        wanted = {name for (name,) in connection.execute(query, {"number": number}).fetchall()}

    def members(folder: dict[str, Any]) -> Source:
        path = folder["path"]
        found = [member for member in json_members(path) if shown_name(member) in wanted]
        if len(found) < len(wanted):
            raise InputError(f"{reference['name']} has lost {len(wanted) - len(found)} of its files. Put them back.")
        return replace(members_source(path, found), reading=_reading(folder))

    return _unchanged(reference, members)


def _files(commit: Commit, role: str, references: list[dict[str, Any]]) -> list[Source]:
    copies = commit.files(role)
    if not copies:
        return [_unchanged(reference) for reference in references]
    found = []
    with reading([commit]):
        for one, at in zip(references, copies, strict=True):
            file = _copy(one["name"], at)
            if file.table is None and _with_hash(file, one).sha256 != one["sha256"]:  # text of any content can be read
                raise InputError(f"The copy of {one['name']} in commit {commit.id} is not what was scored.")
            found.append(replace(file, reading=_reading(one)))
    return found


def _copy(name: str, at: Path) -> Source:
    """A kept file under the name it had; a frame was kept as Parquet."""
    frame = at.name.endswith(f"-{name}.parquet")
    return frame_source(pq.read_table(at, partitioning=None), name) if frame else source(name, at)


def question_files(commit: Commit) -> list[Source]:
    """The question files of a commit."""
    return _files(commit, "kept_questions", commit.manifest["questions"]["files"])


def context_files(commit: Commit) -> list[Source]:
    """The context files of a commit."""
    return _files(commit, "kept_contexts", commit.manifest["contexts"]["files"])


def output_files(commit: Commit, profile: Profile, folder: Path) -> list[Source]:
    """The output files of a commit; kept answers are written out again, into the folder."""
    copies = commit.files("kept_outputs")
    if not copies:
        return [_outputs(commit, number) for number in range(len(commit.manifest["inputs"]))]
    target = folder / "kept.parquet"
    with connected(folder, MEMORY) as connection:
        rows = _copied_rows_query(copies, input_kind(profile).copy_format)
        connection.execute(f"copy ({rows}) to {quoted(target)} (format parquet)")
    return [source(target)]


def _copied_rows_query(copies: list[Path], format: InputCopyFormat, where: str = "true") -> str:
    """The query of kept answers as rows again, in the order in which they were read where that is known."""
    fields = [field.name for field in pq.read_schema(copies[0]).field("given_by").type.value_type]
    names = [*format.answer, *(f"g.{identifier(name)}" for name in fields if name not in format.places)]
    order = ", ".join(f"g.{identifier(name)}" for name in format.places)
    rows = f"(select unnest(given_by) as g, * exclude (given_by) from {parquet_reader(copies)})"
    return f"select {', '.join(names)} from {rows} where {where}" + (f" order by {order}" if order else "")


def job_of(commit: Commit, profile: Profile, params: dict[str, Any], *, runs: frozenset[str], folder: Path) -> Job:
    """The job that scores runs of a commit again with other parameters."""
    return Job(
        profile=profile,
        params=params,
        outputs=output_files(commit, profile, folder),
        questions=question_files(commit),
        contexts=context_files(commit),
        document=_document(commit),
        metadata=RunMetadata(run_meta=_run_metadata(commit)),
        keep_inputs=bool(commit.files("kept_outputs")),
        runs=runs,
        stored_extras=_kept_extras(commit, profile),
    )


def _kept_extras(commit: Commit, profile: Profile) -> str | None:
    """The query of other columns of kept answers, with the places that the answers have when they are read again."""
    copies = commit.files("kept_outputs")
    if not copies or not commit.files("extras"):
        return None
    rows, format = commit.rows("extras"), input_kind(profile).copy_format
    if not format.places:
        return rows
    places = f"select *, row_number() over () as again from ({_copied_places_query(copies, format)})"
    return (
        f"select x.* replace (0::integer as input, p.again as line) from ({rows}) x "
        f"join ({places}) p on p.input = x.input and p.line = x.line"
    )


def _document(commit: Commit) -> Source | None:
    """The document of a commit, known by its hash alone: no rescoring reads it, so it need not be there any more."""
    reference = commit.manifest["source"]
    if reference is None:
        return None
    return recorded(reference["name"], Path(reference["path"]), reference["size"], sha256=reference["sha256"])


def _run_metadata(commit: Commit) -> dict[str, dict[str, str]]:
    """What the runs of a commit are known to be: their new results say the same of themselves.

    What scoring found is found anew, but for the rows that were rejected: a kept copy does not have them.
    """
    out = {}
    anew = {RUN_WARNINGS} if commit.files("kept_outputs") else {RUN_WARNINGS, REJECTED_ROWS}
    with connected() as connection:
        rows = connection.sql(commit.rows("runs")).to_arrow_table().to_pylist()
    for row in rows:
        named = {name: row[name] for name in PROVENANCE if row[name] is not None}
        meta = {name: value for name, value in row["meta"] if name not in anew}
        out[row["run_id"]] = {**meta, **named}
    return out


def _load(commit: Commit, profile: Profile, folder: Path) -> tuple[LoadedInputs, Any]:
    """(questions and contexts of a commit, what the profile's scorer makes of them)"""
    params = profile.read_params(commit.manifest["params"])
    inputs = input_kind(profile).load(question_files(commit), context_files(commit), params, folder=folder)
    return inputs, profile.scoring.prepare(inputs.eval_set, params)


# --- claims of whole runs -------------------------------------------------------------------------------------------


def failing_claims(
    commit: Commit, profile: Profile, runs: frozenset[str], *, folder: Path
) -> dict[str, list[dict[str, Any]]]:
    """For each of the runs, the claims of its answers that do not hold, in the order of the questions."""
    if profile.scoring.failing_claims is None:
        return {}
    found: dict[str, list[tuple[int, int, dict[str, Any]]]] = {}
    with reading([commit]):
        inputs, prepared = _load(commit, profile, folder)
        places = {name: k for k, name in enumerate(inputs.eval_set.ids)}
        for block in inputs.ingest(output_files(commit, profile, folder), runs).blocks():
            batch = inputs.with_contexts(block.batch)
            keys = inputs.copy_rows(batch).select(["run_id", "question_id", "repeat"]).to_pylist()
            for claim in profile.scoring.failing_claims(prepared, batch):
                key = keys[claim["row"]]
                line = {"task_id": key["question_id"], **{name: claim[name] for name in ("claim_id", "text", "reason")}}
                found.setdefault(key["run_id"], []).append((places.get(key["question_id"], 0), key["repeat"], line))
    return {run: [line for *_, line in sorted(lines, key=lambda item: item[:2])] for run, lines in found.items()}


# --- answers of whole runs ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WantedAnswers:
    """Answers of these runs of a commit, to these questions; null: to all."""

    runs: frozenset[str]
    questions: frozenset[str] | None = None

    def places(self, commit: Commit) -> tuple[str, dict[str, Any]]:
        """(the query of their keys and places by the score rows of the commit, its values)"""
        query = (
            f"select run_id, question_id, repeat, input, line from ({commit.rows('scores')})\n"
            "where input is not null and run_id in (select unnest($runs))"
        )
        values: dict[str, Any] = {"runs": sorted(self.runs)}
        if self.questions is not None:
            query += " and question_id in (select unnest($questions))"
            values["questions"] = sorted(self.questions)
        return query, values


@dataclass(frozen=True)
class LostInput:
    """An output file of a commit that cannot be read as it was scored: the runs with answers in it, and why."""

    runs: tuple[str, ...]
    why: str


def answers(
    commit: Commit, profile: Profile, wanted: WantedAnswers, *, folder: Path, lost: list[LostInput]
) -> Iterator[pa.RecordBatch]:
    """Answers of a commit with their keys and places, block by block.

    Those of an output file that cannot be read are null, and the file is added to `lost`: the other files of the
    commit are read all the same. InputError if nothing of the commit can be had.
    `input` and `line` are null where a kept copy does not have them: there the keys are unique.
    """
    kind = input_kind(profile)
    with reading([commit]), connected(folder, MEMORY) as connection:
        if copies := commit.files("kept_outputs"):
            yield from _copied_answers(connection, commit, copies, format=kind.copy_format, wanted=wanted)
            return
        query, values = wanted.places(commit)
        inputs = connection.execute(f"select input, count(*) from ({query}) group by input order by input", values)
        for number, count in inputs.fetchall():
            mine = f"from ({query}) where input = {int(number)}"
            last = 0  # line whose answer was read
            try:
                file = _outputs(commit, number)
                lines = connection.sql(f"select line {mine} order by line", params=values).to_arrow_table().column(0)
                few = count < _FEW_LINES * lines[-1].as_py()
                with connection.sql(f"{mine} order by line", params=values).to_arrow_reader() as places:
                    blocks = readers.read_blocks(file, lines.to_numpy() if few else None)
                    for batch in _read_places(blocks, places, kind.row_reader(())):
                        yield batch
                        last = batch.column("line")[-1].as_py()
            except InputError as error:
                runs = connection.execute(f"select distinct run_id {mine} order by run_id", values).fetchall()
                lost.append(LostInput(tuple(run for (run,) in runs), str(error)))
                yield from connection.sql(
                    f"select *, null::varchar as output {mine} and line > {int(last)}", params=values
                ).to_arrow_reader()


def _copied_answers(
    connection: duckdb.DuckDBPyConnection,
    commit: Commit,
    copies: list[Path],
    *,
    format: InputCopyFormat,
    wanted: WantedAnswers,
) -> Iterator[pa.RecordBatch]:
    """Answers from the copy of a commit, in any order."""
    query, values = wanted.places(commit)
    equal = " and ".join(
        f"k.{'' if name in format.answer else 'g.'}{identifier(name)} = p.{identifier(name)}" for name in format.key
    )
    places = "p.input, p.line" if format.places else "null::integer as input, null::bigint as line"
    yield from connection.sql(
        f"select p.run_id, p.question_id, p.repeat, {places}, k.output\n"
        f"from (select unnest(given_by) as g, * exclude (given_by) from {parquet_reader(copies)}) k\n"
        f"join ({query}) p on {equal}",
        params=values,
    ).to_arrow_reader()


def _read_places(
    blocks: Iterator[readers.Block], places: pa.RecordBatchReader, reader: RowReader
) -> Iterator[pa.RecordBatch]:
    """The rows of places, in the order of their lines, with the outputs that blocks of one file have there."""
    held = pa.table({name: [] for name in places.schema.names}, places.schema)
    for block in blocks:
        last = block.lines[-1]
        while not held.num_rows or held.column("line")[-1].as_py() < last:
            more = next(places, None)
            if more is None:
                break
            held = pa.concat_tables([held, pa.Table.from_batches([more])])
        lines = held.column("line").to_numpy()
        at = np.searchsorted(lines, block.lines)
        rows = np.flatnonzero(lines[np.minimum(at, len(lines) - 1)] == block.lines) if len(lines) else at[:0]
        if len(rows):
            found = held.take(at[rows]).append_column("output", reader.output(block).text.take(rows))
            yield from found.combine_chunks().to_batches()
        held = held.slice(int(np.searchsorted(lines, last, "right")))


def _copied_places_query(copies: list[Path], format: InputCopyFormat) -> str:
    names = ", ".join(f"g.{identifier(name)}" for name in format.places)
    return f"select {names} from (select unnest(given_by) as g from {parquet_reader(copies)}) order by {names}"


# --- single answers -------------------------------------------------------------------------------------------------


def explain(commit: Commit, profile: Profile, row: dict[str, Any], *, folder: Path) -> tuple[str | None, Explanation]:
    """(the answer, why it has its score) of a score row of a commit; InputError if an input cannot be had."""
    if row["input"] is None:
        raise InputError(f"Run '{row['run_id']}' has no answer to question '{row['question_id']}': it is missing.")
    with reading([commit]):
        inputs, prepared = _load(commit, profile, folder)
        batch = inputs.with_contexts(_stored_rows(commit, profile, inputs.eval_set.ids, rows=[row])[0])
    output = batch.column("output")[0].as_py()
    question = (
        inputs.eval_set.objects[batch.column("question")[0].as_py()] if "question" in batch.schema.names else None
    )
    return output, with_written_items(profile.scoring.explain(prepared, batch), question, output)


def unit_outputs(
    commit: Commit, profile: Profile, rows: list[dict[str, Any]]
) -> tuple[dict[str, str | None], dict[int, str]]:
    """(the outputs of score rows of a commit by their `unit`, why an input cannot be read by its number); rows without
    an input, and those whose input cannot be read, have no output."""
    answered = [row for row in rows if row["input"] is not None]
    outputs: dict[str, str | None] = {}
    lost: dict[int, str] = {}
    by_input: dict[int | None, list[dict[str, Any]]] = {}  # a kept copy has the answers of all
    for row in answered:
        by_input.setdefault(None if commit.files("kept_outputs") else row["input"], []).append(row)
    with reading([commit]):
        for number, members in by_input.items():
            try:
                batches = _stored_rows(commit, profile, [row["question_id"] for row in members], rows=members)
            except InputError as error:
                lost |= {row["input"]: str(error) for row in members} if number is None else {number: str(error)}
                continue
            found = (batch.column("output")[0].as_py() for batch in batches)
            outputs |= {row["unit"]: output for row, output in zip(members, found, strict=True)}
    return outputs, lost


def _stored_rows(
    commit: Commit, profile: Profile, ids: Sequence[str], *, rows: list[dict[str, Any]]
) -> list[pa.RecordBatch]:
    """The outputs of score rows as they were read, a batch of one row each; `ids` are the questions."""
    kind = input_kind(profile)
    reader = kind.row_reader(ids)
    if copies := commit.files("kept_outputs"):
        with connected(memory=MEMORY) as connection:  # one for all: to open one takes longer than to read a row
            return [_copied_row(connection, copies, kind.copy_format, reader=reader, row=row) for row in rows]
    found: dict[tuple[int, int], pa.RecordBatch] = {}
    for number in sorted({row["input"] for row in rows}):
        file = _outputs(commit, number)
        lines = {row["line"] for row in rows if row["input"] == number}
        for block in readers.read_blocks(file, np.array(sorted(lines))):
            if places := np.flatnonzero(np.isin(block.lines, list(lines))).tolist():
                batch = _batch(reader, file, number, block=block)
                found |= {(number, int(block.lines[at])): batch.slice(at, 1) for at in places}
                lines -= {int(block.lines[at]) for at in places}
            if not lines:
                break
        if lines:
            raise InputError(f"{file.name} has no line {min(lines)} any more.")
    return [found[row["input"], row["line"]] for row in rows]


def _batch(reader: RowReader, file: Source, number: int, *, block: readers.Block) -> pa.RecordBatch:
    return reader.rows(file, number, block, has_run=False, output=reader.output(block)).batch


def _copied_row(
    connection: duckdb.DuckDBPyConnection,
    paths: list[Path],
    format: InputCopyFormat,
    *,
    reader: RowReader,
    row: dict[str, Any],
) -> pa.RecordBatch:
    key = {**row, "run_id": row["stored_id"]}
    equal = " and ".join(f"{'' if name in format.answer else 'g.'}{identifier(name)} = ${name}" for name in format.key)
    found = connection.sql(_copied_rows_query(paths, format, equal), params={name: key[name] for name in format.key})
    kept = frame_source(found.to_arrow_table(), "kept outputs")
    for block in readers.read_blocks(kept):
        return _batch(reader, kept, 0, block=block).slice(0, 1)
    raise InputError(f"The kept inputs have no answer of '{row['stored_id']}' to '{row['question_id']}'.")
