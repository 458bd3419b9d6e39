"""Questions of a file are the same, whether they stay decoded or are decoded when they are asked for."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rageval_batch.inputs import questions
from rageval_batch.inputs.eval_sets import read_questions
from rageval_batch.inputs.questions import read_question_file
from rageval_batch.inputs.sources import source, sources
from support.inputs import put

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=4), below, max_size=3),
    max_leaves=6,
)
FILES = st.lists(st.dictionaries(st.text(max_size=4), VALUES, max_size=4), max_size=6)


@pytest.mark.parametrize("kept_bytes", [0, 40])
@given(FILES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_questions_that_stay_decoded_are_as_others(tmp_path: Path, kept_bytes: int, rows: list[dict[str, Any]]) -> None:
    file = tmp_path / "questions.json"
    file.write_text(json.dumps(rows), encoding="utf-8")
    all_kept = read_question_file(source(str(file))).questions
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(questions, "_KEPT_BYTES", kept_bytes)
        some_kept = read_question_file(source(str(file))).questions
    assert json.dumps(all_kept[:]) == json.dumps(some_kept[:])
    assert [repr(one) for one in all_kept] == [repr(one) for one in some_kept]


def test_not_more_than_a_part_of_a_large_file_stays_decoded(tmp_path: Path) -> None:
    file = tmp_path / "questions.jsonl"
    file.write_text("".join(json.dumps({"id": n, "text": "x" * 1000}) + "\n" for n in range(2_000)), encoding="utf-8")
    read = read_question_file(source(str(file))).questions
    same = [place for place in range(len(read)) if read[place] is read[place]]
    assert 0 < len(same) <= questions._KEPT_BYTES / 1000
    assert read[1_999] == {"id": 1_999, "text": "x" * 1000}


def test_questions_that_one_profile_reads_are_let_go_behind_the_last(tmp_path: Path) -> None:
    """Of one file and of several; where others may read them, they stay."""
    files = [str(put(tmp_path / f"{k}.jsonl", [{"id": f"{k}{n}"} for n in range(3)])) for k in range(2)]
    for names in (files[:1], files):
        for once in (False, True):
            found = read_questions(sources(names))
            if once:
                found.prepare_once()
            assert [question["id"] for question in found.objects_once()] == list(found.ids)
            assert len(found.objects) == (0 if once else len(found))
