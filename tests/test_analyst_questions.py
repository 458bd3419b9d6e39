"""Every statement of docs/analyst-questions.md, against a store whose answers are known."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rageval_batch.analysis.catalog import open_store
from rageval_batch.analysis.session import Session
from support.pages import score
from support.places import ROOT, SAMPLES_FOLDER

PAGE = (ROOT / "docs" / "analyst-questions.md").read_text(encoding="utf-8")
STATEMENTS = dict(re.findall(r"^## (.+?)\n.*?```sql\n(.*?)```", PAGE, re.MULTILINE | re.DOTALL))
TOPICS = ("refunds", "access", "refunds", "access")
# Which of the two answers to each of four questions are right; none: the question is left out.
RIGHT: dict[str, list[tuple[bool, bool] | None]] = {
    "baseline": [(True, True), (True, True), (True, False), (False, False)],
    "candidate": [(True, True), (False, False), (True, True), None],
}
COSTS = {"baseline": 0.4, "candidate": 0.1}


def write_lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    folder = tmp_path_factory.mktemp("analyst")
    store = folder / "runs"
    questions = write_lines(
        folder / "questions.jsonl",
        [
            {"id": f"q{k}", "question": f"What is {k}?", "must_include": ["yes"], "topic": topic}
            for k, topic in enumerate(TOPICS)
        ],
    )
    for run, answers in RIGHT.items():
        rows = [
            {
                "run_id": run, "question_id": f"q{k}", "repeat": repeat, "output": "yes" if right else "no",
                "cost_usd": COSTS[run] * (1 + k),
            }
            for k, both in enumerate(answers) for repeat, right in enumerate(both or ())
        ]  # fmt: skip
        outputs = write_lines(folder / f"{run}.jsonl", rows)
        score("score", outputs, "-p", "include_rate", "-q", questions, "--store", store)
    facts, judged = SAMPLES_FOLDER / "eval_json_v2", SAMPLES_FOLDER / "judge_protocol"
    score(
        "score", facts / "outputs", "-p", "eval_json_v2", "-q", facts / "questions.json",
        "-c", facts / "contexts.jsonl", "--store", store,
    )  # fmt: skip
    score(
        "score", judged / "judgements.jsonl", "-p", "judge_protocol", "-q", judged / "samples.jsonl",
        "-c", judged / "targets.jsonl", "--store", store,
    )  # fmt: skip
    with open_store(store) as session:
        yield session


# What the statements give: columns of the first rows, rounded. A right answer scores 1, a wrong one 0.3, none 0.
BOTH = {"baseline": 2 * (1 + 1) + 1.3 + 0.6, "candidate": 2 * (1 + 0.3 + 1)}  # points
FIRST_ROWS: dict[str, tuple[tuple[str, ...], list[tuple[Any, ...]]]] = {
    "Which topics are worst?": (
        ("topic", "mean", "questions"), [("access", 0.4571, 2), ("refunds", 0.9125, 2)]
    ),
    "On which topics did a candidate get worse?": (
        ("topic", "worse", "better", "n"), [("access", 2, 0, 2), ("refunds", 0, 1, 2)]
    ),
    "Which adapter regressed on which topic?": (("run_id", "topic"), [("candidate", "access")]),
    "Which run is best on each topic?": (
        ("topic", "run_id", "mean"), [("access", "baseline", 0.65), ("refunds", "candidate", 1.0)]
    ),
    "How do scores go over time?": (("run_id", "change"), [("baseline", None), ("candidate", -0.1625)]),
    "What does a point cost?": (
        ("run_id", "usd_a_point"),
        [("candidate", round(1.2 / BOTH["candidate"], 4)), ("baseline", round(8 / BOTH["baseline"], 4))],
    ),
    "What do the dearest wrong answers say, and about what?": (
        ("run_id", "topic", "output", "cost_usd", "score"),
        [("baseline", "access", "no", 1.6, 0.3)] * 2 + [("baseline", "refunds", "no", 1.2, 0.3)],
    ),
    "Which questions are hardest?": (("question_id", "mean", "question"), [("q3", 0.15, "What is 3?")]),
    "Which questions are answered differently each time?": (
        ("run_id", "question_id", "lowest", "highest", "repeats"), [("baseline", "q2", 0.3, 1.0, 2)]
    ),
    "What is mistaken for what?": (("n", "runs"), [(2, 2)]),
    "Which runs left questions unanswered?": (("run_id", "missing"), [("adapter-gaps", 6), ("candidate", 1)]),
    "Why do answers fail, and is that changing?": (
        ("run_id", "fail_reason", "n"), [("candidate", "missing_output", 1)]
    ),
}  # fmt: skip


def rounded(value: Any) -> Any:
    return round(value, 4) if isinstance(value, float) else value


def test_there_are_a_dozen_and_each_is_one_statement() -> None:
    assert len(STATEMENTS) >= 12
    assert all(text.strip().count(";") == 1 and text.strip().endswith(";") for text in STATEMENTS.values())


@pytest.mark.parametrize("question", STATEMENTS)
def test_a_statement_answers_its_question(session: Session, question: str) -> None:
    rows = session.sql(STATEMENTS[question]).to_pylist()
    if question in FIRST_ROWS:
        columns, want = FIRST_ROWS[question]
        assert [tuple(rounded(row[name]) for name in columns) for row in rows[: len(want)]] == want
    elif question == "Do the judges agree?":
        assert {row["judge_a"] for row in rows} > {None} and all(-1 <= (row["kappa"] or 0) <= 1 for row in rows)
        assert all(row["alpha"] is not None for row in rows if row["judge_a"] is None)
    else:
        assert question == "Which metrics go together?"
        assert rows and all(-1 - 1e-9 <= row["correlation"] <= 1 + 1e-9 and row["n"] <= 128 for row in rows)
