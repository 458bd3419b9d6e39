"""The inputs of a commit, found again: the copy that the store keeps, or the files by path if they are unchanged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rageval_batch.columnar.strings import LARGE_STRING
from rageval_batch.errors import InputError
from rageval_batch.inputs import check, eval_sets, readers
from rageval_batch.inputs.outputs import Ingest, RecordIngest, records_schema
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
from rageval_batch.model.profile import Explanation, Profile
from rageval_batch.model.schemas import BATCH, PROVENANCE, EvalSet
from rageval_batch.runs.store import Commit
from rageval_batch.runs.sweep import Job
from rageval_batch.sql_text import parquet_reader, quoted


def _named_file(reference: dict[str, Any]) -> Source:
    """The file of a reference under the name it was given by, from which its format and run come."""
    return source(reference["name"], Path(reference["path"]))


def _unchanged(reference: dict[str, Any], opened: Callable[[dict[str, Any]], Source] = _named_file) -> Source:
    """The file of a reference; InputError if it is gone or says something else now."""
    name = reference["name"]
    if reference["path"] is None:
        raise InputError(f"{name} was given in memory and is not kept. Score with keep_inputs to keep it.")
    if not Path(reference["path"]).exists():
        raise InputError(f"{name} is gone. Put it back; --keep-inputs keeps a copy of what is scored.")
    file = opened(reference).with_hash()
    if file.sha256 != reference["sha256"]:
        raise InputError(f"{name} has changed since it was scored. Put the old file back, or score the new one.")
    return replace(file, name=name)


def _outputs(commit: Commit, number: int) -> Source:
    """An output file of a commit, or the folder whose files are its rows, as they were."""
    reference = commit.manifest["inputs"][number]
    if not reference.get("folder"):
        return _unchanged(reference)
    rows = parquet_reader(commit.files("scores"))
    query = f"select distinct file from {rows} where input = $number and file is not null"
    with duckdb.connect() as connection:
        wanted = {name for (name,) in connection.execute(query, {"number": number}).fetchall()}

    def members(folder: dict[str, Any]) -> Source:
        path = Path(folder["path"])
        found = [member for member in json_members(path) if shown_name(member) in wanted]
        if len(found) < len(wanted):
            raise InputError(f"{reference['name']} has lost {len(wanted) - len(found)} of its files. Put them back.")
        return members_source(path, found)

    return _unchanged(reference, members)


def _files(commit: Commit, role: str, references: list[dict[str, Any]]) -> list[Source]:
    kept = commit.files(role)
    if kept:
        return [_copy(reference["name"], at) for reference, at in zip(references, kept, strict=True)]
    return [_unchanged(reference) for reference in references]


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


def output_files(commit: Commit, folder: Path) -> list[Source]:
    """The output files of a commit; kept answers are written out again, into the folder."""
    kept = commit.files("kept_outputs")
    if not kept:
        return [_outputs(commit, number) for number in range(len(commit.manifest["inputs"]))]
    target = folder / "kept.parquet"
    with duckdb.connect() as connection:
        connection.execute(f"copy ({_returned(kept[0])}) to {quoted(target)} (format parquet)")
    return [source(target)]


def _returned(kept: Path) -> str:
    """Kept answers as rows again: records in the order in which they were read, without their places."""
    fields = [field.name for field in pq.read_schema(kept).field("given_by").type.value_type]
    rows = f"(select unnest(given_by) as g, * exclude (given_by) from {parquet_reader([kept])})"
    if "line" not in fields:
        return f"select g.*, * exclude (g) from {rows}"
    names = ", ".join(f'g."{name}"' for name in fields if name not in ("input", "line"))
    return f"select output, {names} from {rows} order by g.input, g.line"


def job_of(commit: Commit, profile: Profile, params: dict[str, Any], runs: frozenset[str], folder: Path) -> Job:
    """The job that scores runs of a commit again with other parameters."""
    return Job(
        profile,
        params,
        output_files(commit, folder),
        question_files(commit),
        context_files(commit),
        _document(commit),
        RunMetadata(run_meta=_run_metadata(commit)),
        bool(commit.files("kept_outputs")),
        runs,
    )


def _document(commit: Commit) -> Source | None:
    """The document of a commit, known by its hash alone: no rescoring reads it, so it need not be there any more."""
    reference = commit.manifest["source"]
    if reference is None:
        return None
    return recorded(reference["name"], Path(reference["path"]), reference["size"], reference["sha256"])


def _run_metadata(commit: Commit) -> dict[str, dict[str, str]]:
    """What the runs of a commit are known to be: their new results say the same of themselves."""
    out = {}
    for row in pq.read_table(commit.files("runs")[0], partitioning=None).to_pylist():
        named = {name: row[name] for name in PROVENANCE if row[name] is not None}
        out[row["run_id"]] = {**dict(row["meta"]), **named}
    return out


def _eval_set(commit: Commit, profile: Profile, folder: Path) -> tuple[EvalSet, eval_sets.RunContexts | None]:
    """The questions of a commit with their contexts, and those of single runs."""
    eval_set = eval_sets.eval_set_of(check.checked_questions(question_files(commit), profile))
    contexts = context_files(commit)
    return eval_sets.with_contexts(eval_set, contexts, folder) if contexts else (eval_set, None)


# --- claims of whole runs -------------------------------------------------------------------------------------------


def failing_claims(
    commit: Commit, profile: Profile, runs: frozenset[str], folder: Path
) -> dict[str, list[dict[str, Any]]]:
    """For each of the runs, the claims of its answers that do not hold, in the order of the questions."""
    if profile.failing is None:
        return {}
    eval_set, own = _eval_set(commit, profile, folder)
    prepared = profile.prepare(eval_set, profile.read_params(commit.manifest["params"]))
    ids = pa.array(eval_set.ids, LARGE_STRING)
    found: dict[str, list[tuple[int, int, dict[str, Any]]]] = {}
    for block in Ingest(output_files(commit, folder), eval_set, runs, profile.output_fields).blocks():
        batch = block.batch if own is None else own.joined_to(block.batch, ids)
        run_ids, questions, repeats = (batch.column(name).to_pylist() for name in ("run_id", "question", "repeat"))
        for claim in profile.failing(prepared, batch):
            row = claim["row"]
            shown = {name: claim[name] for name in ("claim_id", "text", "reason")}
            line = {"task_id": eval_set.ids[questions[row]], **shown}
            found.setdefault(run_ids[row], []).append((questions[row], repeats[row], line))
    return {run: [line for *_, line in sorted(lines, key=lambda item: item[:2])] for run, lines in found.items()}


# --- one answer -----------------------------------------------------------------------------------------------------


def explain(commit: Commit, profile: Profile, row: dict[str, Any], folder: Path) -> tuple[str | None, Explanation]:
    """(the answer, why it has its score) of a score row of a commit; InputError if an input cannot be had."""
    if profile.records is not None:
        return _explain_record(commit, profile, row)
    eval_set, own = _eval_set(commit, profile, folder)
    question = eval_set.ids.index(row["question_id"])
    output, chunks = _answer(commit, profile, row)
    if chunks is None and own is not None:
        chunks = own.chunks_for(pa.array([row["stored_id"]]), pa.array([row["question_id"]]))[0].as_py()
    values = [row["stored_id"], question, row["repeat"], 0, 0, output, chunks]
    batch = pa.RecordBatch.from_pylist([dict(zip(BATCH.names, values, strict=True))], schema=BATCH)
    prepared = profile.prepare(eval_set, profile.read_params(commit.manifest["params"]))
    return output, profile.explain(prepared, batch)


def _explain_record(commit: Commit, profile: Profile, row: dict[str, Any]) -> tuple[str | None, Explanation]:
    """The same for a row that says itself what it is about."""
    assert profile.records is not None
    if row["input"] is None:
        raise InputError(f"Run '{row['run_id']}' has no record of this: it is missing.")
    texts = eval_sets.read_texts(context_files(commit), profile.records.texts)
    batch = _record(commit, profile.records.keys, row)
    prepared = profile.prepare(EvalSet((), (), (), (), texts), profile.read_params(commit.manifest["params"]))
    return batch.column("output")[0].as_py(), profile.explain(prepared, batch)


def _record(commit: Commit, keys: tuple[str, ...], row: dict[str, Any]) -> pa.RecordBatch:
    """The one record of a score row, as it was read."""
    if kept := commit.files("kept_outputs"):
        query = (
            f"select output, g.* from (select output, unnest(given_by) as g from {parquet_reader(kept)}) "
            "where g.input = $input and g.line = $line"
        )
        with duckdb.connect() as connection:
            given = {"input": row["input"], "line": row["line"]}
            found = connection.sql(query, params=given).to_arrow_table()
        return found.select(records_schema(keys).names).cast(records_schema(keys)).to_batches()[0]
    file = _outputs(commit, row["input"])
    ingest = RecordIngest([file], keys)
    for block in readers.read_blocks(file, np.array([row["line"]])):
        if (at := np.flatnonzero(block.lines == row["line"])).size:
            return ingest.record_batch(file, row["input"], block).slice(int(at[0]), 1)
    raise InputError(f"{file.name} has no line {row['line']} any more.")


def _answer(commit: Commit, profile: Profile, row: dict[str, Any]) -> tuple[str | None, str | None]:
    """(output, its own chunks) of a score row."""
    if row["input"] is None:
        raise InputError(f"Run '{row['run_id']}' has no answer to question '{row['question_id']}'.")
    return answers(commit, profile, [row])[row["question_id"]]


def unit_outputs(commit: Commit, profile: Profile, rows: list[dict[str, Any]]) -> dict[str, str | None]:
    """The texts of score rows of a commit by their `unit`: a question, or what else the profile pairs runs by."""
    if profile.records is None:
        found = answers(commit, profile, rows)
        return {row["unit"]: found[row["question_id"]][0] for row in rows if row["question_id"] in found}
    keys = profile.records.keys
    there = [row for row in rows if row["input"] is not None]
    return {row["unit"]: _record(commit, keys, row).column("output")[0].as_py() for row in there}


def answers(commit: Commit, profile: Profile, rows: list[dict[str, Any]]) -> dict[str, tuple[str | None, str | None]]:
    """(output, its own chunks) by question of score rows of a commit; those without an input have none."""
    answered = [row for row in rows if row["input"] is not None]
    if kept := commit.files("kept_outputs"):
        return {row["question_id"]: _kept_answer(kept[0], row) for row in answered}
    found: dict[str, tuple[str | None, str | None]] = {}
    for number in sorted({row["input"] for row in answered}):
        file = _outputs(commit, number)
        wanted = {row["line"]: row["question_id"] for row in answered if row["input"] == number}
        for block in readers.read_blocks(file, np.array(sorted(wanted))):
            outputs, chunks = readers.read_output(block, profile.output_fields), readers.read_chunks(block)
            for at in np.flatnonzero(np.isin(block.lines, list(wanted))).tolist():
                found[wanted.pop(int(block.lines[at]))] = (outputs.text[at].as_py(), chunks[at].as_py())
            if not wanted:
                break
        if wanted:
            raise InputError(f"{file.name} has no line {min(wanted)} any more.")
    return found


def _kept_answer(path: Path, row: dict[str, Any]) -> tuple[str | None, str | None]:
    query = f"""
        select output, chunks from {parquet_reader([path])}
        where question_id = $question and list_contains(given_by, {{run_id: $run, repeat: $repeat::integer}})
    """
    given = {"question": row["question_id"], "run": row["stored_id"], "repeat": row["repeat"]}
    with duckdb.connect() as connection:
        found = connection.execute(query, given).fetchone()
    if found is None:
        raise InputError(f"The kept inputs have no answer of '{row['stored_id']}' to '{row['question_id']}'.")
    return found[0], found[1]
