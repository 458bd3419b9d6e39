"""TREC runs and qrels: ordered as trec_eval orders them, scored as it scores, mistakes named by their line."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
import pytrec_eval

import rageval_batch
from rageval_batch.errors import InputError
from rageval_batch.inputs.readers import blocks, read_blocks, trec
from rageval_batch.inputs.run_names import with_run_names
from rageval_batch.inputs.sources import source, with_row_limit
from support.command import run_command
from support.inputs import put

QRELS = "q1 0 a 1\nq1 0 b 0\n\nq2\t0\tc\t2\n"


def test_ids_are_in_the_order_of_their_scores_and_equals_by_id(tmp_path: Path) -> None:
    put(tmp_path / "x.run", "q1 Q0 a 1 1.0 t\nq1 Q0 c 2 2.0 t\nq1 Q0 b 3 1.0 t\nq1 Q0 é 9 1.0 t\nq2 Q0 a 1 -3e2 u\n")
    (block,) = read_blocks(source(tmp_path / "x.run"))
    rows = block.raw_rows.to_pylist()  # type: ignore[attr-defined]
    assert rows == [
        {"run_id": "t", "question_id": "q1", "retrieved_ids": ["c", "é", "b", "a"]},
        {"run_id": "u", "question_id": "q2", "retrieved_ids": ["a"]},
    ]
    assert block.lines.tolist() == [1, 5]


def test_a_compressed_run(tmp_path: Path) -> None:
    (tmp_path / "x.run.gz").write_bytes(gzip.compress(b"q1 Q0 a 1 1.0 t\r\nq2 Q0 c 1 1.0 t\r\n"))
    put(tmp_path / "x.qrels", QRELS)
    found = rageval_batch.score(tmp_path / "x.run.gz", tmp_path / "x.qrels", profile="retrieval").scores
    assert found["score"].to_list() == [1.0, 1.0]


def test_files_with_one_tag_are_runs_of_their_own_and_that_is_said(tmp_path: Path) -> None:
    """A file with a tag of its own keeps it; without the names the second file would be rejected as duplicates."""
    for name, tag in (("dense", "tool"), ("sparse", "tool"), ("mixed", "other")):
        put(tmp_path / "runs" / f"{name}.run", f"q1 Q0 a 1 1.0 {tag}\nq2 Q0 c 1 1.0 {tag}\n")
    put(tmp_path / "again" / "dense.run", "q1 Q0 a 1 1.0 tool\nq2 Q0 c 1 1.0 tool\n")
    put(tmp_path / "x.qrels", QRELS)
    paths = sorted((tmp_path / "runs").iterdir())
    files, notes = with_run_names([source(path) for path in paths])
    assert len(notes) == 1 and "'tool'" in notes[0] and "--run-id-from column" in notes[0]
    assert [file.run for file in files if file.reading.ignores_run_column] == ["dense", "sparse"]
    found = rageval_batch.score(tmp_path / "runs", tmp_path / "x.qrels", profile="retrieval").scores
    assert sorted(set(found["run_id"].to_list())) == ["dense", "other", "sparse"]
    files, notes = with_run_names([source(tmp_path / folder / "dense.run") for folder in ("again", "runs")])
    assert [file.run for file in files] == ["again", "runs"] and len(notes) == 2
    assert with_run_names([source(path) for path in paths], run_id_from="column")[1] == []


def test_a_query_without_relevant_ids_is_refused_and_subset_leaves_it_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """q1 and q3 have no grade above 0: nothing can be found, whoever looks."""
    put(tmp_path / "x.qrels", "q1 0 a 0\nq2 0 c 1\nq2 0 d 0\nq3 0 a -1\n")
    put(tmp_path / "x.run", "q1 Q0 a 1 1.0 t\nq2 Q0 c 1 1.0 t\n")
    with pytest.raises(InputError) as refused:
        rageval_batch.score(tmp_path / "x.run", tmp_path / "x.qrels", profile="retrieval")
    for part in ("2 violations", "question 'q1'", "question 'q3'", "a grade above 0", "rageval subset FILE --tested"):
        assert part in str(refused.value)
    code, _, said = run_command(capsys, "subset", tmp_path / "x.qrels", "--tested", "-o", tmp_path / "tested.qrels")
    assert code == 0 and "they test nothing: 2 questions, the first 'q1'" in said
    assert (tmp_path / "tested.qrels").read_text() == "q2 0 c 1\nq2 0 d 0\n"
    scored = rageval_batch.score(tmp_path / "x.run", tmp_path / "tested.qrels", profile="retrieval")
    means = {row["metric"]: (row["mean"], row["n_scored"]) for row in scored.summary.to_dicts()}
    assert means["score"] == means["ndcg_10"] == (1.0, 1)


@pytest.mark.parametrize("gold", [[{"id": "a", "grade": 0}], [{"id": "a", "grade": -2}], []])
def test_grades_without_one_above_nothing_are_refused(gold: list[dict[str, Any]], tmp_path: Path) -> None:
    """Grades win over plain ids, so these do not help."""
    questions = put(tmp_path / "q.jsonl", [{"id": "1", "gold": gold, "gold_ids": ["b"]}])
    outputs = put(tmp_path / "o.jsonl", [{"id": "1", "retrieved_ids": ["b"]}])
    with pytest.raises(InputError, match="a grade above 0"):
        rageval_batch.score(outputs, questions, profile="retrieval")


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        ("x.qrels", "q1 0 a\n", "line 1: it does not have 4 columns"),
        ("x.qrels", "q1 0 a 0.5\n", "its grade is no whole number"),
        ("x.qrels", "q1 0 a 1\nq1 0 a 0\n", "line 2: 'a' is there twice"),
    ],
)
def test_mistakes_are_named_by_their_line(tmp_path: Path, name: str, content: str, part: str) -> None:
    put(tmp_path / name, content)
    with pytest.raises(InputError, match=part):
        list(read_blocks(source(tmp_path / name)))


def test_measures_are_those_of_trec_eval(tmp_path: Path) -> None:
    random = Random(7)
    qrels = {
        f"q{q}": {f"d{k}": random.choice((0, 0, 1, 2, 3)) for k in random.sample(range(40), 12)} for q in range(60)
    }
    for judged in qrels.values():
        judged["d0"] = 1
    found = {name: random.sample(range(60), random.randint(1, 30)) for name in qrels}
    run = {name: {f"d{k}": float(random.choice((1, 2, 2.5, 3, 7))) for k in ids} for name, ids in found.items()}
    put(tmp_path / "x.qrels", "".join(f"{q} 0 {d} {g}\n" for q, judged in qrels.items() for d, g in judged.items()))
    put(tmp_path / "x.run", "".join(f"{q} Q0 {d} 0 {s} t\n" for q, found in run.items() for d, s in found.items()))
    measures = {"recall", "P", "success", "recip_rank", "map", "ndcg_cut"}
    want = pytrec_eval.RelevanceEvaluator(qrels, measures).evaluate(run)
    got = rageval_batch.score(tmp_path / "x.run", tmp_path / "x.qrels", profile="retrieval").scores.to_dicts()
    assert len(got) == len(qrels)
    for row in got:
        trec = want[row["question_id"]]
        pairs = {
            "recall_5": trec["recall_5"], "recall_10": trec["recall_10"], "precision_5": trec["P_5"],
            "precision_10": trec["P_10"], "hit_1": trec["success_1"], "hit_5": trec["success_5"],
            "hit_10": trec["success_10"], "mrr": trec["recip_rank"], "map": trec["map"],
            "ndcg_10": trec["ndcg_cut_10"],
        }  # fmt: skip
        assert {name: row[name] for name in pairs} == pytest.approx(pairs, abs=1e-9)


def test_a_line_of_a_run_that_is_no_result_is_a_reject(tmp_path: Path) -> None:
    """The other lines count; the file, line, reason and text of a reject are kept."""
    lines = [
        "q1 Q0 a 1 1.0 t",
        "broken line",
        "q1 Q0 b 1 best t",
        "q1 Q0 c 1 nan t",
        "q1 Q0 a 2 0.5 t",
        "q2 Q0 c 1 1 t",
    ]
    put(tmp_path / "x.run", "\r\n".join(lines))
    put(tmp_path / "x.qrels", QRELS)
    found = rageval_batch.score(tmp_path / "x.run", tmp_path / "x.qrels", profile="retrieval")
    assert found.scores["score"].to_list() == [1.0, 1.0]
    kept = found.rejects.select("line", "reason", "raw").sort("line").rows()
    assert kept == [(k + 1, "malformed_trec", lines[k]) for k in (1, 2, 3, 4)]


def test_a_run_of_broken_lines_alone(tmp_path: Path) -> None:
    put(tmp_path / "x.run", "broken line\n")
    blocks = list(read_blocks(source(tmp_path / "x.run")))
    assert [one.detail for block in blocks for one in block.row_errors] == ["it does not have 6 columns"]


def test_a_run_is_read_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is read or collected at once: the same rows, lines and errors, wherever the lines of a query stand."""
    chance = Random(3)
    lines = [f"q{chance.randrange(9)} Q0 é{chance.randrange(40)} 1 {chance.random():.2f} t{k % 2}" for k in range(200)]
    lines[3], lines[150], lines[20] = "\ufeffq1 Q0 a 1", "q1 Q0 a 1 nan t0", ""
    put(tmp_path / "x.run", "\n".join(lines))

    def read() -> dict[int, tuple[str | None, str]]:
        found: dict[int, tuple[str | None, str]] = {}
        for block in read_blocks(source(tmp_path / "x.run")):
            problems = {error.row: error.detail for error in block.row_errors}
            for row, line in enumerate(block.lines.tolist()):
                assert line not in found
                found[line] = problems.get(row), block.raw(row)
        return found

    whole = read()
    assert {line: problem for line, (problem, _) in whole.items() if problem and line in (4, 151)} == {
        4: "it does not have 6 columns",
        151: "its score is no number",
    }
    assert sum(problem is not None for problem, _ in whole.values()) > 10  # ids that are there twice
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 37)
    monkeypatch.setattr(trec, "_PART_BYTES", 1_000)
    assert read() == whole


def test_a_line_without_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 64)
    put(tmp_path / "x.run", "q1 Q0 a 1 1.0 t\n" + "x" * 1_000)
    with pytest.raises(InputError, match=r"line 2 has more than 500 bytes"):
        list(read_blocks(with_row_limit(source(tmp_path / "x.run"), 500)))


def test_questions_without_ids_are_left_out_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"id": "c", "question": "?", "gold_ids": []}, {"id": "d", "question": "?", "gold_ids": ["x"]}]
    (tmp_path / "q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    code, _, said = run_command(capsys, "subset", tmp_path / "q.jsonl", "--tested", "-o", tmp_path / "tested.jsonl")
    assert code == 0, said
    assert [json.loads(line)["id"] for line in (tmp_path / "tested.jsonl").read_text().splitlines()] == ["d"]
