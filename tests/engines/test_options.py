"""Every option of `rageval score` with the engine spark: the same commit and the same words as on one machine, or one
sentence and exit 2."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from rageval_batch.cli.score import score
from rageval_batch.resources import samples_folder
from rageval_batch.runs.store import Store
from support.engines import Said, assert_same_commits, said

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.usefixtures("spark")]
SPARK = ("--engine", "spark")


def same_on_both(capsys: pytest.CaptureFixture[str], folder: Path, words: Sequence[str]) -> Said:
    """What both engines say of a command, whose commits are the same; nothing is left of the work."""
    stores = [folder / "local", folder / "spark"]
    local = said(capsys, ["score", *words], stores[0])
    other = said(capsys, ["score", *words, *SPARK], stores[1])
    assert other == local
    one, two = (Store(store).commits() for store in stores)
    assert len(one) == len(two)
    for mine, others in zip(one, two, strict=True):
        assert_same_commits(mine, others)
    if two:
        assert not list((stores[1] / ".staging").iterdir())
    return local


def jsonl(rows: Sequence[Any]) -> bytes:
    """Rows as JSON lines; what is bytes stands there as it is."""
    return b"".join((row if isinstance(row, bytes) else json.dumps(row).encode()) + b"\n" for row in rows)


def row(run: str | None, question: str, text: str, **more: Any) -> dict[str, Any]:
    """An answer, of a run or none."""
    return {**({"run_id": run} if run else {}), "question_id": question, "output": text, **more}


@pytest.fixture
def questions(tmp_path: Path) -> str:
    """Five questions of the profile reference."""
    path = tmp_path / "questions.jsonl"
    path.write_bytes(jsonl([{"id": f"q{k}", "question": f"{k}?", "reference": f"alpha beta {k}"} for k in range(5)]))
    return str(path)


def write_every_format(folder: Path) -> None:
    """Outputs of one sweep in files of every format, some in folders named as Spark names partitions: duplicates across
    files, repeats, rows that cannot be used, columns that change their types, files without a row."""
    for name in ("run_id=hive", "question_id=q4", "sub"):
        (folder / name).mkdir(parents=True)
    first = [row("a", "q0", "alpha"), row("a", "q1", "beta", latency=1), b'{"run_id": "a", "quest', b"", b"null"]
    first += [row("a", "q2", "x" * 3000), row("a", "q1", "again", repeat=1), row("a", "q1", "bad", repeat=-1)]
    (folder / "run_id=hive" / "a.jsonl").write_bytes(jsonl(first))
    (folder / "b.jsonl.gz").write_bytes(gzip.compress(jsonl([row("b", f"q{k}", "beta 1") for k in range(4)])))
    packed = pa.compress(jsonl([row("é\u2028", "q0", "alpha"), row("a", "q0", "second")]), "zstd", asbytes=True)
    (folder / "c.jsonl.zst").write_bytes(packed)
    (folder / "only-a-header.csv").write_text("run_id,question_id,output\n")
    (folder / "empty.jsonl").write_bytes(b"")
    (folder / "d.csv").write_text("run_id;question_id;output;latency\nb;q4;alpha;slow\n;q0;alpha;1\n", "utf-8")
    table = pa.table({"question_id": ["q0", "q1", None], "output": ["alpha", None, "x"], "latency": [0.5, 2.0, None]})
    for name in ("question_id=q4/unnamed.parquet", "sub/unnamed.parquet"):
        pq.write_table(table, folder / name, row_group_size=1)
    feather.write_feather(pa.table({"run_id": ["b"], "question_id": ["q0"], "output": ["second"]}), folder / "e.arrow")
    (folder / "f.json").write_text(json.dumps([row("b", "q0", "third"), row("f", "q3", "gamma", tags=["x"])]))


def test_every_format_contexts_and_metadata(capsys: pytest.CaptureFixture[str], tmp_path: Path, questions: str) -> None:
    outputs = tmp_path / "outputs"
    write_every_format(outputs)
    contexts = [{"question_id": f"q{k}", "chunks": [{"text": "alpha"}]} for k in range(3)]
    contexts += [{"run_id": "b", "question_id": "q3", "chunks": [{"text": "beta 1"}]}]
    contexts += [{"run_id": "nobody", "question_id": "q3", "chunks": []}, {"question_id": "q9", "chunks": []}]
    (tmp_path / "contexts.jsonl").write_bytes(jsonl(contexts))
    (tmp_path / "runs.csv").write_text("run_id,who\na,me\nnobody,you\n")
    for name in ("prompt.md", "source.txt"):
        (tmp_path / name).write_text("prompt_version: 3\n")
    options = {
        "-q": questions, "-c": str(tmp_path / "contexts.jsonl"), "-p": "reference", "--meta": "index=7",
        "--run-meta": str(tmp_path / "runs.csv"), "--prompt": str(tmp_path / "prompt.md"),
        "--source": str(tmp_path / "source.txt"), "--max-row-bytes": "2000", "--format": "json",
    }  # fmt: skip
    words = [str(outputs), "--keep-inputs", "--strict", *(word for pair in options.items() for word in pair)]
    found = same_on_both(capsys, tmp_path, words)
    assert found.code == 2
    assert "--strict: 10 rows were rejected" in found.err
    reasons = Store(tmp_path / "spark").commits()[0].manifest["reject_reasons"]
    assert reasons["duplicate"] == 3  # one of them in a line with a row that is none
    assert {"null_question_id", "null_run_id", "malformed_json", "not_object", "bad_repeat"} <= reasons.keys()
    again = said(capsys, ["score", *words, *SPARK], tmp_path / "local")
    assert again.err.startswith("2 files have the same name")
    assert "Nothing to do: commit COMMIT has this already." in again.err
    assert len(Store(tmp_path / "local").commits()) == 1


def test_maps_presets_and_names_of_runs(capsys: pytest.CaptureFixture[str], tmp_path: Path, questions: str) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        rows = [{"model": name, "id": f"q{k}", "reply": {"texts": ["alpha", name]}, "try": k % 2} for k in range(3)]
        (tmp_path / name / "answers.jsonl").write_bytes(jsonl(rows))
    files = str(tmp_path / "*" / "answers.jsonl")
    common = ["-q", questions, "-p", "reference"]
    (tmp_path / "map.toml").write_text('[map]\nquestion_id = "id"\nrun_id = "model"\n')
    maps = ["--map-file", str(tmp_path / "map.toml"), "--map", "output=reply.texts[0]", "--map", "repeat=try"]
    assert same_on_both(capsys, tmp_path, [files, *common, *maps, "--run-id-from", "path"]).code == 0
    table = tmp_path / "table.csv"
    text = "user_input,response,reference,model\nчто?,альфа,альфа бета,m\nкто?,бета,альфа,m\n"
    table.write_bytes(text.encode("cp1251"))
    words = [str(table), "-p", "reference", "--from", "ragas", "--encoding", "cp1251", "--run-id", "all"]
    found = same_on_both(capsys, tmp_path, words)
    assert found.code == 0
    assert "No -q: the 2 questions are taken from the rows." in found.err
    assert len(Store(tmp_path / "spark").commits()) == 2


def test_parameters_and_an_archive(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    samples = samples_folder() / "judge_protocol"
    (tmp_path / "params.json").write_text('{"base_variant": "v2"}')
    words = [str(samples / "judgements.jsonl"), "-q", str(samples / "samples.jsonl"), "-p", "judge_protocol"]
    words += ["-c", str(samples / "targets.jsonl"), "--params", str(tmp_path / "params.json")]
    words += ["--param", 'refusal_phrases=["no comment"]']
    archives = [tmp_path / "archive-local", tmp_path / "archive-spark"]
    for store, archive, engine in zip(("local", "spark"), archives, ((), SPARK), strict=True):
        assert said(capsys, ["score", *words, "--archive", str(archive), *engine], tmp_path / store).code == 0
    assert_same_commits(*(Store(tmp_path / store).commits()[0] for store in ("local", "spark")))
    one, two = ({path.relative_to(root): path.read_bytes() for path in root.rglob("*.json")} for root in archives)
    assert one == two
    assert one


def refusals(folder: Path) -> list[list[str]]:
    """The words of commands that are refused once rows have been read."""
    files: dict[str, list[Any]] = {
        "runs": [row(f"r{k}", "q0", "alpha") for k in range(9)],
        "repeats": [row("r", "q0", "alpha", repeat=k) for k in range(9)],
        "nothing": [row("r", "nobody asked", "alpha"), b"null"],
        "no-answers": [{"run_id": "r", "question_id": "q0", "text": "alpha"}],
        "empty": [],
    }
    for name, rows in files.items():
        (folder / f"{name}.jsonl").write_bytes(jsonl(rows))
    names = [[str(folder / f"{name}.jsonl")] for name in files]
    most = ["--max-rows", "40"]
    return [
        [*names[0], *most],
        [*names[1], *most],
        *names[2:],
        [*names[0], *names[3]],
        [*names[0], "--map", "output=x"],
    ]


def test_what_is_refused_locally_is_refused_in_the_same_words(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, questions: str
) -> None:
    for words in refusals(tmp_path):
        found = same_on_both(capsys, tmp_path, [*words, "-q", questions, "-p", "reference"])
        assert found.code == 2
        assert found.err.count("\n") == 1
    assert not Store(tmp_path / "spark").commits()


def test_stdin_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path, questions: str) -> None:
    found = said(capsys, ["score", "-", "-q", questions, "-p", "reference", *SPARK], tmp_path / "runs")
    assert found.code == 2
    assert found.err == (
        "rageval: --engine spark reads files that all nodes see: stdin is none. Write it to a file first.\n"
    )


# Options by the test that gives them with the engine spark; the others are its own, or say where results are printed.
TRIED = {
    "-q", "-c", "-p", "--meta", "--run-meta", "--prompt", "--source", "--max-row-bytes", "--format", "--keep-inputs",
    "--strict", "--map", "--map-file", "--from", "--encoding", "--run-id", "--run-id-from", "--archive", "--max-rows",
    "--store", "--engine", "--param", "--params",
}  # fmt: skip
OF_THE_DRIVER = {"--master", "--conf", "--strict-store", "-o", "--quiet", "--debug", "--help"}


def test_no_option_is_forgotten() -> None:
    options = [set(option.opts) for option in score.params if option.opts[0].startswith("-")]
    assert all(names & (TRIED | OF_THE_DRIVER) for names in options)
