"""Seeded sweeps for measuring, one a profile: made-up ones, or the packaged samples grown to any size."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY
from pathlib import Path
from typing import Any

from rageval_batch.bench import synthetic
from rageval_batch.bench.functions import made_up_texts
from rageval_batch.dataclass import dataclass
from rageval_batch.resources import samples_folder

COPIES = 20  # of every sample question
DAMAGED = 0.03
VARIED = 0.5  # of the texts of an answer
_LARGE = 1_000  # from here on a number is an amount
_FILLERS = (
    (
        "据笔录",
        "此外",
        "另外",
        "大致",
        "后来",
        "当时",
        "其中",
        "据了解",
        "事后",
        "现场",
        "双方",
        "随后",
        "之前",
        "当天",
    ),
    ("по данным отчёта", "также", "в итоге", "кроме того", "как указано", "позже", "в целом", "по словам автора"),
    ("the record says", "as far as known", "later", "in the second part", "by the way", "as noted above", "in short"),
)
_HAN, _CYRILLIC = re.compile("[\u3400-\u9fff]"), re.compile("[а-яё]", re.IGNORECASE)
_BLANK, _DIGIT = re.compile(" "), re.compile("[0-9]")
_IDS = ("id", "question_id", "task_id", "output_id")


@dataclass(frozen=True)
class Sweep:
    """Where the files of a sweep lie."""

    outputs: Path
    questions: Path
    contexts: Path | None


@dataclass(frozen=True)
class SweepKind:
    """How the sweep of a profile is made, and what DuckDB decodes of its answers for the floor."""

    write: Callable[[Path, int, int], Sweep]
    answer: str = "output"  # the member of a row that is the answer
    json_answers: bool = True
    _: KW_ONLY
    structure: str | None = None  # what is decoded of a JSON answer; None: all that the answers have


def repeat_answers(outputs: Path, answer: str, share: float, *, seed: int) -> None:
    """Replace so many of the answers by the first one to the same question."""
    drawn, first = random.Random(seed), dict[str, Any]()
    aside = outputs.with_suffix(".aside")
    with outputs.open(encoding="utf-8") as lines, aside.open("w", encoding="utf-8") as out:
        for row in map(json.loads, lines):
            question = next((row[name] for name in _IDS if name in row), "")
            if drawn.random() < share:
                row[answer] = first.setdefault(question, row[answer])
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
    aside.replace(outputs)


def _made_up(folder: Path, rows: int, seed: int) -> Sweep:
    files = synthetic.write_sweep(folder, rows, seed)
    return Sweep(files.outputs, files.questions, files.contexts)


def _references(folder: Path, rows: int, seed: int) -> Sweep:
    """Answers of 300 characters with their references and retrieved texts."""
    texts = made_up_texts(rows, seed)
    answers, references, chunks = (column.to_pylist() for column in texts)
    count = len(dict.fromkeys(references))
    question_ids = [f"q{k:05d}" for k in range(count)]
    return _written(
        folder,
        [{"id": name, "question": "?", "reference": references[k]} for k, name in enumerate(question_ids)],
        [
            {"question_id": name, "chunks": [{"source_path": "a.md", "text": text} for text in chunks[k]]}
            for k, name in enumerate(question_ids)
        ],
        outputs=(
            {"run_id": f"run-{row // count:05d}", "question_id": question_ids[row % count], "output": answer}
            for row, answer in enumerate(answers)
        ),
    )


def _lines(*paths: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").splitlines()]


def _written(
    folder: Path, questions: list[dict[str, Any]], contexts: list[dict[str, Any]], *, outputs: Iterator[dict[str, Any]]
) -> Sweep:
    def write(name: str, rows: Iterator[dict[str, Any]]) -> Path:
        with (folder / name).open("w", encoding="utf-8") as out:
            out.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        return folder / name

    return Sweep(
        write("outputs.jsonl", outputs),
        write("questions.jsonl", iter(questions)),
        write("contexts.jsonl", iter(contexts)) if contexts else None,
    )


def _legal_questions(folder: Path) -> list[dict[str, Any]]:
    """The questions of all files, each with its type."""
    found = []
    for path in sorted(folder.glob("*.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        found += [{"type": document["benchmark_type"], **question} for question in document["questions"]]
    return found


def _grown(
    profile: str, questions: str | None, contexts: str | None = None, *, outputs: str = "outputs/*.jsonl"
) -> Any:
    """How the samples of a profile are grown: copies of its questions, and answers in ever other words."""

    def write(folder: Path, rows: int, seed: int) -> Sweep:
        samples, drawn = samples_folder() / profile, random.Random(seed)
        question_rows = _lines(samples / questions) if questions else _legal_questions(samples)
        context_rows = _lines(samples / contexts) if contexts else []
        answered = _lines(*sorted(samples.glob(outputs)))
        names = {row[name] for row in question_rows for name in _IDS if name in row}
        copies = range(COPIES)

        def answers() -> Iterator[dict[str, Any]]:
            for number in range(rows):
                turn, place = divmod(number, len(answered))
                row = _renamed(answered[place], names, turn % COPIES)
                row["run_id"] = f"{row['run_id']}-{turn // COPIES:05d}"
                yield {name: _answer(drawn, value) if name in _ANSWERS else value for name, value in row.items()}

        return _written(
            folder,
            [_renamed(row, names, copy) for copy in copies for row in question_rows],
            [_renamed(row, names, copy) for copy in copies for row in context_rows],
            outputs=answers(),
        )

    return write


_ANSWERS = ("output", "retrieved_ids")


def _renamed(value: Any, names: set[str], copy: int) -> Any:
    """A value whose members that name a question or an answer name its copy; JSON inside a text too."""
    if isinstance(value, dict):
        return {
            name: f"{part}.{copy}" if name in _IDS and part in names else _renamed(part, names, copy)
            for name, part in value.items()
        }
    if isinstance(value, list):
        return [_renamed(part, names, copy) for part in value]
    if isinstance(value, str) and value.startswith("{"):
        try:
            return json.dumps(_renamed(json.loads(value), names, copy), ensure_ascii=False)
        except ValueError:
            return value
    return value


def _answer(drawn: random.Random, value: Any) -> Any:
    """An answer in other words; some are damaged."""
    if isinstance(value, str) and value.startswith("{"):
        try:
            value = json.dumps(_varied(drawn, json.loads(value), VARIED), ensure_ascii=False)
        except ValueError:
            value = _varied_text(drawn, value)
    else:
        value = _varied(drawn, value, 1.0 if isinstance(value, str) else VARIED)
    if isinstance(value, list) or drawn.random() >= DAMAGED:
        return value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text[: drawn.randrange(len(text) + 1)]


def _varied(drawn: random.Random, value: Any, share: float) -> Any:
    """Texts with words added and figures changed, other amounts, lists of plain names in another order."""
    if isinstance(value, dict):
        return {name: _varied(drawn, part, share) for name, part in value.items()}
    if isinstance(value, list):
        if len(value) > 1 and isinstance(value[0], str) and drawn.random() < share:
            return drawn.sample(value, len(value))
        return [_varied(drawn, part, share) for part in value]
    if isinstance(value, str) and (" " in value or not value.isascii()) and drawn.random() < share:
        return _varied_text(drawn, value)
    if isinstance(value, int) and value >= _LARGE and drawn.random() < share:
        return value + drawn.randrange(1_000)
    return value


def _varied_text(drawn: random.Random, text: str) -> str:
    """A text with words of its language added between its own, and perhaps another figure."""
    han = _HAN.search(text) is not None
    fillers = _FILLERS[0 if han else 1 if _CYRILLIC.search(text) else 2]
    for _ in range(drawn.randint(1, 2)):
        at = drawn.choice([*(m.start() for m in (_HAN if han else _BLANK).finditer(text)), len(text)])
        text = text[:at] + ("" if han else " ") + drawn.choice(fillers) + text[at:]
    figures = [m.start() for m in _DIGIT.finditer(text)]
    if figures and drawn.random() < VARIED:
        at = drawn.choice(figures)
        text = f"{text[:at]}{drawn.randrange(10)}{text[at + 1 :]}"
    return text


_EVAL_JSON = json.dumps(
    {
        **dict.fromkeys(("target_audience", "main_topic", "sub_topic", "original_evidence"), "VARCHAR"),
        "detailed_description": ["VARCHAR"],
        "predicted_questions": ["VARCHAR"],
        "source_map": [{"refs": [{"file": "VARCHAR", "anchors": ["VARCHAR"]}]}],
    }
)
SWEEPS = {
    "eval_json_v2": SweepKind(_made_up, structure=_EVAL_JSON),
    "include_rate": SweepKind(_grown("include_rate", "questions.jsonl"), json_answers=False),
    "claim_evidence": SweepKind(_grown("claim_evidence", "gold.jsonl")),
    "judge_protocol": SweepKind(_grown("judge_protocol", "samples.jsonl", "targets.jsonl", outputs="judgements.jsonl")),
    "legal_rag": SweepKind(_grown("legal_rag", None)),
    "reference": SweepKind(_references, json_answers=False),
    "retrieval": SweepKind(_grown("retrieval", "questions.jsonl"), "retrieved_ids", json_answers=False),
}
