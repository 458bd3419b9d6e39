"""Stores made of score rows, without scoring anything: what views, gates and windows are tested on."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from rageval_batch.model.schemas import KEYS, PROVENANCE, REJECTS, RUNS, TALLIES
from rageval_batch.profiles.registry import PROFILES
from rageval_batch.runs.store import Commit, Store

PROFILE = PROFILES["eval_json_v2"]
SCHEMA = pa.schema([*KEYS, *PROFILE.schema])
COMPLETE = dict.fromkeys(PROVENANCE, "known")
EVAL_SET = "questions@0123"


def score_row(question: str, score: float | None, **columns: Any) -> dict[str, Any]:
    """A row of one answer; what is not given is null, 0 or 1 as its key wants."""
    return {"question_id": question, "repeat": 0, "weight": 1.0, "score": score, **columns}


def add_commit(store: Path, runs: dict[str, list[dict[str, Any]]], **of_run: Any) -> Commit:
    """A commit with these score rows; `of_run` are columns of the runs' records, or a mapping by run."""
    place = Store(store)
    rows = [{"run_id": run, **row} for run in sorted(runs) for row in runs[run]]
    ready = store / ".made"
    ready.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), ready / "eval_json_v2.parquet")
    pq.write_table(pa.Table.from_pylist([], schema=TALLIES), ready / "tallies.parquet")
    pq.write_table(pa.Table.from_pylist([], schema=REJECTS), ready / "rejects.parquet")
    records = [_record(run, runs[run], of_run.get(run, of_run)) for run in sorted(runs)]
    pq.write_table(pa.Table.from_pylist(records, schema=RUNS), ready / "runs.parquet")
    return place.publish(ready, _manifest(sorted(runs), len(rows)))


def _record(run: str, rows: list[dict[str, Any]], given: dict[str, Any]) -> dict[str, Any]:
    questions = {row["question_id"] for row in rows}
    answered = {row["question_id"] for row in rows if row.get("fail_reason") != "missing_output"}
    return {
        "run_id": run, "profile": PROFILE.name, "eval_set": EVAL_SET, "questions_sha256": "0123",
        "params_sha256": "4567", "signature": "made", "version": "0",
        "question_count": len(questions), "answered_count": len(answered),
        "repeats": len({row["repeat"] for row in rows}), "meta": [], **COMPLETE, **given,
    }  # fmt: skip


def _manifest(runs: list[str], rows: int) -> dict[str, Any]:
    return {
        "job": "made", "profile": PROFILE.name, "version": "0", "params": PROFILE.read_params({}), "runs": runs,
        "questions": {"version": EVAL_SET, "sha256": "0123", "files": []},
        "contexts": {"sha256": None, "files": []}, "source": None, "inputs": [],
        "counts": {"rows_read": rows, "score_rows": rows, "missing_rows": 0, "rejected_rows": 0},
        "files": {
            "scores": ["eval_json_v2.parquet"], "tallies": ["tallies.parquet"],
            "rejects": ["rejects.parquet"], "runs": ["runs.parquet"],
        },
    }  # fmt: skip
