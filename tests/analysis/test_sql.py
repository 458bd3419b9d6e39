"""The views of a store: rows in, rows out, by plain Python beside them; the same bits on every number of threads."""

from __future__ import annotations

import json
import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import rageval_batch
from rageval_batch.analysis.catalog import open_store
from rageval_batch.analysis.session import Session
from rageval_batch.analysis.session_views import SessionViews
from rageval_batch.api import score
from rageval_batch.columnar.functions import FUNCTIONS
from rageval_batch.errors import InputError
from rageval_batch.profiles.registry import PROFILES
from rageval_batch.resources import samples_folder

SAMPLES = samples_folder() / "eval_json_v2"


def answer(question: dict[str, Any], **changed: Any) -> str:
    """The expected answer of a question with some fields changed."""
    example = question["expected"]["answer_example"]
    return json.dumps({**example, "source_map": question["expected"]["source_map"], **changed}, ensure_ascii=False)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """A store with the sample runs and one whose questions were asked one to three times."""
    store = tmp_path_factory.mktemp("views") / "runs"
    questions = json.loads((SAMPLES / "questions.json").read_text(encoding="utf-8"))
    score(
        SAMPLES / "outputs",
        SAMPLES / "questions.json",
        "eval_json_v2",
        contexts=SAMPLES / "contexts.jsonl",
        store=store,
    )
    repeated = [
        {"run_id": "repeated", "question_id": question["id"], "repeat": repeat, "output": output}
        for k, question in enumerate(questions)
        for repeat, output in enumerate([answer(question), "not json", answer(question, main_topic="?")][: k % 3 + 1])
    ]
    score(repeated, SAMPLES / "questions.json", "eval_json_v2", contexts=SAMPLES / "contexts.jsonl", store=store)
    with open_store(store) as opened:
        yield opened


def by_run(session: Session) -> dict[str, list[dict[str, Any]]]:
    """The wide rows of every run."""
    out: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in session.rows("from eval_json_v2"):
        out[row["run_id"]].append(row)
    return out


def question_means(rows: list[dict[str, Any]], metric: str) -> list[float]:
    """The value of each question: the mean of its repeats, a null counting as 0."""
    repeats: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        repeats[row["question_id"]].append(float(row[metric] or 0.0))
    return [math.fsum(values) / len(values) for values in repeats.values()]


def test_only_a_query_of_the_user_is_bad_input(session: Session) -> None:
    """The same mistake in a query of our own is an error of the program, which the command reports by exit code 70."""
    query = "select no_such_column from runs"
    with pytest.raises(InputError, match="no_such_column"):
        session.sql(query)
    with pytest.raises(duckdb.BinderException):
        session.table(query)
    with pytest.raises(duckdb.BinderException):
        session.keep_table("mistaken", query)


@pytest.mark.parametrize("query", ["describe", "describe;", "desc", "show tables", "show all tables"])
def test_lists_of_views_have_all_of_them(session: Session, query: str) -> None:
    with open_store(session.store.path, functions=False) as fresh:
        fresh.sql("describe runs")
        assert {"runs", "leaderboard", "eval_json_v2", "commits"} <= set(fresh.sql(query)["name"].to_pylist())


def test_a_query_of_scores_alone_gives_the_same_rows(session: Session) -> None:
    """A session plans the metrics that a query reads: the order of queries changes no row, and a later one has all."""
    queries = [
        "select * from leaderboard order by all",
        "select * from question_difficulty order by all",
        "select * from regressions('adapter-good', 'adapter-weak') order by all",
        "select * from repeat_scores order by all",
        "select * from run_groups_by('$.id') order by all",
    ]
    every = "select run_id, metric, count(*) as n from metric_values group by all order by all"
    with open_store(session.store.path) as scores_first, open_store(session.store.path) as every_metric_first:
        wanted = every_metric_first.sql(every)
        assert len(set(wanted["metric"].to_pylist())) == len(PROFILES["eval_json_v2"].metrics)
        for query in queries:
            found = scores_first.sql(query)
            assert found.num_rows > 0, query
            assert found.equals(every_metric_first.sql(query)), query
        assert scores_first.sql(every).equals(wanted)


@pytest.mark.parametrize("metric", ["score", "schema_ok", "grounding", "detailed_description_f1", "main_topic"])
def test_run_summary(session: Session, metric: str) -> None:
    """Means, spread and percentiles over questions, repeats averaged first."""
    for run, rows in by_run(session).items():
        (summary,) = session.rows(
            "select * from run_summary where run_id = $run and metric = $metric", {"run": run, "metric": metric}
        )
        values = question_means(rows, metric)
        assert summary["n_total"] == len(values) == 32
        assert summary["n_scored"] == len({row["question_id"] for row in rows if row[metric] is not None})
        assert summary["mean"] == pytest.approx(statistics.fmean(values), abs=1e-12)
        assert summary["weighted_mean"] == pytest.approx(summary["mean"], abs=1e-12)
        assert summary["std"] == pytest.approx(statistics.pstdev(values), abs=1e-9)
        assert summary["sum"] == pytest.approx(math.fsum(values), abs=1e-9)
        for name, share in (("min", 0), ("p50", 50), ("p90", 90), ("p95", 95), ("max", 100)):
            assert summary[name] == pytest.approx(float(np.percentile(values, share)), abs=1e-9)


def test_micro_comes_from_numerators_and_denominators(session: Session) -> None:
    """Sum over sum, not a mean of shares."""
    for run, rows in by_run(session).items():
        (summary,) = session.rows(
            "select micro from run_summary where run_id = $run and metric = 'grounding'", {"run": run}
        )
        held = sum(row["grounding_ok_refs"] or 0 for row in rows)
        total = sum(row["grounding_total_refs"] or 0 for row in rows)
        assert summary["micro"] == pytest.approx(held / total)


def test_scores_and_metrics_have_every_answer(session: Session) -> None:
    """The common and the long form hold what the wide form holds."""
    wide = {(r["run_id"], r["question_id"], r["repeat"]): r for r in session.rows("from eval_json_v2")}
    common = session.rows("from scores")
    assert len(common) == len(wide) == 4 * 32 + sum(k % 3 + 1 for k in range(32))
    for row in common:
        other = wide[row["run_id"], row["question_id"], row["repeat"]]
        assert (row["score"], row["fail_reason"]) == (other["score"], other["fail_reason"])
        assert row["dataset"] == row["question_id"].split("-")[0]
    long = session.rows("from metrics")
    assert len(long) == len(wide) * len({row["metric"] for row in long})
    for row in long:
        other = wide[row["run_id"], row["question_id"], row["repeat"]][row["metric"]]
        assert row["value"] == (None if other is None else float(other))


def test_fail_reasons_and_confusions(session: Session) -> None:
    """Counts and shares of reasons; wrong classes with what was right."""
    for run, rows in by_run(session).items():
        counted = {
            row["fail_reason"]: (row["n"], row["share"])
            for row in session.rows("from fail_reasons where run_id = $run", {"run": run})
        }
        reasons = Counter(row["fail_reason"] for row in rows if row["fail_reason"])
        assert counted == {reason: (n, n / len(rows)) for reason, n in reasons.items()}
        wrong = session.rows("select sum(n)::bigint as n from confusions where run_id = $run", {"run": run})[0]["n"]
        classes = ("target_audience", "main_topic", "sub_topic")
        assert (wrong or 0) == sum(row[name] == 0.0 for row in rows for name in classes)
    assert all(row["got"] != row["expected"] for row in session.rows("from confusions"))


def test_leaderboard_and_difficulty(session: Session) -> None:
    """Runs by their score; questions by their mean over runs."""
    board = session.rows("from leaderboard order by rank")
    assert [row["rank"] for row in board] == [1, 2, 3, 4, 5]
    assert [row["score"] for row in board] == sorted((row["score"] for row in board), reverse=True)
    assert all(row["low"] <= row["score"] <= row["high"] for row in board)
    hard = session.rows("from question_difficulty")
    assert len(hard) == 32
    assert all(row["runs"] == 5 and row["min"] <= row["mean"] <= row["max"] for row in hard)


def test_same_bits_on_every_thread_count(session: Session) -> None:
    """The aggregates are equal to the last bit, run after run, on one thread and on many."""
    seen = set()
    for threads in (1, 2, 4, 1, 4):
        session.sql(f"set threads = {threads}")
        rows = session.rows("select * from run_summary order by run_id, metric")
        seen.add(json.dumps(rows, default=float))
    assert len(seen) == 1


def test_functions(session: Session) -> None:
    """The scorer's functions over columns, nulls included."""
    query = """
        select bigram_jaccard('餐飲服務部', '餐飲服務處') as jaccard, soft_match('a b', 'ab') as matched,
               squash(' a　b ') as squashed, keywords('V-Pass 門禁管 V-PASS') as words,
               keyword_hits('門禁管理', '禁管理') as hits, squash(null) as nothing, soft_match('a', null) as unknown
    """
    assert session.rows(query) == [
        {
            "jaccard": 0.6,
            "matched": True,
            "squashed": "ab",
            "words": ["v-pass", "門禁", "禁管"],
            "hits": 2,
            "nothing": None,
            "unknown": None,
        }
    ]
    listed = session.rows("select distinct function_name as name from duckdb_functions()")
    assert {*FUNCTIONS} <= {row["name"] for row in listed}
    many = session.rows("select count(*) as n from range(10000) t(i) where soft_match('run ' || i, 'run' || i)")
    assert many == [{"n": 10000}]


def test_bad_sql_is_an_input_error(session: Session) -> None:
    """DuckDB's sentence, not its traceback."""
    with pytest.raises(InputError, match="nowhere"):
        session.sql("select * from nowhere")


def test_a_query_that_was_stopped_while_its_views_were_made_leaves_nothing_half_made(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before, views that a stopped query had begun with were missing, and answers that it had begun to read empty."""
    query = "select count(*) as n from answers join question_difficulty using (profile, eval_set, question_id)"
    wanted = session.sql(query).to_pylist()
    assert wanted[0]["n"] > 0
    steps = ["create", "_show_metrics", "_read_answers"]
    with open_store(session.store.path) as stopped:
        stopped.lock()
        for step in steps:
            with monkeypatch.context() as changed:
                made = getattr(SessionViews, step)

                def stop(self: SessionViews, *given: Any, made: Any = made) -> None:
                    made(self, *given)
                    raise KeyboardInterrupt

                changed.setattr(SessionViews, step, stop)
                with pytest.raises(KeyboardInterrupt):
                    stopped.sql(query)
        assert stopped.sql(query).to_pylist() == wanted
        with pytest.raises(InputError):  # still only the store
            stopped.sql("from read_text('pyproject.toml')")


def test_an_empty_store_has_all_views(tmp_path: Path) -> None:
    """Every view is there and empty before anything was scored."""
    with open_store(tmp_path) as empty:
        for name in ("runs", "scores", "eval_json_v2", "metrics", "run_summary", "leaderboard", "fail_reasons",
                     "confusions", "question_difficulty", "rejects", "tallies", "commits"):  # fmt: skip
            assert empty.rows(f"select count(*) as n from {name}") == [{"n": 0}]


def test_other_columns_of_answers_are_a_view(tmp_path: Path) -> None:
    """Typed; null where a run lacks one; a name of ours gets a low line; frames that are gone by then too."""
    questions = [{"id": name, "question": "?", "must_include": ["yes"]} for name in ("q1", "q2")]
    runs: dict[str, list[dict[str, Any]]] = {
        "a": [{"cost": 0.5, "profile": "other"}, {"cost": 1.0, "profile": "p"}],
        "b": [{"tokens": 3}, {"tokens": 6}],
    }
    for run, others in runs.items():
        rows = [{"run_id": run, "question_id": f"q{k + 1}", "output": "yes", **more} for k, more in enumerate(others)]
        rageval_batch.score(rows, questions, profile="include_rate", store=tmp_path)
    with rageval_batch.open_store(tmp_path) as session:
        found = session.sql("select run_id, question_id, cost, tokens, profile_ from answer_columns order by all")
        assert found.to_pylist() == [
            {"run_id": "a", "question_id": "q1", "cost": 0.5, "tokens": None, "profile_": "other"},
            {"run_id": "a", "question_id": "q2", "cost": 1.0, "tokens": None, "profile_": "p"},
            {"run_id": "b", "question_id": "q1", "cost": None, "tokens": 3, "profile_": None},
            {"run_id": "b", "question_id": "q2", "cost": None, "tokens": 6, "profile_": None},
        ]
