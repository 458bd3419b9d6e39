"""The functions of the profile `reference` on made-up answers of 300 characters, beside the public implementations."""

from __future__ import annotations

import json
import random
import re
import string
import time
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import pyarrow as pa

from rageval_batch.columnar.functions import FUNCTIONS
from rageval_batch.columnar.strings import LARGE_STRING
from rageval_batch.inputs.readers.blocks import BLOCK_ROWS
from rageval_batch.model import EvalSet

LENGTH = 300  # characters of a text
PUBLIC_ROWS = 1_000  # of the sample that the public implementations score
_REFERENCES = 1_000
_CHUNKS = 3
_CHANGED = 0.3  # of the words of an answer
_BATCH = 2_048  # rows of a call, as DuckDB makes them
PROFILE = "reference"

_ENGLISH = (
    "The contract of the tenant ends in March, a notice of 30 days is due before the rent of 1,250.50 dollars changes "
    "again; an agent of the owner keeps every key and the report of each visit until all of it is paid"
)
_RUSSIAN = (
    "Выручка компании выросла на 78,3 процента и составила более 1200 рублей, директор сообщил, что ответ на вопрос "
    "не изменился с прошлого года и договор действует до марта"
)
_HAN = "门禁管理访客登记流程柜台证件填写值班人员陪同离开缴回临时卡餐饮服务部清洁备品维修通报处理退费比例全额，。42"
_KANA = "東京タワーの高さは三百三十三メートルです。毎日バックアップされるデータは、安全に保存します。"
_LANGUAGES = ((_ENGLISH.split(), " "), (_RUSSIAN.split(), " "), (list(_HAN), ""), (list(_KANA), ""))

# How the functions that take texts are called: columns of `Texts` by name.
_CALLS = {
    "token_f1": ("answers", "references"),
    "exact_match": ("answers", "references"),
    "token_precision": ("answers", "references"),
    "token_recall": ("answers", "references"),
    "rouge_l": ("answers", "references"),
    "chrf": ("answers", "references"),
    "bigram_jaccard": ("answers", "references"),
    "contains_any": ("answers", "references"),
    "refused": ("answers",),
    "numbers_supported": ("answers", "chunks"),
    "grounded_share": ("answers", "chunks"),
    "script": ("answers",),
}


class Texts(NamedTuple):
    """Answers with their references and retrieved texts, in four languages."""

    answers: pa.Array
    references: pa.Array
    chunks: pa.Array


class Rate(NamedTuple):
    """How fast rows were scored by one implementation on one core."""

    function: str
    implementation: str
    rows: int
    cpu_s: float

    def as_dict(self) -> dict[str, Any]:
        """A line of the table."""
        return {**self._asdict(), "rows_per_s": self.rows / self.cpu_s, "us_per_row": 1e6 * self.cpu_s / self.rows}


def made_up_texts(rows: int, seed: int) -> Texts:
    """A seeded sample: answers are references with some of their words replaced."""
    drawn = random.Random(seed)

    def joined(words: list[str], gap: str) -> str:
        return gap.join(words)[:LENGTH]

    written = []
    for k in range(_REFERENCES):
        words, gap = _LANGUAGES[k % len(_LANGUAGES)]
        written.append((drawn.choices(words, k=LENGTH if not gap else LENGTH // 4), words, gap))
    references = [joined(chosen, gap) for chosen, _, gap in written]
    answers = []
    for row in range(rows):
        chosen, words, gap = written[row % _REFERENCES]
        answers.append(joined([drawn.choice(words) if drawn.random() < _CHANGED else w for w in chosen], gap))
    chunks = [[references[(row + 4 * k) % _REFERENCES] for k in range(_CHUNKS)] for row in range(rows)]
    own = [references[row % _REFERENCES] for row in range(rows)]
    return Texts(pa.array(answers, LARGE_STRING), pa.array(own, LARGE_STRING), pa.array(chunks))


def measure(rows: int, seed: int) -> list[Rate]:
    """Every function of the profile over all rows, then the public implementations over a sample of the same rows."""
    texts = made_up_texts(rows, seed)
    rates = []
    for name, columns in _CALLS.items():
        given = [getattr(texts, column) for column in columns]
        FUNCTIONS[name].call(*(column[:1] for column in given))  # tables are made at the first call
        start = time.process_time()
        for first in range(0, rows, _BATCH):
            FUNCTIONS[name].call(*(column[first : first + _BATCH] for column in given))
        rates.append(Rate(name, "rageval", rows, cpu_s=time.process_time() - start))
    rates.append(_whole_profile(made_up_texts(rows, seed + 1)))  # other answers: numbers of texts read before are kept
    sample = min(rows, PUBLIC_ROWS)
    answers, references = (column[:sample].to_pylist() for column in texts[:2])
    for name, implementation, score in _public():
        start = time.process_time()
        for answer, reference in zip(answers, references, strict=True):
            score(answer, reference)
        rates.append(Rate(name, implementation, sample, cpu_s=time.process_time() - start))
    return rates


def _whole_profile(texts: Texts) -> Rate:
    """All metrics of the profile, from answers to score columns, a batch at a time."""
    from rageval_batch.profiles.registry import get_profile

    rows, count = len(texts.answers), min(len(texts.answers), _REFERENCES)
    chunks = [json.dumps([{"text": text} for text in found]) for found in texts.chunks[:count].to_pylist()]
    ids = tuple(f"q{k}" for k in range(count))
    references = texts.references[:count].to_pylist()
    objects = tuple({"id": name, "reference": text} for name, text in zip(ids, references, strict=True))
    eval_set = EvalSet(
        ids, objects, (None,) * count, weights=(1.0,) * count, chunks=dict(zip(ids, chunks, strict=True))
    )
    profile = get_profile(PROFILE)
    prepared = profile.scoring.prepare(eval_set, profile.read_params({}))
    table = pa.table(
        {
            "run_id": pa.array([f"r{row // count}" for row in range(rows)], LARGE_STRING),
            "question": pa.array((row % count for row in range(rows)), pa.int32()),
            "repeat": pa.array([0] * rows, pa.int32()),
            "input": pa.array([0] * rows, pa.int32()),
            "line": pa.array(range(rows), pa.int64()),
            "output": texts.answers,
            "chunks": pa.nulls(rows, LARGE_STRING),
        }
    )
    batches = table.combine_chunks().to_batches(max_chunksize=BLOCK_ROWS)
    profile.scoring.score(prepared, batches[0].slice(0, 1))  # the expressions are bound at the first call
    start = time.process_time()
    for batch in batches:
        profile.scoring.score(prepared, batch)
    return Rate("all of the profile", "rageval", rows, cpu_s=time.process_time() - start)


def _public() -> Iterator[tuple[str, str, Callable[[str, str], Any]]]:
    """(function, package, how one answer is scored) of the public implementations that are installed."""
    yield "token_f1", "SQuAD v1.1 rules", squad_f1
    if find_spec("rouge_score"):
        scorer = import_module("rouge_score.rouge_scorer").RougeScorer(["rougeL"])
        yield "rouge_l", "rouge-score", lambda answer, reference: scorer.score(reference, answer)
    if find_spec("sacrebleu"):
        metric = import_module("sacrebleu.metrics").CHRF()
        yield "chrf", "sacreBLEU", lambda answer, reference: metric.sentence_score(answer, [reference])


def squad_f1(answer: str, reference: str) -> float:
    """F1 of tokens as the official script of SQuAD v1.1 computes it."""
    punctuation = set(string.punctuation)

    def tokens(text: str) -> list[str]:
        plain = "".join(c for c in text.lower() if c not in punctuation)
        return re.sub(r"\b(a|an|the)\b", " ", plain).split()

    got, wanted = tokens(answer), tokens(reference)
    shared = sum((Counter(got) & Counter(wanted)).values())
    if shared == 0:
        return 0.0
    precision, recall = shared / len(got), shared / len(wanted)
    return 2 * precision * recall / (precision + recall)
