"""Hostile answers of profile eval_json_v2 against the oracle: the room that one answer leaves is used by the next."""

import json
from functools import partial
from typing import Any
from unittest.mock import patch

from hypothesis import example, given, settings
from hypothesis import strategies as st

from oracles import eval_json_v2 as oracle
from rageval_batch.columnar.kernels.answers import Comparison
from rageval_batch.profiles.eval_json_v2 import compare
from rageval_batch.profiles.eval_json_v2.declaration import FIELDS
from support.effort import examples
from support.eval_json_v2 import batch_of, differences, ready, rows_of
from support.strategies import damaged, escaped

LONG = (
    "訪客登記流程：櫃檯證件填寫，值班人員陪同離開；" * 9
)  # more than 128 code points, which is what one step compares
PIECES = (
    "",
    " \u3000\n",
    "門禁",
    "門禁管理",
    "管理門禁",
    "abc",
    "ab c",
    "😀門😀禁",
    LONG,
    LONG[3:140],
    LONG[:60] * 2,
    "\x00\ue000",
)
TEXTS = st.one_of(st.sampled_from(PIECES), st.lists(st.sampled_from(PIECES), max_size=3).map("".join))
EXPECTED = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys((*FIELDS[:3], "original_evidence"), TEXTS),
        **{name: st.lists(TEXTS, max_size=4) for name in ("detailed_description", "predicted_questions")},
    },
)
CHUNKS = st.one_of(
    st.none(), st.lists(st.builds(lambda text: {"source_path": "a.md", "text": text}, TEXTS), min_size=1, max_size=2)
)
# Values as they are written: scalars, nested ones, and halves of surrogate pairs, which no JSON text has.
ODD = st.sampled_from(
    ["null", "true", "-0.0", "1e400", "[]", "{}", '""', "[[[[]]]]", '{"a":{"a":[null]}}', "[" * 60 + "]" * 60]
)
STRINGS = TEXTS.flatmap(
    lambda text: escaped(text) if len(text) < 12 else st.sampled_from([json.dumps(text), f'"{text}"'])
)
HALVES = st.sampled_from([r'"\ud83d"', r'"\ude00\ud83d"', r'"\ud83d\u0041"', r'"\uD83"'])


def listed(items: st.SearchStrategy[str], most: int = 4) -> st.SearchStrategy[str]:
    """A list of written values, some of them again."""
    return st.tuples(st.lists(items, max_size=most), st.integers(1, 3)).map(
        lambda drawn: f"[{','.join(drawn[0] * drawn[1])}]"
    )


def members(names: tuple[str, ...], values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """An object with some of the names, some of them again, some with escapes."""
    member = st.tuples(st.sampled_from(names).flatmap(escaped), values).map(":".join)
    return st.lists(member, max_size=5).map(lambda found: f"{{{','.join(found)}}}")


ANCHORS = listed(st.one_of(STRINGS, STRINGS, ODD))
REF = members(("file", "anchors"), st.one_of(st.just('"a.md"'), st.just(r'"\u0061.md "'), ANCHORS, ANCHORS, ODD))
ENTRY = members(("refs", "part"), st.one_of(listed(st.one_of(REF, REF, ODD)), ODD))
VALUE_OF = {
    **dict.fromkeys((*FIELDS[:3], "original_evidence"), STRINGS),
    **dict.fromkeys(("detailed_description", "predicted_questions"), listed(st.one_of(STRINGS, STRINGS, STRINGS, ODD))),
    "source_map": listed(st.one_of(ENTRY, ENTRY, ODD)),
}


@st.composite
def answers(draw: st.DrawFn) -> str:
    """All fields in any order, and before them some again: with values of any type, of which the last counts."""
    again = [
        (name, draw(st.one_of(ODD, VALUE_OF[name]))) for name in draw(st.lists(st.sampled_from(FIELDS), max_size=2))
    ]
    last = [(name, draw(VALUE_OF[name])) for name in draw(st.permutations(FIELDS))]
    if draw(st.integers(0, 9)) == 0:
        last[draw(st.integers(0, 6))] = (draw(st.sampled_from(FIELDS)), draw(st.one_of(HALVES, ODD)))
    space = draw(st.sampled_from(["", " ", "\n\t"]))
    text = ",".join(f"{space}{draw(escaped(name))}:{space}{value}" for name, value in [*again, *last])
    whole = f"{{{text}{space}}}"
    way = draw(st.integers(0, 9))
    return f"```json\n{whole}\n```" if way == 0 else draw(damaged(whole)) if way == 1 else whole


PARAMS = st.fixed_dictionaries(
    {},
    optional={
        "json_mode": st.just("lenient"),
        "soft_threshold": st.sampled_from([0.0, 0.4, 1.0]),
        "containment_min": st.sampled_from([2, 5]),
        "list_match": st.just("independent"),
        "unicode_form": st.just("nfkc_casefold"),
        "description_cap": st.integers(0, 5),
        "questions_cap": st.integers(0, 5),
        "entry_cap": st.integers(0, 2),
        "ref_cap": st.integers(0, 2),
        "anchor_cap": st.integers(0, 2),
        "full_length": st.sampled_from([1, 200]),
    },
)


def check(questions: list[tuple[Any, Any]], outputs: list[str], params: dict[str, Any]) -> None:
    """Every column of every answer to every question, all in one batch, is that of the oracle."""
    rows: list[tuple[int, str | None, Any]] = [(q, output, None) for output in outputs for q in range(len(questions))]
    found = rows_of(ready(questions, params), batch_of(rows))
    with patch.object(compare, "Comparison", partial(Comparison, wide=False)):  # as on a processor without AVX-512
        assert rows_of(ready(questions, params), batch_of(rows)) == found
    for got, (q, output, _) in zip(found, rows, strict=True):
        want = oracle.score(*questions[q], output, params=params)
        assert set(want) == set(got)
        assert differences(got, want) == {}, (questions[q], output)


def answer(**fields: Any) -> str:
    """An answer whose fields are empty but for some."""
    empty: dict[str, Any] = {name: kind() for name, kind in oracle.FIELDS.items()}
    return json.dumps({**empty, **fields}, ensure_ascii=False)


QUESTION = (
    {"main_topic": LONG, "detailed_description": ["門禁"] * 3, "original_evidence": LONG},
    [{"source_path": "a.md", "text": LONG}],
)


@settings(max_examples=examples(150))
@given(
    st.lists(st.tuples(EXPECTED, CHUNKS), min_size=1, max_size=2),
    st.lists(answers(), min_size=1, max_size=3),
    st.one_of(st.just({}), PARAMS),
)
@example([QUESTION], [answer(detailed_description=["門禁"] * 5), answer(detailed_description=[])], {})
@example([QUESTION], [answer(main_topic=LONG[1:]), answer(main_topic=LONG[:128]), answer(main_topic=LONG + "x")], {})
def test_hostile_answers_are_scored_as_the_oracle_does(
    questions: list[tuple[Any, Any]], outputs: list[str], params: dict[str, Any]
) -> None:
    check(questions, outputs, params)


def test_answers_that_need_more_room_stand_between_small_ones() -> None:
    small = answer(detailed_description=["門禁"], main_topic=LONG)
    refs = [{"file": "a.md", "anchors": [LONG[:5]]}, {"file": "b.md"}, {"file": "a.md", "anchors": [" ", "x"]}] * 700
    wide = answer(source_map=[{"refs": refs}] * 3, detailed_description=["門"] * 2_000, original_evidence=LONG * 40)
    odd = answer(detailed_description=[*range(900), LONG], predicted_questions=[[k] for k in range(900)])
    deep = answer(other=0).replace('"other": 0', f'"other": {"[" * 20_000}{"]" * 20_000}')
    caps = {"entry_cap": 9, "ref_cap": 9_000, "description_cap": 9_000, "questions_cap": 9_000}
    check([QUESTION, ({}, None)], [small, wide, small, odd, deep, small, wide[:-1], odd], caps)
    check([QUESTION], [small, f"```\n{wide}\n```", odd, f"Sure: {small}", wide], {**caps, "json_mode": "lenient"})
