"""Rescoring with unchanged parameters gives the same bits: every profile, kept or read again, from every format."""

from __future__ import annotations

import csv
import io
import json
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_batch.cli import main
from rageval_batch.columnar.nested import json_of
from rageval_batch.inputs.sources import frame_source, source, sources
from rageval_batch.profiles.registry import get_profile
from rageval_batch.resources import samples_folder
from rageval_batch.runs import stored_inputs
from rageval_batch.runs.job import Job
from rageval_batch.runs.store import Commit, Store
from rageval_batch.runs.sweep import run
from support.effort import examples
from support.inputs import jsonl, put
from support.strategies import VALUES, texts

Rows = list[dict[str, Any]]
SAMPLES = samples_folder()
PLACES = ("input", "line")  # of a row among the inputs, which a kept copy has in another order
COMPRESSED = (".gz", ".zst")
STREAMS = [f"{form}{packed}" for form in (".jsonl", ".json", ".csv") for packed in ("", *COMPRESSED)]
FORMATS = [*STREAMS, ".parquet", ".arrow"]
COMMON_FORMATS = (".jsonl", ".csv.gz", ".parquet")  # the others in `make soak`


def read_lines(path: Path) -> Rows:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


# --- files of every format ------------------------------------------------------------------------------------------


def as_json(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def csv_text(rows: Rows, names: list[str]) -> bytes:
    """CSV whose cells hold texts as they are and everything else as JSON; null is an empty cell."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(names)
    writer.writerows(["" if row.get(name) is None else as_json(row[name]) for name in names] for row in rows)
    return out.getvalue().encode()


def typed_table(rows: Rows, names: list[str]) -> pa.Table:
    """Columns of nested types where all values have one, else of JSON texts."""
    columns = {}
    for name in names:
        values = [row.get(name) for row in rows]
        with suppress(pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
            columns[name] = pa.array(values)
        if name not in columns or "struct<>" in str(columns[name].type):  # Parquet has no struct without members
            columns[name] = pa.array([None if value is None else as_json(value) for value in values])
    return pa.table(columns)


def write_rows(folder: Path, stem: str, ending: str, rows: Rows) -> Path:
    path = folder / f"{stem}{ending}"
    names = list(dict.fromkeys(name for row in rows for name in row))
    if ending == ".parquet":
        pq.write_table(typed_table(rows, names), path, row_group_size=3)
        return path
    if ending == ".arrow":
        table = typed_table(rows, names)
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
        return path
    form, _, packed = ending[1:].partition(".")
    if form == "csv":
        content = csv_text(rows, names)
    else:
        content = jsonl(rows) if form == "jsonl" else json.dumps(rows).encode()
    with pa.output_stream(str(path), compression={"gz": "gzip", "zst": "zstd"}.get(packed)) as stream:
        stream.write(content)
    return path


# --- what is scored -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RunMetadata:
    """Inputs of a profile as rows."""

    profile: str
    outputs: Rows
    questions: list[Path]
    contexts: Rows = field(default_factory=list)
    params: dict[str, Any] = field(default_factory=dict)


def eval_json_v2() -> RunMetadata:
    """Answers with chunks of their own, of their run and of their question, repeats, metadata and nothing at all."""
    folder = SAMPLES / "eval_json_v2"
    contexts = read_lines(folder / "contexts.jsonl")
    chunks = {row["question_id"]: row["chunks"] for row in contexts}
    rows: Rows = []
    for name in ("good", "weak", "format"):
        for k, row in enumerate(read_lines(folder / "outputs" / f"adapter-{name}.jsonl")[:12]):
            own = {0: {"chunks": chunks[row["question_id"]]}, 1: {"chunks": []}}.get(k % 4, {})
            rows.append({**row, **own, "repeat": 0, "model_id": "m", "note": name, "changing": k})
    rows += [{**row, "repeat": 1} for row in rows[:7]]
    rows[-1]["output"] = None
    of_run = [{**contexts[k], "run_id": "adapter-weak"} for k in (2, 3)]
    general = [row for row in contexts if row["question_id"] not in (rows[0]["question_id"], rows[3]["question_id"])]
    return RunMetadata("eval_json_v2", rows, [folder / "questions.json"], [*general, *of_run])


def include_rate() -> RunMetadata:
    folder = SAMPLES / "include_rate"
    rows = [row for path in sorted((folder / "outputs").iterdir()) for row in read_lines(path)]
    return RunMetadata("include_rate", rows, [folder / "questions.jsonl"])


def claim_evidence() -> RunMetadata:
    folder = SAMPLES / "claim_evidence"
    rows = [row for path in sorted((folder / "outputs").iterdir()) for row in read_lines(path)]
    return RunMetadata("claim_evidence", rows, [folder / "gold.jsonl"])


def claim_evidence_columns() -> RunMetadata:
    """The same with the fields of an answer as columns."""
    whole = claim_evidence()
    rows = [{"run_id": row["run_id"], "task_id": row["task_id"], **row["output"]} for row in whole.outputs]
    return RunMetadata("claim_evidence", rows, whole.questions)


def legal_rag() -> RunMetadata:
    folder = SAMPLES / "legal_rag"
    rows = [row for path in sorted((folder / "outputs").iterdir()) for row in read_lines(path)]
    rows = [{**row, "chunks": ["一段原文", {"source_path": "a", "text": "b"}]} for row in rows]
    return RunMetadata("legal_rag", rows, sorted(folder.glob("*.json")))


def judge_protocol() -> RunMetadata:
    """Judgements, some with the columns that the judge was asked about; two of one judge and sample."""
    folder = SAMPLES / "judge_protocol"
    rows = read_lines(folder / "judgements.jsonl")
    for row in rows[::2]:
        with suppress(ValueError, KeyError):
            meta = json.loads(row["output"])["meta"]
            row |= {name: meta.get(name) for name in ("judge_model", "target_model", "question_id", "prompt_variant")}
        row["index_version"] = "7"
    rows += [{**rows[0], "repeat": 1}, rows[2], {**rows[4], "judge_model": "another"}]
    return RunMetadata("judge_protocol", rows, [folder / "samples.jsonl"], read_lines(folder / "targets.jsonl"))


GIVEN: dict[str, Callable[[], RunMetadata]] = {
    made.__name__: made
    for made in (eval_json_v2, include_rate, claim_evidence, claim_evidence_columns, legal_rag, judge_protocol)
}


def job(given_: RunMetadata, folder: Path, ending: str, keep: bool) -> Job:
    profile = get_profile(given_.profile)
    contexts = [source(write_rows(folder, "contexts", ending, given_.contexts))] if given_.contexts else []
    return Job(
        profile=profile,
        params=profile.read_params(given_.params),
        outputs=[source(write_rows(folder, "outputs", ending, given_.outputs))],
        questions=sources(given_.questions),
        contexts=contexts,
        keep_inputs=keep,
    )


def contents(commit: Commit) -> dict[str, list[str]]:
    """All rows of a commit, to the last bit, without their places in the inputs."""
    found = {}
    for role in ("scores", "tallies", "runs"):
        table = pq.read_table(commit.files(role)[0], partitioning=None)
        table = table.drop_columns([name for name in PLACES if name in table.schema.names])
        found[role] = sorted(map(repr, table.to_pylist()))
    return found


def scored_again(commit: Commit, folder: Path) -> Commit:
    """The commit of rescoring all runs of a commit with its own parameters."""
    profile = get_profile(commit.manifest["profile"])
    params = profile.read_params(commit.manifest["params"])
    folder.mkdir()
    again = stored_inputs.job_of(commit, profile, params, runs=frozenset(commit.manifest["runs"]), folder=folder)
    return run(again, Store(folder / "again")).commit


def assert_same_bits(first: Job, folder: Path) -> dict[str, list[str]]:
    """Score and rescore: the same rows, and which those are."""
    commit = run(first, Store(folder / "runs")).commit
    want = contents(commit)
    assert contents(scored_again(commit, folder / "once")) == want
    return want


@pytest.mark.parametrize(
    ("ending", "keep"),
    [
        pytest.param(ending, keep, marks=() if ending in COMMON_FORMATS else pytest.mark.soak)
        for ending in FORMATS
        for keep in ((False,) if ending.endswith(COMPRESSED) else (False, True))
    ],
)
@pytest.mark.parametrize("name", GIVEN)
def test_rescoring_gives_the_same_bits(tmp_path: Path, name: str, ending: str, keep: bool) -> None:
    if name == "judge_protocol" and ending.startswith(".json") and not ending.startswith(".jsonl"):
        pytest.skip("a .json file is one judgement of this profile")
    rows = assert_same_bits(job(GIVEN[name](), tmp_path, ending, keep), tmp_path)
    assert len(rows["scores"]) > 20


@pytest.mark.parametrize("name", GIVEN)
def test_what_is_kept_can_be_kept_again(tmp_path: Path, name: str) -> None:
    """A copy of the copy is the copy."""
    commit = run(job(GIVEN[name](), tmp_path, ".jsonl", True), Store(tmp_path / "runs")).commit
    once = scored_again(commit, tmp_path / "once")
    assert contents(scored_again(once, tmp_path / "twice")) == contents(commit)


@pytest.mark.parametrize("name", ["eval_json_v2", "include_rate"])
def test_every_format_gives_the_same_bits(tmp_path: Path, name: str) -> None:
    """Chunks in rows and context files: lists, nested columns and cells with JSON in them are the same."""
    found = {}
    for k, ending in enumerate(FORMATS):
        (tmp_path / str(k)).mkdir()
        commit = run(job(GIVEN[name](), tmp_path / str(k), ending, False), Store(tmp_path / str(k) / "runs")).commit
        found[ending] = {role: contents(commit)[role] for role in ("scores", "tallies")}
    assert any("context_missing': True" in row for row in found[".jsonl"]["scores"]) == (name == "eval_json_v2")
    assert [ending for ending in FORMATS if found[ending] != found[".jsonl"]] == []


@pytest.mark.parametrize("keep", [False, True], ids=["read again", "kept"])
def test_a_folder_of_judgements(tmp_path: Path, keep: bool) -> None:
    profile = get_profile("judge_protocol")
    folder = SAMPLES / "judge_protocol" / "folder"
    put(tmp_path / "folder" / "a.json", (folder / "birch-8b__dune-3b_Q1_A.json").read_bytes())
    put(tmp_path / "folder" / "below" / "b.json", b"\xff\x00 not JSON")
    put(tmp_path / "folder" / "c.json", b"")
    questions = sources([SAMPLES / "judge_protocol" / "samples.jsonl"])
    files = sources([tmp_path / "folder"], True)
    first = Job(profile=profile, params=profile.read_params({}), outputs=files, questions=questions, keep_inputs=keep)
    assert_same_bits(first, tmp_path)


# --- names, frames, documents ---------------------------------------------------------------------------------------

ANSWER = {"question_id": "tc-01", "output": "{}"}


def small_job(outputs: Any, keep: bool, **more: Any) -> Job:
    profile = get_profile("eval_json_v2")
    given_ = {"questions": sources([SAMPLES / "eval_json_v2" / "questions.json"]), **more}
    return Job(profile=profile, params=profile.read_params({}), outputs=outputs, **given_, keep_inputs=keep)


@pytest.mark.parametrize("keep", [False, True], ids=["read again", "kept"])
def test_a_link_keeps_its_name(tmp_path: Path, keep: bool) -> None:
    """A run and an eval set are called like the link that was given, not like the file behind it."""
    put(tmp_path / "data.bin", [ANSWER])
    put(tmp_path / "set.bin", (SAMPLES / "eval_json_v2" / "questions.json").read_bytes())
    (tmp_path / "run-a.jsonl").symlink_to(tmp_path / "data.bin")
    (tmp_path / "dev.json").symlink_to(tmp_path / "set.bin")
    first = small_job(sources([tmp_path / "run-a.jsonl"]), keep, questions=sources([tmp_path / "dev.json"]))
    rows = assert_same_bits(first, tmp_path)
    assert "'run_id': 'run-a'" in rows["runs"][0] and "'eval_set': 'dev@" in rows["runs"][0]


def test_kept_frames_are_the_same_eval_set(tmp_path: Path) -> None:
    questions = json.loads((SAMPLES / "eval_json_v2" / "questions.json").read_bytes())[:3]
    contexts = [{"question_id": "tc-01", "chunks": [{"source_path": "a", "text": "b"}]}]
    frames = {"questions": [frame_source(questions, "questions")], "contexts": [frame_source(contexts, "contexts")]}
    assert_same_bits(small_job([frame_source([{**ANSWER, "run_id": "r"}], "outputs")], True, **frames), tmp_path)


@pytest.mark.parametrize("keep", [False, True], ids=["read again", "kept"])
def test_the_document_need_not_be_there(tmp_path: Path, capsys: pytest.CaptureFixture[str], keep: bool) -> None:
    """A run's document is known by its hash: rescoring goes on without it."""
    put(tmp_path / "source.txt", "text")
    words = ["score", str(SAMPLES / "include_rate" / "outputs"), "-p", "include_rate", "--source",
             str(tmp_path / "source.txt"), "-q", str(SAMPLES / "include_rate" / "questions.jsonl")]  # fmt: skip
    store = ["--store", str(tmp_path / "runs")]
    for call in ([*words, *(["--keep-inputs"] if keep else [])], ["rescore", "--all", "--param", "w_safe=0.2"]):
        with pytest.raises(SystemExit) as left:
            main([*call, *store])
        assert not left.value.code, capsys.readouterr().err
        (tmp_path / "source.txt").unlink(missing_ok=True)
    hashes = [
        {row["source_sha256"] for row in pq.read_table(commit.files("runs")[0], partitioning=None).to_pylist()}
        for commit in Store(tmp_path / "runs").commits()
    ]
    assert len(hashes) == 2 and hashes[0] == hashes[1] != {None}


def test_unchanged_parameters_make_no_commit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Parameters that are lists are the same when they come back from a manifest."""
    words = ["score", str(SAMPLES / "include_rate" / "outputs"), "-p", "include_rate",
             "-q", str(SAMPLES / "include_rate" / "questions.jsonl")]  # fmt: skip
    for call in (words, ["rescore", "--all", "--param", "w_safe=0.3"]):
        with pytest.raises(SystemExit) as left:
            main([*call, "--store", str(tmp_path / "runs")])
        assert not left.value.code
    assert "Nothing to do" in capsys.readouterr().err
    assert len(Store(tmp_path / "runs").commits()) == 1


def test_a_blank_run_of_a_context_is_none(tmp_path: Path) -> None:
    """In CSV a context of the question has an empty cell where another has its run."""
    chunk = {"source_path": "a.pdf", "text": "door"}
    answer = {
        "target_audience": "", "main_topic": "", "sub_topic": "", "detailed_description": [], "original_evidence": "",
        "predicted_questions": [], "source_map": [{"refs": [{"file": "a.pdf", "anchors": ["door"]}]}],
    }  # fmt: skip
    for ending in (".csv", ".jsonl"):
        contexts = [
            {"run_id": "", "question_id": "tc-01", **chunk}, {"run_id": "s", "question_id": "tc-01", **chunk},
        ]  # fmt: skip
        first = small_job(
            sources([put(tmp_path / "r.jsonl", [{**ANSWER, "output": answer}])]), False,
            contexts=[source(write_rows(tmp_path, "contexts", ending, contexts))],
        )  # fmt: skip
        commit = run(first, Store(tmp_path / f"runs{ending}")).commit
        scores = pq.read_table(commit.files("scores")[0], partitioning=None).to_pylist()
        assert [row["grounding"] for row in scores if row["question_id"] == "tc-01"] == [1.0]


# --- any rows -------------------------------------------------------------------------------------------------------

chunk_values = st.one_of(
    st.none(),
    st.lists(st.one_of(texts(8), st.fixed_dictionaries({"source_path": texts(4), "text": texts(8)})), max_size=3),
    VALUES,
    VALUES.map(lambda value: json.dumps(value, ensure_ascii=False)),
    texts(6),
)
output_values = st.one_of(st.none(), texts(10), VALUES, VALUES.map(json.dumps))
row_values = st.fixed_dictionaries(
    {"question_id": st.sampled_from(["tc-01", "tc-02", "tc-03"]), "output": output_values},
    optional={
        "run_id": st.sampled_from(["a", "b"]),
        "repeat": st.integers(0, 2),
        "chunks": chunk_values,
        "contexts": chunk_values,
        "note": st.one_of(texts(4), st.integers(), st.booleans()),
    },
)


@settings(max_examples=examples(40))
@given(st.lists(row_values, min_size=1, max_size=6), st.sampled_from([".jsonl", ".csv", ".parquet"]), st.booleans())
def test_any_rows_are_rescored_to_the_same_bits(rows: Rows, ending: str, keep: bool) -> None:
    rows = [{"output": "{}", "question_id": "tc-09", "run_id": "a"}, *rows]  # one that can be scored at any rate
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        assert_same_bits(small_job([source(write_rows(folder, "outputs", ending, rows))], keep), folder)


# --- numbers that JSON does not have --------------------------------------------------------------------------------


def test_a_number_that_is_not_finite_does_not_hide_its_chunk(tmp_path: Path) -> None:
    """A missing retrieval score is NaN in a column: null in JSON, and the chunk beside it is still there."""
    column = pa.array([[{"text": 'say "NaN"', "score": float("nan"), "rank": -float("inf")}], None, [{"text": "NaN"}]])
    want = ['[{"text":"say \\"NaN\\"","score":null,"rank":null}]', None, '[{"text":"NaN","score":null,"rank":null}]']
    assert json_of(column).to_pylist() == want
    assert json_of(pa.array([float("nan"), 1.5, None])).to_pylist() == [None, "1.5", None]
    chunks = [[{"source_path": "a", "text": "b", "score": float("nan")}]]
    pq.write_table(pa.table({"question_id": ["tc-01"], "output": ["{}"], "chunks": chunks}), tmp_path / "r.parquet")
    rows = assert_same_bits(small_job(sources([tmp_path / "r.parquet"]), True), tmp_path)["scores"]
    assert ["'context_missing': False" in row for row in rows if "'tc-01'" in row] == [True]
