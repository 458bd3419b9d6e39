"""The view `answers`: every answer with the other columns of its own row, from files, kept copies, or none of them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from rageval_batch.analysis.catalog import open_store
from support.command import run_command
from support.pages import score
from support.places import SAMPLES_FOLDER


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), encoding="utf-8")
    return path


def found(store: Path, columns: str) -> list[dict[str, Any]]:
    with open_store(store, functions=False) as session:
        session.lock()
        rows: list[dict[str, Any]] = session.sql(f"select {columns} from answers order by all").to_pylist()
        return rows


@pytest.fixture
def judged(tmp_path: Path) -> list[dict[str, Any]]:
    """Judgements, several of which have one question and repeat, in two files, of which one has no other column."""
    text = (SAMPLES_FOLDER / "judge_protocol" / "judgements.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    half = len(rows) // 2
    costly = [{**row, "cost": k / 8, "note": f"n{k}", "output_": k} for k, row in enumerate(rows[half:])]
    written(tmp_path / "1.jsonl", rows[:half])
    written(tmp_path / "2.jsonl", costly)
    return rows[:half] + costly


def pairs(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    def text(output: Any) -> Any:
        return output if isinstance(output, str) or output is None else json.dumps(output, sort_keys=True)

    def loaded(output: Any) -> Any:
        try:
            return json.loads(output) if isinstance(output, str) else output
        except ValueError:
            return output

    return sorted(
        ((text(loaded(row["output"])), row.get("cost"), row.get("note")) for row in rows),
        key=lambda pair: tuple(map(str, pair)),
    )


@pytest.mark.parametrize("keep", [(), ("--keep-inputs",)])
def test_judgements_of_one_question_keep_their_own_columns(
    tmp_path: Path, judged: list[dict[str, Any]], keep: tuple[str, ...]
) -> None:
    """From the files, from a copy, and from the copy of a copy that was scored with other parameters."""
    store, samples = tmp_path / "runs", SAMPLES_FOLDER / "judge_protocol"
    score(
        "score", tmp_path / "1.jsonl", tmp_path / "2.jsonl", "-p", "judge_protocol", "-q", samples / "samples.jsonl",
        "-c", samples / "targets.jsonl", "--store", store, "--quiet", *keep,
    )  # fmt: skip
    assert pairs(found(store, "output, cost, note")) == pairs(judged)
    score("rescore", "--all", "-p", "judge_protocol", "--param", "refusal_phrases=never", "--store", store, "--quiet")
    assert len(list(store.glob("*-*"))) == 2
    assert pairs(found(store, "output, cost, note")) == pairs(judged)


def test_answers_whose_file_is_gone_stay_with_their_columns(tmp_path: Path) -> None:
    """The text is null; the rows and what the store knows of them are there. A name of ours gets a low line."""
    questions = [{"id": f"q{k}", "question": "?", "must_include": ["yes"]} for k in range(3)]
    rows = [
        {"run_id": "r", "id": f"q{k}", "said": "yes", "output": f"o{k}", "output_": -k, "tokens": k, "Tokens": f"t{k}"}
        for k in range(2)
    ]
    outputs = written(tmp_path / "o.jsonl", rows)
    plain = written(tmp_path / "plain.jsonl", [{"run_id": "plain", "id": "q0", "output": "no"}])
    store = tmp_path / "runs"
    for file, more in ((outputs, ("--map", "output=said")), (plain, ())):
        score(
            "score", file, "-p", "include_rate", "-q", written(tmp_path / "q.jsonl", questions), "--store", store,
            "--quiet", *more,
        )  # fmt: skip
    columns = 'run_id, question_id, output, tokens, "Tokens_1", output_, output__'
    there = [
        ("plain", "q0", "no", None, None, None, None),
        ("r", "q0", "yes", 0, "t0", 0, "o0"),
        ("r", "q1", "yes", 1, "t1", -1, "o1"),
    ]
    assert [tuple(row.values()) for row in found(store, columns)] == there
    outputs.unlink()
    gone = [there[0], *((run, question, None, *others) for run, question, _, *others in there[1:])]
    assert [tuple(row.values()) for row in found(store, columns)] == gone


def test_a_file_that_is_gone_takes_the_answers_of_its_own_runs_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whichever runs a query names; a run that has another file keeps the answers in that."""
    questions = [{"id": f"q{k}", "question": "?", "must_include": ["yes"]} for k in range(3)]
    store = tmp_path / "runs"
    lost = [{"run_id": name, "id": "q0", "output": f"{name} lost"} for name in ("r1", "both")]
    rest = [{"run_id": name, "id": f"q{k}", "output": "yes"} for name in ("both", "r2") for k in (1, 2)]
    score(
        "score", written(tmp_path / "1.jsonl", lost), written(tmp_path / "2.jsonl", rest), "-p", "include_rate",
        "-q", written(tmp_path / "q.jsonl", questions), "--store", store,
    )  # fmt: skip
    (tmp_path / "1.jsonl").unlink()
    shown = {"both": (3, 2), "r1": (1, 0), "r2": (2, 2)}
    for named, touched in (
        ("'both', 'r1', 'r2'", "'both', 'r1'"),
        ("'r1'", "'r1'"),
        ("'r2'", ""),
        ("'both', 'r2'", "'both'"),
    ):
        with open_store(store, functions=False) as session:
            session.lock()
            query = f"select run_id, count(*), count(output) from answers where run_id in ({named}) group by all"
            rows = zip(*session.sql(query).to_pydict().values(), strict=True)
            assert {run: tuple(counts) for run, *counts in rows} == {run: shown[run] for run in shown if run in named}
            assert [note.partition(" in ")[0] for note in session.notes] == (
                [f"Answers of {touched}"] if touched else []
            )
            assert all("are not shown: " in note and "1.jsonl is gone" in note for note in session.notes)
    code, out, _ = run_command(capsys, "compare", "r2", "r1", "--store", store)
    assert (
        code == 1 and re.search(r"Answers of 'r1' are not shown: \S*1.jsonl is gone", out) and "'r2' are not" not in out
    )
    assert [line.split() for line in out.splitlines() if line.startswith(("q1", "q2"))][-1][1:] == ["base", "yes"]
