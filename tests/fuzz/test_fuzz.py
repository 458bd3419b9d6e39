"""Fuzzers: whatever comes, an input is read or refused with a sentence, and nothing else happens.

Examples are few in `make test` and many in `make soak`; `make fuzz` runs the same targets for a time.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_batch.columnar.values import Reader
from support import fuzz_targets as targets
from support.effort import examples
from support.fuzzing import mutated


@settings(max_examples=examples(400))
@given(st.data(), st.sampled_from(sorted(targets.SEEDS)))
def test_readers(data: st.DataObject, ending: str) -> None:
    seeds = [targets.SEEDS[name] for name in (ending, "jsonl", "csv")]
    targets.read_file(ending, data.draw(mutated(seeds)))


@settings(max_examples=examples(1_000))
@given(mutated(targets.TAPE_SEEDS))
def test_json_tape(content: bytes) -> None:
    targets.parse_tape(content)


@settings(max_examples=examples(400))
@given(mutated(targets.VALUES), st.sampled_from(targets.READERS))
def test_value_readers(content: bytes, reader: Reader) -> None:
    targets.read_values(content, reader)


@settings(max_examples=examples(150))
@given(mutated(targets.PROFILE_FILES))
def test_profile_files(content: bytes) -> None:
    targets.load_profile_file(content)


@pytest.fixture(scope="module")
def ask() -> Iterator[targets.Target]:
    with targets.guarded_query() as query:
        yield query


@settings(max_examples=examples(400))
@given(content=mutated(targets.QUERIES))
def test_sql_guard(ask: targets.Target, content: bytes) -> None:
    ask(content)
