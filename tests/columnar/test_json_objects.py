"""What is JSON in a model's answer, and what is wrong where it is not, against the slow classifier."""

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.json_text import classify, json_text
from rageval_batch.columnar import json_objects
from rageval_batch.columnar.strings import LARGE_STRING
from support import tapes
from support.strategies import (
    COMMON_SHAPES,
    DAMAGED_TEXTS,
    FRAGMENTS,
    JSON_TEXTS,
    KEYS,
    MIXED,
    SPACES,
    VALUES,
    damaged,
    shaped,
    small_texts,
    written,
)

OBJECTS = st.dictionaries(KEYS, VALUES, max_size=4).flatmap(written)
AROUND = st.one_of(
    st.just(""), small_texts(SPACES, 3), FRAGMENTS, st.sampled_from(["Answer: ", "{", "}", " {} ", "```"])
)
FENCES = st.sampled_from(["```", "````", "``", "`", "```json", "``` json\n", "```\n", "```c++ ", "```JSON5\u3000"])


@st.composite
def raw_answers(draw: st.DrawFn) -> str | None:
    """An answer as models give them: an object, or in a fence, amid other text, broken, blank or null."""
    kind = draw(st.integers(0, 9))
    if kind == 0:
        return draw(st.sampled_from([None, "", " ", SPACES, "\x1f", "\ufeff"]))
    core = draw(st.one_of(OBJECTS, JSON_TEXTS, DAMAGED_TEXTS, OBJECTS.flatmap(damaged)))
    if kind <= 2:
        core = draw(FENCES) + core + draw(st.sampled_from(["", "\n"])) + draw(FENCES)
    if kind in (2, 3, 4):
        core = draw(AROUND) + core + draw(AROUND)
    if kind == 5:
        core = core[: draw(st.integers(0, len(core)))]
    return draw(damaged(core)) if kind == 6 else core


def wanted(text: str | None, lenient: bool) -> tuple[str | None, bool, bool, Any]:
    """(reason, usable, repaired, value) of one answer."""
    reason, value = classify(text)
    mended = lenient and reason in ("code_fence", "extra_text")
    if mended and not isinstance(value, dict):
        return "not_object", False, False, None
    usable = reason is None or mended
    return reason, usable, mended, value if usable else None


def check(column: pa.Array, lenient: bool) -> None:
    """Every row of the column is what the oracle says."""
    found = json_objects.read_objects(column, lenient)
    values = tapes.values(found.tape)
    reasons = json_objects.reason_names(found.reason).to_pylist()
    for row, text in enumerate(column.to_pylist()):
        reason, usable, repaired, value = wanted(text, lenient)
        assert (reasons[row], bool(found.usable[row]), bool(found.repaired[row])) == (reason, usable, repaired), text
        if usable:
            assert json_text(values[row]) == json_text(value), text


@given(st.lists(raw_answers(), max_size=5), st.booleans(), st.sampled_from(COMMON_SHAPES))
def test_answers(texts: list[str | None], lenient: bool, shape: str) -> None:
    check(shaped(texts, shape), lenient)


@given(
    st.lists(
        st.one_of(small_texts('{}[]"`1a:\n ', 14), small_texts("`{} j1", 12), st.text(MIXED, max_size=6)), max_size=9
    )
)
def test_answers_of_few_characters(texts: list[str]) -> None:
    check(pa.array(texts, LARGE_STRING), False)
    check(pa.array(texts, LARGE_STRING), True)


CASES = [
    ("```json\n{}\n```", "code_fence"),
    ("```json {}```", "code_fence"),
    ("```{}```", "code_fence"),
    ("````\n{}\n```", "code_fence"),
    ("\u3000```json\n{}\n```\n", "code_fence"),
    ("```true```", "code_fence"),
    ("```12 34```", "code_fence"),
    ("```json\n{}", "extra_text"),
    ("``json\n{}``", "extra_text"),
    ("```\n{}\n``` done", "extra_text"),
    ("{} {}", "extra_text"),
    ("[1] {}", "extra_text"),
    ("{}\x00", "extra_text"),
    ("\ufeff{}", "extra_text"),
    ("say {1} {}", "invalid_json"),
    ('{"a": 1,}', "invalid_json"),
    ('{"a": NaN}', "invalid_json"),
    ('{"a": "\\ud800"}', "invalid_json"),
    ('{"a": [1}', "truncated_json"),
    ('{"a": "}', "truncated_json"),
    ("```json\n{", "truncated_json"),
    ("```{```", "truncated_json"),
    ("no", "invalid_json"),
    ("``````", "invalid_json"),
    ("[1,", "invalid_json"),
    ("[]", "not_object"),
    ('"{}"', "not_object"),
    ("null", "not_object"),
    (SPACES, "empty_output"),
    ("\u00a0{}\u2003", None),
    ("{}", None),
]


@pytest.mark.parametrize(("text", "reason"), CASES)
def test_reason(text: str, reason: str | None) -> None:
    found = json_objects.read_objects(pa.array([text], LARGE_STRING), lenient=False)
    assert json_objects.reason_names(found.reason).to_pylist() == [reason]
    assert found.usable.tolist() == [reason is None]
    assert not found.repaired.any()


@pytest.mark.parametrize("lenient", [False, True])
def test_all_cases_in_one_column(lenient: bool) -> None:
    check(pa.array([None, *(text for text, _ in CASES)] * 3, LARGE_STRING), lenient)


@pytest.mark.parametrize("lenient", [False, True])
def test_columns_of_nothing(lenient: bool) -> None:
    assert len(json_objects.read_objects(pa.array([], LARGE_STRING), lenient).reason) == 0
    nothing = json_objects.read_objects(pa.nulls(3, LARGE_STRING), lenient)
    assert json_objects.reason_names(nothing.reason).to_pylist() == ["empty_output"] * 3


@pytest.mark.parametrize(
    "text", ["{" * 50_000, "`" * 50_000, "```" + "[" * 50_000 + "]" * 50_000 + "```", "}" * 50_000]
)
def test_hostile_answers(text: str) -> None:
    check(pa.array([text, "{}", None], LARGE_STRING), lenient=True)
