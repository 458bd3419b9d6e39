"""Files in the shapes that people have, each with the command that scores it, and what comes of it.

Two questions, one answered right and one wrong: wherever a file is scored, the scores are 1 and 0.3. What cannot be
scored is refused with a sentence that says what to do.
"""

import csv
import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from rageval_batch.analysis.catalog import open_store
from rageval_batch.cli import cli
from rageval_batch.errors import RagevalError
from support.inputs import put
from support.places import TESTS
from support.sheets import write_xlsx

FRANCE, GERMANY = "Capital of France?", "Capital of Germany?"
QUESTIONS = [
    {"id": "1", "question": FRANCE, "must_include": ["Paris"]},
    {"id": "2", "question": GERMANY, "must_include": ["Berlin"]},
]
OUTPUTS = [{"question_id": "1", "output": "It is Paris."}, {"question_id": "2", "output": "It is Bonn."}]
RAGAS = [
    {"user_input": FRANCE, "response": "Paris", "reference": "Paris", "retrieved_contexts": ["Paris it's", 'a "city"']},
    {"user_input": GERMANY, "response": "Bonn", "reference": "Berlin", "retrieved_contexts": ["Berlin"]},
]
TABLE = [{**question, "output": row["output"]} for question, row in zip(QUESTIONS, OUTPUTS, strict=True)]
BY_REFERENCE = ("--map", "must_include=reference")


@dataclass(frozen=True)
class Shape:
    """A file, the options of the command beside it, and what must come of it."""

    name: str
    write: Callable[[Path], Path]
    options: tuple[str, ...] = ()
    questions: bool = False  # with -q
    runs: tuple[str, ...] = ("outputs",)
    says: tuple[str, ...] = ()  # on stderr, or in the sentence that refuses
    refused: bool = False
    scores: tuple[float, ...] = field(default=(0.3, 1.0))


def text(name: str, content: str | bytes) -> Callable[[Path], Path]:
    """A file with that content."""
    return lambda folder: put(folder / name, content)


def rows(name: str, content: list[dict[str, Any]]) -> Callable[[Path], Path]:
    """A file of JSON lines."""
    return lambda folder: put(folder / name, content)


def document(name: str, content: Any) -> Callable[[Path], Path]:
    """A JSON file."""
    return text(name, json.dumps(content, ensure_ascii=False, indent=1))


def table(content: list[dict[str, Any]], delimiter: str = ",") -> str:
    """CSV as pandas writes it: lists as Python prints them."""
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, list(content[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(content)
    return out.getvalue()


def cells(content: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows with lists as JSON text."""
    return [
        {name: json.dumps(value) if isinstance(value, list) else value for name, value in row.items()}
        for row in content
    ]


def legacy(encoding: str, words: str) -> Callable[[Path], Path]:
    """A CSV file in an encoding other than UTF-8."""
    content = [{"question_id": row["question_id"], "output": f"{row['output']} {words}"} for row in OUTPUTS]
    return text("outputs.csv", table(content).encode(encoding))


def sheet(folder: Path) -> Path:
    """An Excel file with numbers as ids, and an empty row."""
    lines: list[list[str | int | float | None]] = [[int(row["question_id"]), row["output"], 12.5] for row in OUTPUTS]
    return write_xlsx(
        folder / "outputs.xlsx", [["id", "response", "latency_ms"], lines[0], [None, None, None], lines[1]]
    )


def nested(folder: Path) -> Path:
    """Parquet with structs and lists, as Hugging Face datasets have them."""
    content = [
        {"item": {"key": row["id"], "text": row["question"]}, "answers": {"text": row["must_include"], "start": [3]},
         "generated": [{"role": "assistant", "content": row["output"]}]}
        for row in TABLE
    ]  # fmt: skip
    pq.write_table(pa.Table.from_pylist(content), folder / "outputs.parquet")
    return folder / "outputs.parquet"


def deepeval(folder: Path) -> Path:
    """A test run as deepeval 4 keeps it."""
    cases = [
        {"name": f"test_case_{k}", "input": row["user_input"], "actualOutput": row["response"],
         "expectedOutput": row["reference"], "retrievalContext": row["retrieved_contexts"], "success": True,
         "metricsData": [], "runDuration": 0.5 + k, "order": k}
        for k, row in enumerate(RAGAS)
    ]  # fmt: skip
    return put(folder / "outputs.json", json.dumps({"testRunData": {"testCases": cases, "metricsScores": []}}))


def promptfoo(folder: Path) -> Path:
    """Results as `promptfoo eval --output FILE.json` writes them, of one provider."""
    results = [
        {"promptIdx": 0, "testIdx": k, "testCase": {"vars": {"question": row["user_input"]}, "assert": []},
         "promptId": "p", "provider": {"id": "openai:small", "label": ""}, "prompt": {"raw": "Q", "label": "Q"},
         "vars": {"question": row["user_input"], "expected": row["reference"]},
         "response": {"output": row["response"], "tokenUsage": {"total": 9}}, "success": True, "score": 1,
         "latencyMs": 100 + k, "cost": 0.001, "namedScores": {}}
        for k, row in enumerate(RAGAS)
    ]  # fmt: skip
    whole = {"evalId": "eval-1", "results": {"version": 3, "results": results, "stats": {}}, "config": {}}
    return put(folder / "outputs.json", json.dumps(whole))


def lm_eval(folder: Path) -> Path:
    """Samples as lm-eval 0.4 logs them, each once for every filter."""
    content = [
        {"doc_id": k, "doc": {"question": row["user_input"]}, "target": row["reference"],
         "arguments": {"gen_args_0": {"arg_0": "Q"}}, "resps": [[row["response"]]], "filtered_resps": [row["response"]],
         "filter": name, "metrics": ["exact_match"], "doc_hash": "h", "exact_match": 0.0}
        for name in ("strict-match", "flexible-extract")
        for k, row in enumerate(RAGAS)
    ]  # fmt: skip
    return put(folder / "outputs.jsonl", content)


def inspect_samples() -> list[dict[str, Any]]:
    """Samples of an inspect log: the input as a text and as messages."""
    inputs: list[Any] = [RAGAS[0]["user_input"], [{"role": "user", "content": RAGAS[1]["user_input"]}]]
    return [
        {"id": k, "epoch": 1, "input": given, "target": row["reference"], "messages": [],
         "output": {"model": "m", "choices": [], "completion": row["response"]}, "scores": {}, "metadata": {}}
        for k, (given, row) in enumerate(zip(inputs, RAGAS, strict=True), start=1)
    ]  # fmt: skip


def inspect_archive(folder: Path) -> Path:
    """An .eval file: a zip archive with a JSON file for each sample."""
    with zipfile.ZipFile(folder / "outputs.eval", "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("header.json", json.dumps({"version": 2, "status": "success"}))
        for sample in inspect_samples():
            out.writestr(f"samples/{sample['id']}_epoch_1.json", json.dumps(sample, indent=2))
        out.writestr("summaries.json", "[]")
    return folder / "outputs.eval"


def mlflow(folder: Path) -> Path:
    """eval_results_table.json: names of columns, and lists of cells."""
    data = [[row["user_input"], row["reference"], row["response"], 3 + k] for k, row in enumerate(RAGAS)]
    whole = {"columns": ["inputs", "ground_truth", "outputs", "token_count"], "data": data}
    return put(folder / "outputs.json", json.dumps(whole))


def exported(name: str) -> Callable[[Path], Path]:
    """A file that the tool in its name wrote."""
    content = (TESTS / "exports" / name).read_bytes()
    return text(f"outputs{Path(name).suffix}", content)


def adapters(folder: Path) -> Path:
    """Two adapters in folders of their own."""
    put(folder / "all/adapterA/outputs.jsonl", OUTPUTS)
    put(folder / "all/adapterB/outputs.jsonl", OUTPUTS)
    return folder / "all"


def long_cell(folder: Path) -> Path:
    """A cell of 20 MB in the middle."""
    return put(folder / "outputs.csv", f'question_id,output\n1,Paris\n2,"{"Bonn, " * 3_500_000}"\n')


SHAPES = [
    Shape("JSON lines", rows("outputs.jsonl", OUTPUTS), questions=True),
    Shape("JSON array", document("outputs.json", OUTPUTS), questions=True),
    Shape("JSON object with the rows somewhere", document("outputs.json", {"run": {"answers": OUTPUTS}}),
          questions=True, refused=True, says=("--map rows=run.answers",)),
    Shape("JSON object, rows named", document("outputs.json", {"run": {"answers": OUTPUTS}}),
          ("--map", "rows=run.answers"), questions=True),
    Shape("CSV", text("outputs.csv", table(OUTPUTS)), questions=True),
    Shape("CSV with ; and CRLF", text("outputs.csv", table(OUTPUTS, ";")), questions=True),
    Shape("CSV with |", text("outputs.csv", table(OUTPUTS, "|")), questions=True),
    Shape("TSV", text("outputs.tsv", table(OUTPUTS, "\t")), questions=True),
    Shape("CSV with a byte order mark", text("outputs.csv", table(OUTPUTS).encode("utf-8-sig")), questions=True),
    Shape("CSV in UTF-16, tabs (Excel: Unicode text)", text("outputs.csv", table(OUTPUTS, "\t").encode("utf-16")),
          questions=True),
    Shape("CSV in Windows-1251", legacy("cp1251", "столица страны"), questions=True,
          says=("read as cp1251, which is a guess",)),
    Shape("CSV in Windows-1252", legacy("cp1252", "déjà vu, très près"), questions=True,
          says=("read as cp1252, which is a guess",)),
    Shape("CSV in GB18030", legacy("gb18030", "这个国家的首都"), questions=True, says=("read as gb18030, which",)),
    Shape("CSV in Shift-JIS", legacy("cp932", "この国の首都です"), questions=True, says=("read as cp932, which",)),
    Shape("CSV in an encoding that is named", legacy("koi8-r", "столица"), ("--encoding", "koi8-r"), questions=True),
    Shape("CSV as pandas writes it, with its index", text("outputs.csv", ",question_id,output\n0,1,Paris\n1,2,Bonn\n"),
          questions=True),
    Shape("CSV with a quote inside a cell", text("outputs.csv", 'question_id,output\n1,a 5" pipe in Paris\n2,"Bonn"\n'),
          questions=True),
    Shape("CSV with lines in cells", text("outputs.csv", 'question_id,output\r\n1,"in\r\nParis"\r\n2,"""Bonn"""\r\n'),
          questions=True),
    Shape("CSV with a cell of 20 MB", long_cell, questions=True),
    Shape("CSV with a quote that is never closed", text("outputs.csv", 'question_id,output\n1,"Paris\n2,Bonn\n'),
          questions=True, refused=True, says=("line 2", "never closed")),
    Shape("CSV with a doubled column", text("outputs.csv", "question_id,output,output\n1,Paris,x\n2,Bonn,y\n"),
          questions=True, refused=True, says=("two columns 'output'",)),
    Shape("CSV with names of its own", text("outputs.csv", "qid,model answer\n1,Paris\n2,Bonn\n"),
          questions=True, refused=True, says=("Columns: qid, model answer", "--map")),
    Shape("the same with --map", text("outputs.csv", "qid,model answer\n1,Paris\n2,Bonn\n"),
          ("--map", "id=qid", "--map", "output=model answer"), questions=True),
    Shape("answer in place of output, with -q", text("outputs.csv", "id,answer\n1,Paris\n2,Bonn\n"),
          questions=True, refused=True, says=("Nearest: answer.", "--map output=answer")),
    Shape("Excel", sheet, questions=True),
    Shape("chat completions", rows("outputs.jsonl", [
        {"id": row["question_id"], "choices": [{"message": {"content": row["output"]}}]} for row in OUTPUTS
    ]), ("--map", "output=choices[0].message.content"), questions=True),
    Shape("Parquet with structs and lists", nested,
          ("--map", "id=item.key", "--map", "question=item.text", "--map", "output=generated[-1].content",
           "--map", "must_include=answers.text")),
    Shape("one table, JSON lines", rows("outputs.jsonl", TABLE), says=("2 questions are taken from the rows",)),
    Shape("one table, CSV", text("outputs.csv", table(cells(TABLE), ";")), says=("2 questions are taken",)),
    Shape("one table without ids", rows("outputs.jsonl", [
        {name: value for name, value in row.items() if name != "id"} for row in TABLE
    ]), says=("the hash of the question's text is the id",)),
    Shape("one table that contradicts itself", rows("outputs.jsonl", [*TABLE, {**TABLE[0], "must_include": ["Rome"]}]),
          refused=True, says=("line 1 has", "line 3 has", "must_include")),
    Shape("one table with a slip in a name", rows("outputs.jsonl", [
        {**row, "must_not_includes": ["x"]} for row in TABLE
    ]), refused=True, says=("did you mean must_not_include",)),
    Shape("one table with nothing to test", rows("outputs.jsonl", RAGAS), refused=True, says=("must_include",)),
    Shape("ragas, JSON lines", rows("outputs.jsonl", RAGAS), ("--from", "ragas", *BY_REFERENCE)),
    Shape("ragas, CSV of pandas", text("outputs.csv", table(RAGAS)), ("--from", "ragas", *BY_REFERENCE)),
    Shape("deepeval test run", deepeval, ("--from", "deepeval", "--map", "must_include=expectedOutput")),
    Shape("promptfoo results", promptfoo, ("--from", "promptfoo", "--map", "must_include=vars.expected"),
          runs=("openai:small/0",)),
    Shape("lm-eval samples", lm_eval, ("--from", "lm-eval", "--map", "must_include=target"),
          runs=("outputs/flexible-extract", "outputs/strict-match"), scores=(0.3, 0.3, 1.0, 1.0)),
    Shape("inspect log, JSON", document("outputs.json", {"version": 2, "samples": inspect_samples()}),
          ("--from", "inspect", "--map", "must_include=target")),
    Shape("inspect log, .eval", inspect_archive, ("--from", "inspect", "--map", "must_include=target")),
    *(Shape(f"written by the tool itself: {name}", exported(name), ("--from", tool, "--map", f"must_include={path}"))
      for name, tool, path in (
          ("inspect-0.3.285.eval", "inspect", "target"), ("inspect-0.3.285.json", "inspect", "target"),
          ("deepeval-4.3.1.json", "deepeval", "expectedOutput"),
      )),
    Shape("mlflow table", mlflow, ("--from", "mlflow", "--map", "must_include=ground_truth")),
    Shape("adapters in folders", adapters, questions=True, runs=("adapterA", "adapterB"), scores=(0.3, 0.3, 1.0, 1.0)),
    Shape("an unknown preset", rows("outputs.jsonl", RAGAS), ("--from", "raggas"), refused=True, says=("'ragas'",)),
]  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_shape(shape: Shape, tmp_path: Path) -> None:
    """The file is scored right, or refused with a sentence."""
    given = ["-q", str(put(tmp_path / "questions.jsonl", QUESTIONS))] if shape.questions else []
    path = shape.write(tmp_path)
    command = ["score", str(path), "-p", "include_rate", *given, *shape.options, "--store", str(tmp_path / "runs")]
    result = CliRunner().invoke(cli, command)
    if shape.refused:
        assert isinstance(result.exception, RagevalError), result.output
        for part in shape.says:
            assert part in str(result.exception)
        return
    assert result.exit_code == 0, (result.output, result.exception)
    for part in shape.says:
        assert part in result.output
    assert "+ 0 rejected" in result.output
    with open_store(tmp_path / "runs", functions=False) as session:
        found = session.rows("select run_id, round(score, 9) as score from scores")
    assert sorted({row["run_id"] for row in found}) == list(shape.runs)
    assert sorted(row["score"] for row in found) == list(shape.scores)


def test_there_are_enough_shapes() -> None:
    assert len(SHAPES) >= 25 and len({shape.name for shape in SHAPES}) == len(SHAPES)
