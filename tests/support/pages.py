"""Stores whose answers try to break out of a page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rageval_batch.cli import cli
from support.places import SAMPLES_FOLDER

ANSWERS = (
    "<script>window.attacked = 1; alert(1)</script>",
    '<img src="https://attacker.invalid/x.png" onerror="window.attacked = 2">',
    "</script></style></table><script>window.attacked = 3</script>",
    '" onmouseover="window.attacked = 4" style="position:fixed;inset:0;background:red" x="',
    "<style>* { display: none !important }</style>",
    "abc \u202eתעודה מזויפת\u2066 def \u200f",
    "javascript:window.attacked=5",
    "{{ 7 * 7 }}{% raw %} ${7*7} <!-- --> ]]> &lt;b&gt;",
    "x" * 1_000_000,
    "\x01\x1b[31m red \x7f",
    "中文答案：繁體與简体。",
    "Ответ по-русски, с ёлкой.",
    "الإجابة العربية 123 صحيحة",
)


def hostile_name(text: str) -> str:
    """A text as the name of a run or question: short."""
    return text.replace("\x01", "")[:60]


def score(*words: str | Path) -> None:
    """A command as a user gives it."""
    cli.main([str(word) for word in words], prog_name="rageval", standalone_mode=False)


def samples_store(folder: Path) -> Path:
    """The samples of two profiles, scored."""
    store = folder / "runs"
    texts, facts = SAMPLES_FOLDER / "include_rate", SAMPLES_FOLDER / "eval_json_v2"
    score("score", texts / "outputs", "-p", "include_rate", "-q", texts / "questions.jsonl", "--store", store)
    score(
        "score", facts / "outputs", "-p", "eval_json_v2", "-q", facts / "questions.json",
        "-c", facts / "contexts.jsonl", "--store", store,
    )  # fmt: skip
    return store


def hostile_store(folder: Path) -> Path:
    """Two runs whose answers, names and questions are hostile; some rows are rejected."""
    store = folder / "runs"
    questions: list[dict[str, Any]] = [
        {"id": f"{k}{hostile_name(text)}", "question": text[:200], "must_include": ["b" if k % 2 else "zz"]}
        for k, text in enumerate(ANSWERS)
    ]
    rows = [
        {"run_id": run, "question_id": question["id"], "output": f"{prefix}{text}", f"<i>{'meta' * 15}": "<u>"}
        for run, prefix in (("<b>bold</b>\u202e", ""), ("'; drop table runs; --", "b zz "))
        for question, text in zip(questions, ANSWERS, strict=True)
    ]
    rows.append({"run_id": "r", "question_id": "<script>window.attacked = 6</script>", "output": "?"})
    for name, objects in (("questions", questions), ("outputs", rows)):
        text = "\n".join(json.dumps(one, ensure_ascii=False) for one in objects)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    score("score", folder / "outputs.jsonl", "-p", "include_rate", "-q", folder / "questions.jsonl", "--store", store)
    return store
