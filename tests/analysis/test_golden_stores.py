"""Stores that earlier releases wrote are read for ever: every view opens, and the numbers are those of their rows."""

from __future__ import annotations

import math
import shutil
from collections import defaultdict
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from rageval_batch.analysis.catalog import open_store
from rageval_batch.analysis.session import Session
from rageval_batch.cli import main
from rageval_batch.profiles.registry import PROFILES
from rageval_batch.resources import sql_definition, sql_names
from support.places import TESTS

STORES = sorted(path for path in (TESTS / "golden").iterdir() if path.is_dir())
VIEWS = sorted(name for name in sql_names() if "create view" in sql_definition(name))


@pytest.fixture(params=STORES, ids=lambda path: path.name)
def store(request: pytest.FixtureRequest) -> Path:
    return Path(request.param)


def score_rows(session: Session, profile: str, commit: str, run_id: str) -> list[dict[str, object]]:
    """The rows of a run straight from the Parquet files of its commit."""
    (found,) = [c for c in session.commits if c.id == commit]
    assert found.manifest["profile"] == profile
    rows = [row for path in found.files("scores") for row in pq.ParquetFile(path).read().to_pylist()]
    return [row for row in rows if row["run_id"] == run_id]


def run_score(profile: str, rows: list[dict[str, object]]) -> float | None:
    """The score of a run by the statistic of its profile, added up exactly."""
    column = "cross_score" if profile == "judge_protocol" else "score"
    stat = PROFILES[profile].summary.run_stat
    pairs = [(row[column], row["weight"] if stat == "weighted_mean" else 1.0) for row in rows]
    counted = [(float(value), float(weight)) for value, weight in pairs if value is not None]  # type: ignore[arg-type]
    if not counted:
        return None
    return math.fsum(v * w for v, w in counted) / math.fsum(w for _, w in counted)


def test_every_view_opens(store: Path) -> None:
    with open_store(store) as session:
        for name in [*VIEWS, *PROFILES]:
            session.table(f"from {name}")
        assert session.rows("from regressions('adapter-weak', 'adapter-good')")
        assert session.rows("from run_delta('baseline', 'better')")


def test_scores_are_those_of_the_rows(store: Path) -> None:
    seen: defaultdict[str, int] = defaultdict(int)
    with open_store(store) as session:
        board = {(row["profile"], row["run_id"]): row for row in session.rows("from leaderboard")}
        for run in session.rows("select run_id, profile, commit from runs"):
            rows = score_rows(session, run["profile"], run["commit"], run["run_id"])
            want = run_score(run["profile"], rows)
            got = board[run["profile"], run["run_id"]]["score"]
            assert got == (None if want is None else pytest.approx(want, abs=1e-12))
            seen[run["profile"]] += 1
    assert set(seen) == {name for name, profile in PROFILES.items() if profile.content is None}, "those of release 0.1"


def test_columns_that_came_later_are_null(store: Path) -> None:
    with open_store(store) as session:
        assert session.rows("select count(judge_name) as n from stored_judge_protocol") == [{"n": 0}]
        names = {row["judge_model"] for row in session.rows("from judge_summary")}
    assert {"atlas-70b", "birch-8b"} <= names


def test_kept_inputs_are_scored_again(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(store, tmp_path / "runs")
    for words in (
        ["rescore", "better", "--param", "w_include=0.5", "--param", "w_safe=0.5"],
        ["explain", "better", "r01"],
        ["rescore", "spring-judging", "--param", "base_variant=A"],
        ["rescore", "careful", "--param", "pass_score=0.8"],
        ["rescore", "run-pass", "--param", "support_threshold=0.6"],
        ["rescore", "adapter-good", "--param", "soft_threshold=0.9"],
    ):
        with pytest.raises(SystemExit) as stop:
            main([*words, "--store", str(tmp_path / "runs")])
        assert stop.value.code == 0, capsys.readouterr().err
