"""A seeded sweep of made-up answers, for measuring: questions, contexts and outputs as a user would have them."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from rageval_batch.dataclass import dataclass

QUESTIONS = 500
DAMAGED = 0.03
REPEATED = 0.10

_HAN = (
    "門禁管理訪客登記流程櫃檯證件填寫值班人員陪同離開繳回臨時卡餐飲服務部"
    "房務清潔備品維修通報客訴處理退費比例全額逾期合約資料備份還原權限帳號"
)
_WORDS = [
    "partition",
    "manifest",
    "retry",
    "backfill",
    "rollback",
    "pointer",
    "runbook",
    "latency",
    "quota",
    "tenant",
    "index",
    "shard",
    "replica",
    "snapshot",
    "checksum",
    "upstream",
    "downstream",
    "schedule",
    "alert",
    "threshold",
    "operator",
    "handbook",
    "visitor",
    "badge",
    "refund",
    "invoice",
]


@dataclass(frozen=True)
class Files:
    """Where the sweep lies."""

    questions: Path
    contexts: Path
    outputs: Path


def write_sweep(folder: Path, rows: int, seed: int = 7) -> Files:
    """Write a sweep of `rows` answers, the same on every machine for the same seed."""
    random_ = random.Random(seed)
    questions = [_question(random_, k) for k in range(min(QUESTIONS, rows))]
    files = Files(folder / "questions.json", folder / "contexts.jsonl", folder / "outputs.jsonl")
    files.questions.write_text(json.dumps(questions, ensure_ascii=False), encoding="utf-8")
    with files.contexts.open("w", encoding="utf-8") as out:
        for question in questions:
            out.write(json.dumps({"question_id": question["id"], "chunks": _chunks(random_, question)}) + "\n")
    with files.outputs.open("w", encoding="utf-8") as out:
        for k in range(rows):
            question = questions[k % len(questions)]
            run = f"adapter-{k // len(questions):05d}"
            row = {"run_id": run, "question_id": question["id"], "output": _output(random_, question)}
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
    return files


def _phrase(random_: random.Random, han: bool, size: int) -> str:
    if han:
        return "".join(random_.choices(_HAN, k=size))
    return " ".join(random_.choices(_WORDS, k=max(2, size // 4)))


def _question(random_: random.Random, number: int) -> dict[str, Any]:
    han = number % 3 != 0
    evidence = _phrase(random_, han, random_.randint(60, 120)) + f" REF-{number:04d}"
    example = {
        "target_audience": _phrase(random_, han, 6),
        "main_topic": _phrase(random_, han, 4),
        "sub_topic": _phrase(random_, han, 8),
        "detailed_description": [_phrase(random_, han, 24) for _ in range(random_.randint(3, 5))],
        "original_evidence": evidence,
        "predicted_questions": [_phrase(random_, han, 16) + "？" for _ in range(random_.randint(2, 4))],
    }
    expected = {"answer_example": example, "source_map": [_entry(evidence, number)]}
    return {"id": f"q{number:05d}", "question": _phrase(random_, han, 14), "expected": expected}


def _entry(evidence: str, number: int) -> dict[str, Any]:
    anchors = [evidence[:10], evidence[-8:]]
    return {"part": "original_evidence", "refs": [{"file": f"manual-{number}.md", "page": 1, "anchors": anchors}]}


def _chunks(random_: random.Random, question: dict[str, Any]) -> list[dict[str, str]]:
    path = question["expected"]["source_map"][0]["refs"][0]["file"]
    evidence = question["expected"]["answer_example"]["original_evidence"]
    filler = _phrase(random_, True, 300)
    return [{"source_path": path, "text": evidence + filler}, {"source_path": "other.md", "text": filler}]


def _changed(random_: random.Random, text: str) -> str:
    """The text with a few characters dropped or replaced."""
    letters = list(text)
    for _ in range(random_.randint(0, 1 + len(letters) // 12)):
        letters[random_.randrange(len(letters))] = random_.choice(_HAN[:20])
    return "".join(letters)


def _answered(random_: random.Random, value: Any) -> Any:
    """Lists and long texts are mostly said in other words, classes mostly right."""
    if isinstance(value, list):
        return [_changed(random_, item) for item in value]
    return _changed(random_, value) if len(value) > 40 or random_.random() < 0.15 else value


def _output(random_: random.Random, question: dict[str, Any]) -> str:
    example = question["expected"]["answer_example"]
    if random_.random() < REPEATED:
        answer = {**example, "source_map": question["expected"]["source_map"]}
    else:
        answer = {name: _answered(random_, value) for name, value in example.items()}
        answer["source_map"] = question["expected"]["source_map"]
    text = json.dumps(answer, ensure_ascii=random_.random() < 0.2)
    if random_.random() < DAMAGED:
        return _damaged(random_, text)
    return text


def _damaged(random_: random.Random, text: str) -> str:
    kind = random_.randrange(6)
    if kind == 0:
        return text[: random_.randrange(len(text))]
    if kind == 1:
        return f"```json\n{text}\n```"
    if kind == 2:
        return f"Here is the answer: {text} Hope it helps."
    if kind == 3:
        return text.replace("main_topic", "topic")
    if kind == 4:
        return text[:-1] + ",}"
    return ""
