"""JSON and TOML that is nested as deeply as nobody means: read, or refused with a sentence, wherever it stands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rageval_batch.cli import main

DEEP = "[" * 100_000 + "]" * 100_000
QUESTION = '{"id": "q0", "question": "?", "must_include": ["alpha"]}'
ROW = '{"run_id": "r", "question_id": "q0", "output": "alpha"}'


@pytest.mark.parametrize(
    ("name", "content", "option"),
    [
        ("questions.json", f'{{"meta": {DEEP}, "questions": [{QUESTION}]}}', "-q"),
        ("questions.json", f'{{"meta": {DEEP}}}', "-q"),
        ("questions.jsonl", QUESTION[:-1] + f', "extra": {DEEP}}}', "-q"),
        ("contexts.jsonl", f'{{"question_id": "q0", "chunks": {DEEP}}}', "-c"),
        ("meta.jsonl", f'{{"run_id": "r", "extra": {DEEP}}}', "--run-meta"),
        ("meta.json", f'{{"r": {{"extra": {DEEP}}}}}', "--run-meta"),
        ("params.json", f'{{"phrase_match": {DEEP}}}', "--params"),
        ("params.toml", f"phrase_match = {DEEP}", "--params"),
        ("outputs.json", f'{{"meta": {DEEP}, "rows": [{ROW}]}}', ""),
        ("outputs.json", f'[{ROW}, {{"question_id": "q0", "repeat": 1, "output": {DEEP}}}]', ""),
        ("outputs.jsonl", ROW + f'\n{{"question_id": "q0", "repeat": 1, "output": "alpha", "extra": {DEEP}}}', ""),
        ("outputs.csv", f'run_id,question_id,output,chunks\nr,q0,alpha,"{DEEP}"\n', ""),
        ("outputs.jsonl", ROW[:-1] + f', "question": "?", "must_include": {DEEP}}}', "without questions"),
    ],
)
def test_deep_nesting(name: str, content: str, option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {"-q": tmp_path / "q.jsonl", "outputs": tmp_path / "o.jsonl"}
    files["-q"].write_text(QUESTION)
    files["outputs"].write_text(ROW)
    path = tmp_path / name
    path.write_text(content)
    files[option if option.startswith("-") else "outputs"] = path
    if option == "without questions":
        del files["-q"]
    words = [str(files.pop("outputs")), *(str(word) for pair in files.items() for word in pair)]
    with pytest.raises(SystemExit) as stop:
        main(["score", *words, "-p", "include_rate", "--store", str(tmp_path / "runs")])
    said = capsys.readouterr().err
    assert stop.value.code in (0, 2), said
    if stop.value.code == 2:
        assert not list((tmp_path / "runs").glob("2*"))
        assert len(said) < 2_000
    else:
        counts = json.loads(next((tmp_path / "runs").glob("2*/manifest.json")).read_text())["counts"]
        assert counts["rows_read"] == counts["score_rows"] - counts["missing_rows"] + counts["rejected_rows"]
