"""Which inputs a query about answers needs: those of the runs and questions that it names wherever it reads them."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from rageval_batch.analysis.answer_filter import ALL_ANSWERS, NO_ANSWERS, SYNTAX_TREE, AnswerFilter, answer_filter
from rageval_batch.analysis.catalog import open_store
from rageval_batch.inputs import readers
from support.pages import score
from support.places import SAMPLES_FOLDER

X = frozenset("x")
KEYS = "(run_id, profile, eval_set, question_id, repeat)"


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("from answers where run_id = 'x'", AnswerFilter(X)),
        ("from Answers where 'x' = RUN_ID and length(output) > 3", AnswerFilter(X)),
        ("select a.output from answers a where a.run_id in ('x', 'y') and a.question_id = 'q'",
         AnswerFilter(frozenset("xy"), frozenset("q"))),
        ("from answers where run_id in ('x', 'y') and run_id = 'x'", AnswerFilter(X)),
        (f"from answers a join scores s using {KEYS} where s.run_id = 'x'", AnswerFilter(X)),
        ("from runs r left join answers a on a.run_id = r.run_id where a.run_id = 'x'", AnswerFilter(X)),
        ("with a as (from answers where run_id = 'x') select * from a where output like '%y%'", AnswerFilter(X)),
        ("from answers where run_id = 'x' union all from answers where run_id = 'y'", AnswerFilter(frozenset("xy"))),
        ("select * from runs where exists (from answers where run_id = 'x' and output = runs.run_id)",
         AnswerFilter(X)),
        ("describe answers", NO_ANSWERS),
        ("describe select output from answers", NO_ANSWERS),
        # What is not bound, or not bound for certain, is about all of them.
        ("from answers", ALL_ANSWERS),
        ("summarize answers", ALL_ANSWERS),
        ("explain from answers where run_id = 'x'", ALL_ANSWERS),
        ("from answers where run_id = 'x' or question_id = 'q'", ALL_ANSWERS),
        ("from answers where not run_id = 'x'", ALL_ANSWERS),
        ("from answers where run_id = $1", ALL_ANSWERS),
        ("from answers where run_id in (select run_id from runs)", ALL_ANSWERS),
        ("from answers where lower(run_id) = 'x'", ALL_ANSWERS),
        ("from answers where run_id = 'x' union all from answers", ALL_ANSWERS),
        ("from runs r left join answers a on a.run_id <> r.run_id where r.run_id = 'x'", ALL_ANSWERS),
        (f"from runs r left join answers a using {KEYS} where r.run_id = 'x'", ALL_ANSWERS),
        ("from runs anti join answers a on length(a.output) > 5 where run_id = 'x'", ALL_ANSWERS),
        ("from runs positional join answers a where a.run_id = 'x'", ALL_ANSWERS),
        ("from answers as a(question_id, b, c, run_id) where a.run_id = 'x'", ALL_ANSWERS),
        ("from answers tablesample 10 rows where run_id = 'x'", ALL_ANSWERS),
        ("from query_table('answers') where run_id = 'x'", ALL_ANSWERS),
        ("from query('from answers') where run_id = 'x'", ALL_ANSWERS),
        ("from (pivot answers on repeat using count(*)) where run_id = 'x'", ALL_ANSWERS),
        ("select 'answers'", ALL_ANSWERS),
    ],
)  # fmt: skip
def test_what_a_query_needs(query: str, wanted: AnswerFilter) -> None:
    with duckdb.connect() as connection:
        ((tree,),) = connection.execute(SYNTAX_TREE, [query]).fetchall()
    assert answer_filter(tree) == wanted


def test_what_is_read_covers_what_is_needed() -> None:
    assert ALL_ANSWERS.covers(AnswerFilter(X)) and not AnswerFilter(X).covers(ALL_ANSWERS)
    assert AnswerFilter(X).covers(AnswerFilter(X, X)) and not AnswerFilter(X, X).covers(AnswerFilter(X))
    assert AnswerFilter(X).covers(NO_ANSWERS) and not NO_ANSWERS.covers(AnswerFilter(X))


@pytest.mark.parametrize("keep", [(), ("--keep-inputs",)])
def test_a_query_has_the_same_rows_whatever_was_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keep: tuple[str, ...]
) -> None:
    """One that names its runs reads no files of others; a later one that needs more has all that it needs."""
    samples, store = SAMPLES_FOLDER / "include_rate", tmp_path / "runs"
    score(
        "score", samples / "outputs", "-p", "include_rate", "-q", samples / "questions.jsonl", "--store", store,
        "--quiet", *keep,
    )  # fmt: skip
    read: list[str] = []
    whole = readers.read_blocks

    def read_blocks(file, *more):  # type: ignore[no-untyped-def]
        read.append(file.name)
        return whole(file, *more)

    columns = "select run_id, question_id, repeat, output from answers"
    with open_store(store, functions=False) as session:
        session.lock()
        every = session.sql(f"{columns} order by all").to_pylist()
        names = sorted({row["run_id"] for row in every})
    assert len(names) > 2
    monkeypatch.setattr(readers, "read_blocks", read_blocks)
    with open_store(store, functions=False) as session:
        session.lock()
        session.sql("describe answers")
        assert read == []
        question = every[0]["question_id"]
        for query, rows in (
            (f"where run_id = '{names[0]}'", [row for row in every if row["run_id"] == names[0]]),
            (f"where run_id = '{names[0]}' and repeat = 0", [row for row in every if row["run_id"] == names[0]]),
            (f"where question_id = '{question}'", [row for row in every if row["question_id"] == question]),
            ("where run_id = 'nobody'", []),
            ("where run_id is not null", every),
            (f"where run_id in ('{names[1]}', '{names[2]}')", [row for row in every if row["run_id"] in names[1:3]]),
        ):
            assert session.sql(f"{columns} {query} order by all").to_pylist() == rows
            if "repeat" in query and not keep:
                assert [Path(name).stem for name in read] == [names[0]], "one file, once"
