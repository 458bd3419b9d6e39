"""Summaries are the same bits as the rows they stand for, are read in their place, and can be gone or outdated."""

from __future__ import annotations

import json
import os
import random
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_batch.analysis import stored_tables
from rageval_batch.analysis.catalog import open_store
from rageval_batch.analysis.runs import find_run, ranked_runs, summaries, summarize
from rageval_batch.analysis.session import Session
from rageval_batch.cli import main, outcomes
from rageval_batch.cli.demo import SAMPLES
from rageval_batch.profiles.registry import PROFILES
from rageval_batch.resources import samples_folder
from rageval_batch.runs import store_index, stored_intervals, summary, written_rows
from rageval_batch.runs.manifest import checksums
from rageval_batch.runs.score_runs import OtherRows
from rageval_batch.runs.store import Store
from support.effort import examples
from support.gated_stores import add_commit, score_row
from support.places import TESTS
from support.stores import rewritten

GOLDEN = sorted(path for path in (TESTS / "golden").iterdir() if path.is_dir())

# Every statistic from the rows of a run in long form, a question at a time: slow, and none of it read from a summary.
FROM_ROWS = """
    with means as (
        select
            run_id, profile, eval_set, metric, count(*) as n_total, count(*) filter (scored) as n_scored,
            count(value) as n_counted,
            exact_mean(value) as mean, exact_sum(value) as sum, max(weight) filter (value is not null) as top,
            min(value) as min, quantile_cont(value, 0.5) as p50, quantile_cont(value, 0.9) as p90,
            quantile_cont(value, 0.95) as p95, max(value) as max, max(abs(value)) as size
        from question_values
        group by all
    ),
    widths as (
        select v.run_id, v.profile, v.eval_set, v.metric, m.mean, m.top, m.size, max(abs(v.value - m.mean)) as width
        from question_values v
        join means m using (run_id, profile, eval_set, metric)
        group by all
    ),
    scales as (
        select
            *,
            case
                when width <= 1e-15 * size or width <= 1e-18 then 1e12
                when width < 1e-3 or width > 1e5 then width
                else 1.0
            end as scale
        from widths
    ),
    spreads as (
        select
            v.run_id, v.profile, v.eval_set, v.metric,
            sqrt(exact_mean(((v.value - m.mean) / m.scale) * ((v.value - m.mean) / m.scale)))
                * any_value(m.scale) as std,
            exact_weighted_mean(v.value, v.weight, m.top) as weighted_mean
        from question_values v
        join scales m using (run_id, profile, eval_set, metric)
        group by all
    ),
    micros as (
        select
            v.run_id, v.profile, v.eval_set, v.metric,
            exact_sum(numerator) / nullif(exact_sum(denominator), 0) as micro,
            case
                when any_value(r.repeats) = 1 then count(denominator)
                else count(distinct {'id': question_id}) filter (denominator is not null)
            end as n_micro
        from metric_values v
        join runs r on r.run_id = v.run_id and r.profile = v.profile and r.eval_set = v.eval_set
        group by v.run_id, v.profile, v.eval_set, v.metric
    )
    select
        run_id, profile, eval_set, metric, n_total, n_scored, n_counted, mean, weighted_mean, micro, n_micro, std, min,
        p50, p90, p95, max, sum
    from means
    join spreads using (run_id, profile, eval_set, metric)
    join micros using (run_id, profile, eval_set, metric)
"""

# The one value of a run over its units, and how often answers failed, from the rows.
VALUES_FROM_ROWS = """
    with tops as (
        select run_id, profile, eval_set, metric, max(weight) filter (value is not null) as top
        from unit_values
        group by all
    )
    select
        v.run_id, v.profile, v.eval_set, v.metric, count(*) as n,
        run_value(any_value(p.run_stat), v.value, v.weight, t.top, v.numerator, v.denominator) as value
    from unit_values v
    join tops t
        on t.run_id = v.run_id and t.profile = v.profile and t.eval_set = v.eval_set and t.metric = v.metric
    join profile_catalog p on p.profile = v.profile
    group by v.run_id, v.profile, v.eval_set, v.metric
"""
REASONS_FROM_ROWS = """
    select run_id, profile, eval_set, fail_reason, count(*) as n, count(*) / any_value(total) as share
    from (select *, count(*) over (partition by run_id, profile, eval_set) as total from scores)
    where fail_reason is not null
    group by run_id, profile, eval_set, fail_reason
"""
GROUPS_FROM_ROWS = """
    with answers as (
        select 'legal_rag' as profile, run_id, eval_set, question_id, score, passed::double as passed,
            'tags' as grouping, unnest(list_distinct(tags)) as value
        from legal_rag
        union all
        select 'legal_rag', run_id, eval_set, question_id, score, passed::double,
            unnest(['question_type', 'difficulty', 'category']), unnest([question_type, difficulty, category])
        from legal_rag
        union all
        select 'reference', run_id, eval_set, question_id, score, null,
            unnest(map_keys(question_fields)), unnest(map_values(question_fields))
        from reference
        union all
        select 'retrieval', run_id, eval_set, question_id, score, null,
            unnest(map_keys(question_fields)), unnest(map_values(question_fields))
        from retrieval
    ),
    questions as (
        select
            profile, run_id, eval_set, grouping, value, question_id,
            exact_mean(score) as score, exact_mean(passed) as passed
        from answers
        where value is not null
        group by all
    )
    select
        run_id, profile, eval_set, grouping, value, count(*) as total_tests,
        exact_sum(passed) as passed_tests, exact_mean(passed) as pass_rate, exact_mean(score) as mean
    from questions
    group by profile, run_id, eval_set, grouping, value
"""


def bits(session: Session, query: str) -> list[str]:
    """The rows of a query, in no order, every bit of their numbers."""
    found = []
    for row in session.rows(query):
        named = {name: value.hex() if isinstance(value, float) else value for name, value in row.items()}
        found.append(json.dumps(named, sort_keys=True, default=str))
    return sorted(found)


def check(session: Session) -> None:
    """What is read from summaries is what the rows say."""
    names = "run_id, profile, eval_set, metric, value, n"
    assert bits(session, "from run_summary") == bits(session, FROM_ROWS)
    assert bits(session, f"select {names} from run_values") == bits(
        session, f"select {names} from ({VALUES_FROM_ROWS})"
    )
    assert bits(session, "from fail_reasons") == bits(session, REASONS_FROM_ROWS)
    shown = "select * exclude (overall_percentage) from run_groups"
    assert bits(session, shown) == bits(session, GROUPS_FROM_ROWS)


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The samples of all profiles, scored."""
    store = tmp_path_factory.mktemp("samples") / "runs"
    for profile, words in SAMPLES.items():
        folder = samples_folder() / profile
        with pytest.raises(SystemExit) as stop:
            main(["score", "-p", profile, *(word.format(folder) for word in words), "--store", str(store)])
        assert stop.value.code == 0
    return store


# --- the same bits ----------------------------------------------------------------------------------------------------


def test_summaries_of_all_profiles_are_those_of_their_rows(samples: Path) -> None:
    commits = Store(samples).commits()
    assert {commit.manifest["profile"] for commit in commits} == set(PROFILES)
    assert all(commit.manifest["summary"] and commit.files("summary") for commit in commits)
    with open_store(samples) as session:
        check(session)


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda path: path.name)
def test_summaries_of_stores_without_them_are_computed(golden: Path) -> None:
    assert not any(commit.files("summary") for commit in Store(golden).commits())
    with open_store(golden) as session:
        check(session)
    assert not (golden / store_index.FOLDER).exists()


NUMBERS = st.none() | st.sampled_from(
    [0.0, 1.0, 1 / 3, 0.1, 1e-18, 5e-19, 1e-300, 0.0049999999999999995, 1e9, -1e9, 100.0]
) | st.floats(-1e6, 1e6)  # fmt: skip
WEIGHTS = st.sampled_from([1.0, 1.0, 0.0, 0.1, 3.0, 1e-300, 1e300])
PARTS = st.sampled_from([(None, None), (0, 0), (0, 3), (2, 3), (5, None), (None, 7)])


@st.composite
def runs(draw: st.DrawFn) -> dict[str, list[dict[str, Any]]]:
    """Runs with and without repeats, with values of every size."""
    out = {}
    for name in draw(st.lists(st.sampled_from(["a", "b", "it's", "é\n"]), min_size=1, max_size=3, unique=True)):
        rows = []
        for k in range(draw(st.integers(1, 4))):
            weight = draw(WEIGHTS)
            for repeat in range(draw(st.sampled_from([1, 1, 2, 3]))):
                ok, total = draw(PARTS)
                rows.append(
                    score_row(
                        f"q{k}", draw(NUMBERS), repeat=repeat, weight=weight, grounding=draw(NUMBERS),
                        schema_ok=draw(st.none() | st.booleans()), grounding_ok_refs=ok, grounding_total_refs=total,
                        fail_reason=draw(st.sampled_from([None, "empty_output", "missing_output"])),
                    )
                )  # fmt: skip
        out[name] = rows
    return out


def _leave_to_sql(*_: Any) -> Any:
    raise OtherRows


@settings(max_examples=examples(30), deadline=None)
@given(st.lists(runs(), min_size=1, max_size=2))
def test_summaries_of_any_rows_are_the_same_bits(commits: list[dict[str, list[dict[str, Any]]]]) -> None:
    """By compiled loops where they can, with metrics as rows, as few answers have them, and side by side."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        for rows in commits:
            add_commit(Path(folder), rows)
        with open_store(folder, functions=False) as session:
            expected, reasons = bits(session, FROM_ROWS), bits(session, REASONS_FROM_ROWS)
        for loops, most_stacked in ((True, summary._MOST_STACKED), (False, summary._MOST_STACKED), (False, 0)):
            patch.setattr(summary, "_MOST_STACKED", most_stacked)
            if not loops:
                patch.setattr(stored_tables, "statistics_of_runs", _leave_to_sql)
            with open_store(folder, functions=False) as session:
                assert bits(session, "from run_summary") == expected
                assert bits(session, "from fail_reasons") == reasons


@pytest.mark.parametrize("most_values", [100, 16_000_000])
def test_metrics_side_by_side_are_the_same_bits(
    samples: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, most_values: int
) -> None:
    """Where there are many rows, the metrics stand side by side and are summarized a few at a time."""
    shutil.copytree(samples, tmp_path / "runs")
    for commit in Store(tmp_path / "runs").commits():
        rewritten(commit, summary="of another kind")
    monkeypatch.setattr(summary, "_MOST_STACKED", 0)
    monkeypatch.setattr(summary, "_MOST_VALUES", most_values)
    monkeypatch.setattr(stored_tables, "statistics_of_runs", _leave_to_sql)
    with open_store(samples) as one, open_store(tmp_path / "runs") as other:
        assert bits(one, "from run_summary") == bits(other, "from run_summary")
        assert bits(one, "from gate_results") == bits(other, "from gate_results")
        assert bits(one, "from run_groups") == bits(other, "from run_groups")


# --- read in place of the rows ----------------------------------------------------------------------------------------


def test_no_rows_are_read(samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(samples, tmp_path / "runs")
    for commit in Store(tmp_path / "runs").commits():
        for path in commit.files("scores"):
            path.write_bytes(bytes(path.stat().st_size))
    for words in (["runs"], ["gate", "run-pass"], ["show", "careful"], ["sql", "from run_summary"]):
        with pytest.raises(SystemExit) as stop:
            main([*words, "--store", str(tmp_path / "runs")])
        assert stop.value.code == 0, capsys.readouterr().err


def test_runs_of_a_commit_are_summed_up_by_as_many_queries_as_one(
    samples: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And every one as it is alone."""
    asked: list[str] = []
    rows = Session.rows

    def noted(self: Session, query: str, parameters: Any = None) -> list[dict[str, Any]]:
        asked.append(query)
        return rows(self, query, parameters)

    with open_store(samples) as session:
        for commit in Store(samples).commits():
            name, stats = commit.manifest["profile"], PROFILES[commit.manifest["profile"]].summary.stats
            runs = [row["run_id"] for row in session.rows("from runs where commit = $1 order by 1", [commit.id])]
            alone = [summarize(session, find_run(session, run, name), stats) for run in runs]
            with monkeypatch.context() as patched:
                patched.setattr(Session, "rows", noted)
                found = summaries(session, commit.id, stats)
            assert [one.as_dict() for one in found] == [one.as_dict() for one in alone] and len(found) == len(runs)
            of_repeats = sum("repeat" in query for query in asked)
            assert len(asked) - of_repeats <= 7
            asked.clear()


def test_a_summary_of_another_definition_is_not_read(samples: Path, tmp_path: Path) -> None:
    shutil.copytree(samples, tmp_path / "runs")
    for commit in Store(tmp_path / "runs").commits():
        table = pq.read_table(commit.files("summary")[0])
        wrong = pa.array([99.0] * table.num_rows)
        pq.write_table(table.set_column(table.column_names.index("mean"), "mean", wrong), commit.files("summary")[0])
        rewritten(commit, summary="0" * 16, checksums=checksums(commit.path))
    with open_store(samples) as one, open_store(tmp_path / "runs") as other:
        assert bits(one, "from run_summary") == bits(other, "from run_summary")


def _refuse(*args: Any, **options: Any) -> None:
    raise duckdb.OutOfMemoryException("no memory for that")


def test_a_commit_is_made_without_a_summary_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = samples_folder() / "include_rate"
    words = ["score", "-p", "include_rate", *(word.format(folder) for word in SAMPLES["include_rate"])]
    with monkeypatch.context() as patch:
        patch.setattr(summary, "statistics_of_runs", _leave_to_sql)
        patch.setattr(written_rows, "statistics_of_rows", _leave_to_sql)
        patch.setattr(summary, "write_summary", _refuse)
        with pytest.raises(SystemExit) as stop:
            main([*words, "--store", str(tmp_path)])
        assert stop.value.code == 0
    assert "the commit has no summary (no memory for that); commands compute it" in capsys.readouterr().err
    (commit,) = Store(tmp_path).commits()
    assert "summary" not in commit.manifest["files"]
    with open_store(tmp_path) as session:
        check(session)


def test_a_summary_that_cannot_be_shown_does_not_fail_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = samples_folder() / "include_rate"
    monkeypatch.setattr(outcomes, "_run_lines", _refuse)
    words = ["score", "-p", "include_rate", *(word.format(folder) for word in SAMPLES["include_rate"])]
    with pytest.raises(SystemExit) as stop:
        main([*words, "--store", str(tmp_path)])
    assert stop.value.code == 0
    said = capsys.readouterr().err
    assert "The summary cannot be shown: no memory for that" in said
    assert "Committed" in said


# --- many commits -----------------------------------------------------------------------------------------------------


@pytest.fixture
def many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A store of eight commits, more than are read without an index."""
    monkeypatch.setattr(stored_tables, "_MOST_UNINDEXED", 5)
    for k in range(8):
        add_commit(tmp_path, {f"run-{k}": [score_row(f"q{n}", float(k + n)) for n in range(3)]})
    yield tmp_path


def shown(store: Path) -> list[list[str]]:
    """What several views say of a store."""
    with open_store(store, functions=False) as session:
        return [bits(session, f"from {view}") for view in ("runs", "run_summary", "gate_results", "scores", "commits")]


def test_an_index_is_made_and_says_the_same(many: Path) -> None:
    before = shown(many)
    index = store_index.read_index(many)
    assert index is not None
    assert len(index.manifests) == len(index.summaries) == 8
    assert shown(many) == before
    add_commit(many, {"run-0": [score_row("q0", 50.0)], "later": [score_row("q0", 7.0)]})
    with open_store(many, functions=False) as session:
        board = {row["run_id"]: row["value"] for row in session.rows("from run_values where metric = 'score'")}
        check_rows = bits(session, "from run_summary") == bits(session, FROM_ROWS)
    assert check_rows
    assert board == {**{f"run-{k}": k + 1.0 for k in range(1, 8)}, "run-0": 50.0, "later": 7.0}


def test_an_index_follows_the_commits(many: Path) -> None:
    shown(many)
    gone, changed, *_ = Store(many).commits()
    shutil.rmtree(gone.path)
    os.utime(changed.path / "manifest.json", ns=(1, 1))
    with open_store(many, functions=False) as session:
        assert {row["run_id"] for row in session.rows("from runs")} == {f"run-{k}" for k in range(1, 8)}
        assert bits(session, "from run_summary") == bits(session, FROM_ROWS)


def test_a_damaged_index_is_passed_over(many: Path) -> None:
    before = shown(many)
    (version,) = (many / store_index.FOLDER).iterdir()
    for content in (b"{", b'{"format": 1}', b'{"format": 99}', b"[]"):
        (version / store_index.MANIFESTS).write_bytes(content)
        assert store_index.read_index(many) is None or (many / store_index.FOLDER).is_dir()
        assert shown(many) == before


def test_an_index_in_which_a_bit_was_flipped_is_not_read(many: Path) -> None:
    """Its values would be taken for those of the commits: they are read instead, and a new one is made."""
    before = shown(many)
    chance = random.Random(16)
    for file in sorted((store_index.read_index(many) or pytest.fail()).path.iterdir()):
        version, whole = file.parent, file.read_bytes()
        for place in chance.sample(range(len(whole)), 40):
            content = bytearray(whole)
            content[place] ^= 1 << chance.randrange(8)
            file.write_bytes(content)
            assert store_index.read_index(many) is None, (file.name, place)
        assert shown(many) == before
        assert (store_index.read_index(many) or pytest.fail()).path != version
        shutil.rmtree(many / store_index.FOLDER)
        shown(many)
        os.rename((store_index.read_index(many) or pytest.fail()).path, version)


def test_a_store_that_cannot_be_written_is_read_without_an_index(many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any, **options: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)
    before = shown(many)
    assert not (many / store_index.FOLDER).exists()
    assert shown(many) == before


def test_commits_of_different_columns_are_read_together(tmp_path: Path) -> None:
    old, _ = (add_commit(tmp_path, {name: [score_row("q", 50.0, grounding=1.0)]}) for name in ("old", "new"))
    (path,) = old.files("scores")
    pq.write_table(pq.read_table(path).drop_columns(["grounding", "grounding_ok_refs"]), path)
    rewritten(old, checksums=checksums(old.path))
    with open_store(tmp_path, functions=False) as session:
        found = {row["run_id"]: row["grounding"] for row in session.rows("from eval_json_v2")}
        assert found == {"old": None, "new": 1.0}
        assert bits(session, "from run_summary") == bits(session, FROM_ROWS)


# --- sessions spill and stream ----------------------------------------------------------------------------------------


def test_a_session_spills_to_the_staging_folder(many: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    (many / ".staging").mkdir()
    with open_store(many, functions=False) as session:
        session.sql("set memory_limit = '60MB'")
        query = "select count(*) as n from (select hash(i)::varchar as h, i from range(1000000) t(i) order by h)"
        assert session.rows(query) == [{"n": 1_000_000}]
        (place,) = session.rows("select current_setting('temp_directory') as folder")
        assert Path(place["folder"]).parent == many / ".staging"
    assert list((many / ".staging").iterdir()) == []
    elsewhere = tmp_path_factory.mktemp("none")
    with open_store(elsewhere / "no store", functions=False, missing_ok=True) as session:
        (place,) = session.rows("select current_setting('temp_directory') as folder")
        assert not Path(place["folder"]).is_relative_to(elsewhere)
    assert list(elsewhere.iterdir()) == []


def test_results_are_streamed(many: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with open_store(many, functions=False) as session:
        reader = session.reader("select i from range(50000) t(i)")
        assert reader.schema.names == ["i"]
        assert reader.read_next_batch().num_rows < 50_000
    late = "select case when i = 150000 then error('boom') else i end as i from range(200000) t(i)"
    for query, code in (("select i from range(20000) t(i)", 0), (late, 2), ("from nowhere", 2)):
        with pytest.raises(SystemExit) as stop:
            main(["sql", query, "--store", str(many), "--format", "csv", "-o", str(tmp_path / "out.csv")])
        assert stop.value.code == code
        if code == 0:
            lines = (tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()
            assert lines == ["i", *map(str, range(20_000))]
    assert "SQL: Invalid Input Error: boom" in capsys.readouterr().err


def _check_flips(kept: Path, store: Path) -> None:
    """A file of intervals in which a bit was flipped says what it said before, or nothing."""
    whole, want = kept.read_bytes(), stored_intervals.read_intervals(store)
    for place in range(len(whole)):
        content = bytearray(whole)
        content[place] ^= 1 << place % 8
        kept.write_bytes(content)
        found = stored_intervals.read_intervals(store)
        assert found.num_rows == 0 or found.equals(want), place


def test_intervals_that_took_long_are_kept_and_are_the_same(
    samples: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A kept interval has the bits of a computed one; a damaged file of them is passed over."""
    shutil.copytree(samples, tmp_path / "runs")
    kept = tmp_path / "runs" / store_index.FOLDER / stored_intervals.FILE
    monkeypatch.setattr("rageval_batch.analysis.stored_tables._MANY_ROWS", 0)
    with open_store(samples) as session:
        want = bits(session, "from leaderboard")
    for _ in range(2):
        with open_store(tmp_path / "runs", functions=False) as session:
            ranked_runs(session, None, None)
        assert stored_intervals.read_intervals(tmp_path / "runs").num_rows > 0
        with open_store(tmp_path / "runs") as session:
            assert bits(session, "from leaderboard") == want == bits(session, "from ranked([])")
        _check_flips(kept, tmp_path / "runs")
        kept.write_bytes(b"PAR1")
    assert stored_intervals.read_intervals(tmp_path / "runs").num_rows == 0
