"""Every statement of docs/analyst-questions.md, against a store whose answers are known."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from rageval_batch.analysis.catalog import open_store
from rageval_batch.analysis.session import Session
from support.pages import score
from support.places import ROOT, SAMPLES_FOLDER

PAGE = (ROOT / "docs" / "analyst-questions.md").read_text(encoding="utf-8")
STATEMENTS = dict(re.findall(r"^## (.+?)\n.*?```sql\n(.*?)```", PAGE, re.MULTILINE | re.DOTALL))
# Two eval sets with questions of the same ids, which are about other topics there.
TOPICS = {
    "first": ("refunds", "access", "refunds", "access"),
    "second": ("refunds", "refunds", "access", "refunds", "access"),
}
# Of each run and eval set: which answers to each question are right. None: the question is left out.
RIGHT: dict[tuple[str, str], list[tuple[bool, ...]]] = {
    ("baseline", "first"): [(True, True), (True, True), (True, False), (False, False)],
    ("candidate", "first"): [(True, True, True), (False, False, True), (True, True, True), ()],
    ("baseline", "second"): [(False,), (True,), (True,), (False,), (True,)],
    ("candidate", "second"): [(True, False), (True, True), (False, False), (True, True), (True, False)],
}
COSTS = {"baseline": 0.4, "candidate": 0.1}


def write_lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    folder = tmp_path_factory.mktemp("analyst")
    store = folder / "runs"
    for name, topics in TOPICS.items():
        questions = [
            {"id": f"q{k}", "question": f"What is {k} of the {name}?", "must_include": ["yes"], "topic": topic}
            for k, topic in enumerate(topics)
        ]
        write_lines(folder / f"{name}.jsonl", questions)
    for (run, name), answers in RIGHT.items():
        rows = [
            {
                "run_id": run, "question_id": f"q{k}", "repeat": repeat, "output": "yes" if right else "no",
                "cost_usd": COSTS[run] * (1 + k),
            }
            for k, several in enumerate(answers) for repeat, right in enumerate(several)
        ]  # fmt: skip
        outputs = write_lines(folder / f"{run}-{name}.jsonl", rows)
        score("score", outputs, "-p", "include_rate", "-q", folder / f"{name}.jsonl", "--store", store)
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


# --- what the statements give, by hand --------------------------------------------------------------------------------


def points(answers: tuple[bool, ...]) -> list[float]:
    """A right answer scores 1, a wrong one 0.3; a question without an answer 0."""
    return [1.0 if right else 0.3 for right in answers] or [0.0]


MEANS = {key: [fmean(points(several)) for several in answers] for key, answers in RIGHT.items()}
GROUPS = [(name, topic) for name in TOPICS for topic in ("access", "refunds")]


def of_topic(run: str, name: str, topic: str) -> list[float]:
    """The score of each question of a topic."""
    return [mean for mean, about in zip(MEANS[run, name], TOPICS[name], strict=True) if about == topic]


def deltas(name: str, topic: str) -> list[float]:
    return [
        after - before
        for before, after in zip(of_topic("baseline", name, topic), of_topic("candidate", name, topic), strict=True)
    ]


WORST = sorted(
    (fmean(of_topic("baseline", *group) + of_topic("candidate", *group)), *group, len(deltas(*group)), 2)
    for group in GROUPS
)
CHANGED = sorted(
    (
        fmean(deltas(*group)), *group, sum(d < -1e-9 for d in deltas(*group)), sum(d > 1e-9 for d in deltas(*group)),
        len(deltas(*group)),
    )
    for group in GROUPS
)  # fmt: skip
BEST = [(*group, *min((-fmean(of_topic(run, *group)), run) for run in COSTS), len(deltas(*group))) for group in GROUPS]
TIMES = [
    (name, run, fmean(MEANS[run, name]), change)
    for name in TOPICS
    for run, change in (
        ("baseline", None),
        ("candidate", fmean(MEANS["candidate", name]) - fmean(MEANS["baseline", name])),
    )
]
PRICES = sorted(
    (
        COSTS[run] * sum((1 + k) * len(several) for k, several in enumerate(answers))
        / sum(sum(points(several)) for several in answers if several),
        run, name,
    )
    for (run, name), answers in RIGHT.items()
)  # fmt: skip
DEAREST = sorted(
    (
        (-COSTS[run] * (1 + k), run, name, k, TOPICS[name][k])
        for (run, name), answers in RIGHT.items() for k, several in enumerate(answers) for right in several if not right
    ),
)[:5]  # fmt: skip
HARDEST = sorted(
    (fmean(MEANS[run, name][k] for run in COSTS), name, f"q{k}")
    for name, topics in TOPICS.items()
    for k in range(len(topics))
)
UNSTEADY = sorted(
    (run, name, f"q{k}", 0.3, 1.0, len(several))
    for (run, name), answers in RIGHT.items() for k, several in enumerate(answers) if len(set(several)) > 1
)  # fmt: skip
FIRST_ROWS: dict[str, tuple[tuple[str, ...], list[tuple[Any, ...]]]] = {
    "Which topics are worst?": (("mean", "eval_set", "topic", "questions", "runs"), WORST),
    "On which topics did a candidate get worse?": (("delta", "eval_set", "topic", "worse", "better", "n"), CHANGED),
    "Which adapter regressed on which topic?": (
        ("delta", "eval_set", "topic", "n"), [(*row[:3], row[-1]) for row in CHANGED if row[0] < 0]
    ),
    "Which run is best on each topic?": (
        ("eval_set", "topic", "mean", "run_id", "n"), [(*row[:2], -row[2], *row[3:]) for row in BEST]
    ),
    "How do scores go over time?": (("eval_set", "run_id", "score", "change"), TIMES),
    "What does a point cost?": (("usd_a_point", "run_id", "eval_set"), PRICES),
    "What do the dearest wrong answers say, and about what?": (
        ("cost_usd", "run_id", "eval_set", "topic", "output", "score"),
        [(-cost, run, name, topic, "no", 0.3) for cost, run, name, _, topic in DEAREST],
    ),
    "Which questions are hardest?": (("mean", "eval_set", "question_id"), HARDEST),
    "Which questions are answered differently each time?": (
        ("run_id", "eval_set", "question_id", "lowest", "highest", "repeats"), UNSTEADY
    ),
    "What is mistaken for what?": (("n", "runs"), [(2, 2)]),
    "Which runs left questions unanswered?": (
        ("run_id", "missing", "questions", "share"), [("candidate", 1, 4, 0.25), ("adapter-gaps", 6, 32, 0.1875)]
    ),
}  # fmt: skip


def rounded(value: Any) -> Any:
    return round(value, 4) if isinstance(value, float) else value.split("@")[0] if isinstance(value, str) else value


def test_there_are_a_dozen_and_each_is_one_statement() -> None:
    assert len(STATEMENTS) >= 12
    assert all(text.strip().count(";") == 1 and text.strip().endswith(";") for text in STATEMENTS.values())


@pytest.mark.parametrize("question", STATEMENTS)
def test_a_statement_answers_its_question(session: Session, question: str) -> None:
    rows = session.sql(STATEMENTS[question]).to_pylist()
    if question in FIRST_ROWS:
        columns, want = FIRST_ROWS[question]
        assert [tuple(rounded(row[name]) for name in columns) for row in rows[: len(want)]] == [
            tuple(map(rounded, row)) for row in want
        ]
    elif question == "Do the judges agree?":
        assert {row["judge_a"] for row in rows} > {None} and all(-1 <= (row["kappa"] or 0) <= 1 for row in rows)
        assert all(row["alpha"] is not None for row in rows if row["judge_a"] is None)
    elif question == "Why do answers fail, and is that changing?":
        found = [row for row in rows if row["profile"] == "include_rate"]
        assert [(row["run_id"], row["fail_reason"], row["n"], row["share"]) for row in found] == [
            ("candidate", "missing_output", 1, 0.1)
        ]
    else:
        assert question == "Which metrics go together?"
        assert rows and all(-1 - 1e-9 <= row["correlation"] <= 1 + 1e-9 and row["n"] <= 128 for row in rows)
