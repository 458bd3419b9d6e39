"""The functions against the public implementations that people know them from, on pairs of texts in four languages."""

import random
import re
import string
from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from oracles.functions import squad_tokens, words
from rageval_batch import functions
from rageval_batch.columnar.functions import FUNCTIONS

PAIRS = 3000
TOLERANCE = 1e-9

_SENTENCES = {
    "en": (
        "The Eiffel Tower, in Paris, is 330 metres tall. A visitor's ticket costs $12.50 - or less! An old man doesn't "
        "remember the answer; it isn't (really) known. E-mail: a.b@c.org. U.S. GDP grew 2.5% in the 3rd quarter."
    ),
    "ru": (
        "Выручка компании выросла на 78,3% и составила более 1 200 рублей. Ответ: «не указано». Сергей Иванов — "
        "директор; ёлка стоит 5 тысяч. Москва, ул. Тверская, д. 1 находится рядом с Кремлём!"
    ),
    "zh": (
        "餐飲服務部負責門禁管理，訪客須登記。2020年8月30日，公司支付42,000元。张局长表示：「情况不明」。"
        "北京市朝阳区人民法院认为，合同有效；乙方应当承担违约责任。A股上涨3%！"
    ),
    "ja": (
        "東京タワーの高さは333メートルです。データベースは、毎日バックアップされます。申し訳ありませんが、お答えできません。"
        "『吾輩は猫である』という小説を読んだ。AIのコストは約5万円だった。"
    ),
}


def pieces(language: str) -> list[str]:
    """Words with their punctuation, or characters."""
    return re.findall(r"\S+\s*" if language in ("en", "ru") else r".", _SENTENCES[language])


def changed(rng: random.Random, parts: list[str], other: list[str]) -> list[str]:
    """The parts with some dropped, moved, repeated or taken from elsewhere."""
    out = list(parts)
    for _ in range(rng.randrange(1 + len(out) // 2)):
        at = rng.randrange(len(out) + 1)
        way = rng.random()
        if way < 0.4:
            del out[at : at + rng.randrange(1, 4)]
        elif way < 0.6:
            out[at:at] = rng.choices(other, k=rng.randrange(1, 3))
        elif way < 0.8:
            out[at:at] = out[:2]
        else:
            out[:at] = rng.sample(out[:at], at)
    return out


def pairs() -> list[tuple[str, str]]:
    """Answers and references: alike, unlike, empty, of two languages."""
    rng = random.Random(70)
    made = []
    for _ in range(PAIRS):
        language, second = rng.choices(list(_SENTENCES), k=2)
        own, foreign = pieces(language), pieces(second)
        start = rng.randrange(len(own))
        reference = own[start : start + rng.randrange(40)]
        answer = changed(rng, reference, foreign) if rng.random() < 0.8 else rng.choices(foreign, k=rng.randrange(30))
        made.append(("".join(answer), "".join(reference)))
    return [*made, ("", ""), ("x", ""), ("", "x"), ("the", "an"), (" \x1c", "\x00"), ("😀😀 é", "😀 é")]


ROWS = pairs()
ANSWERS, REFERENCES = pa.array([answer for answer, _ in ROWS]), pa.array([reference for _, reference in ROWS])
SEVERAL = [[ROWS[k][1], ROWS[(k + 1) % len(ROWS)][1], ROWS[k][0][:10]] for k in range(len(ROWS))]


def scores(name: str, *columns: Any) -> list[float]:
    """A function over all rows."""
    found: list[float] = FUNCTIONS[name].call(*columns).to_pylist()
    return found


def assert_near(got: list[float], want: list[float]) -> None:
    """Equal to 1e-9, row by row."""
    wrong = [(ROWS[k], g, w) for k, (g, w) in enumerate(zip(got, want, strict=True)) if abs(g - w) > TOLERANCE]
    assert not wrong, wrong[:3]


# The functions of the official script evaluate-v1.1.py, with its tokens exchangeable.


def squad_f1(prediction: list[str], truth: list[str]) -> float:
    num_same = sum((Counter(prediction) & Counter(truth)).values())
    if num_same == 0:
        return 0.0
    precision, recall = 1.0 * num_same / len(prediction), 1.0 * num_same / len(truth)
    return (2 * precision * recall) / (precision + recall)


def test_words_of_ascii_are_those_of_the_squad_script() -> None:
    rng = random.Random(11)
    alphabet = string.printable + "\x00\x01\x1c\x1d\x1e\x1f\x7f" + "aan the a an the " * 8
    made = ["".join(rng.choices(alphabet, k=rng.randrange(40))) for _ in range(PAIRS)]
    ascii_only = [re.sub(r"[^\x00-\x7f]", "", text) for row in ROWS for text in row]
    for texts in (made, ascii_only):
        assert FUNCTIONS["words"].call(pa.array(texts)).to_pylist() == [squad_tokens(text) for text in texts]


def test_squad() -> None:
    """Beyond the script, which gives 0 there: two texts without words have an F1 of 1."""
    tokens = [(words(answer), words(reference)) for answer, reference in ROWS]
    assert_near(
        scores("token_f1", ANSWERS, REFERENCES), [1.0 if not a and not r else squad_f1(a, r) for a, r in tokens]
    )
    assert_near(scores("exact_match", ANSWERS, REFERENCES), [float(" ".join(a) == " ".join(r)) for a, r in tokens])
    best = [max(squad_f1(words(row[0]), words(ref)) for ref in refs) for row, refs in zip(ROWS, SEVERAL, strict=True)]
    empty = [not words(row[0]) for row in ROWS]
    got = scores("token_f1", ANSWERS, pa.array(SEVERAL))
    assert_near(
        [0.0 if none else one for one, none in zip(got, empty, strict=True)],
        [0.0 if none else one for one, none in zip(best, empty, strict=True)],
    )


@pytest.mark.parametrize(("name", "theirs"), [("rouge_1", "rouge1"), ("rouge_2", "rouge2"), ("rouge_l", "rougeL")])
def test_rouge_score(name: str, theirs: str) -> None:
    from rouge_score.rouge_scorer import RougeScorer

    class Words:
        def tokenize(self, text: str) -> list[str]:
            return words(text)

    scorer = RougeScorer([theirs], tokenizer=Words())
    want = [scorer.score(reference, answer)[theirs].fmeasure for answer, reference in ROWS]
    assert_near(scores(name, ANSWERS, REFERENCES), want)
    some = range(0, len(ROWS), 5)
    want = [scorer.score_multi(SEVERAL[k], ROWS[k][0])[theirs].fmeasure for k in some]
    got = scores(name, ANSWERS.take(pa.array(some)), pa.array([SEVERAL[k] for k in some]))
    assert all(abs(g - w) <= TOLERANCE for g, w in zip(got, want, strict=True))


def test_sacrebleu() -> None:
    from sacrebleu.metrics import CHRF

    metric = CHRF()
    assert_near(
        scores("chrf", ANSWERS, REFERENCES),
        [metric.sentence_score(answer, [reference]).score / 100 for answer, reference in ROWS],
    )
    want = [metric.sentence_score(row[0], refs).score / 100 for row, refs in zip(ROWS, SEVERAL, strict=True)]
    assert_near(scores("chrf", ANSWERS, pa.array(SEVERAL)), want)


def test_rapidfuzz() -> None:
    from rapidfuzz.distance import Indel, Levenshtein

    for name, module in (("indel_similarity", Indel), ("levenshtein_similarity", Levenshtein)):
        assert_near(scores(name, ANSWERS, REFERENCES), [module.normalized_similarity(*row) for row in ROWS])


def test_trec_eval() -> None:
    """Rankings of distinct ids, for trec_eval takes no others; repetitions are in the oracle's tests."""
    import pytrec_eval

    rng = random.Random(5)
    ids = [f"d{k}" for k in range(25)]
    rankings = [rng.sample(ids, rng.randrange(1, 20)) for _ in range(1000)]
    grades = [{one: rng.randrange(4) for one in rng.sample(ids, rng.randrange(1, 10))} for _ in rankings]
    grades = [{**found, "d0": found.get("d0", 0) or 1} for found in grades]  # at least one that is relevant
    run = {str(q): {one: -float(rank) for rank, one in enumerate(found)} for q, found in enumerate(rankings)}
    cuts = (1, 3, 5, 10)
    measures = {f"{name}.{','.join(map(str, cuts))}" for name in ("recall", "P", "success", "ndcg_cut")}
    judged = pytrec_eval.RelevanceEvaluator(
        {str(q): found for q, found in enumerate(grades)}, measures | {"recip_rank", "map"}
    ).evaluate(run)
    column = pa.array(rankings)
    relevant = pa.array([[one for one, grade in found.items() if grade > 0] for found in grades])
    everything, their_grades = pa.array([list(g) for g in grades]), pa.array([list(g.values()) for g in grades])

    def near(got: pa.Array, measure: str) -> None:
        want = [judged[str(q)][measure] for q in range(len(rankings))]
        assert all(abs(g - w) <= TOLERANCE for g, w in zip(got.to_pylist(), want, strict=True)), measure

    near(FUNCTIONS["reciprocal_rank"].call(column, relevant), "recip_rank")
    near(FUNCTIONS["average_precision"].call(column, relevant), "map")
    for cut in cuts:
        k = pa.array([cut] * len(rankings))
        near(FUNCTIONS["recall_at"].call(column, relevant, k), f"recall_{cut}")
        near(FUNCTIONS["precision_at"].call(column, relevant, k), f"P_{cut}")
        near(FUNCTIONS["hit_at"].call(column, relevant, k), f"success_{cut}")
        near(FUNCTIONS["ndcg_at"].call(column, everything, their_grades, k), f"ndcg_cut_{cut}")


def _invalid(kind: str) -> pa.Array:
    """Texts that are no UTF-8, or that are said to end behind their buffer."""
    data = pa.py_buffer(b"a\xff\xfeb" if kind == "bytes" else b"ab")
    ends = [0, 2, 4] if kind == "bytes" else [0, 4_000_000, 2]
    return pa.LargeStringArray.from_buffers(2, pa.py_buffer(np.array(ends, np.int64)), data)


@pytest.mark.parametrize("kind", ["bytes", "offsets"])
@pytest.mark.parametrize("name", ["token_f1", "bigram_jaccard", "keywords", "squash"])
def test_columns_that_are_no_valid_arrow_data_are_refused(kind: str, name: str) -> None:
    """At the door: compiled loops would read beyond the end of such a column."""
    column, others = _invalid(kind), len(FUNCTIONS[name].arguments) - 1
    for given in (column, pa.chunked_array([column, column])):
        with pytest.raises(
            ValueError, match=rf"{name}\(.*\): \w+: the column is no valid Arrow data .*Make it of valid text"
        ):
            getattr(functions, name)(given, *([["a"] * len(given)] * others))


def test_halves_of_surrogate_pairs_are_refused_by_the_name_of_their_argument() -> None:
    """In a list, and as a text that stands for a column."""
    for texts in (["a\ud800"], "a\ud800"):
        with pytest.raises(ValueError, match=r"contains\(.*\): \w+: '\\ud800' is half of a surrogate pair\. Make it"):
            functions.contains(["a"], texts)


def test_polars_frames_of_foreign_buffers_are_refused() -> None:
    """Polars takes the texts of an Arrow column as they are."""
    frame = pl.DataFrame({"a": pl.from_arrow(_invalid("bytes"))})
    with pytest.raises(Exception, match="is no valid Arrow data"):
        frame.select(functions.expressions.expression(FUNCTIONS["squash"], "a"))
