"""Stores with given scores, published by the package's own store code: for tests of what reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from rageval_batch.analysis.catalog import catalog
from rageval_batch.analysis.catalog_rows import ProfileRow
from rageval_batch.locations import MANIFEST
from rageval_batch.model.schemas import REJECTS, RUNS, TALLIES
from rageval_batch.runs.database import database
from rageval_batch.runs.manifest import manifest_bytes, signed
from rageval_batch.runs.store import Commit, Store
from rageval_batch.runs.summary import ScoreRows, write_summary

PROFILE = "eval_json_v2"
QUESTIONS, PARAMS = "a" * 64, "b" * 64

HOSTILE = (
    "<b>&amp;</b>", "'; drop table runs; --", "=1+1", 'a"b|c', "\u202eabc", "\x01\x1b[31m", "🙂", "q\n\tx", "ё",
    "%s{}", "-1", "]]>",
)  # fmt: skip

Row = Mapping[str, Any]


def score_row(question: str, score: float | None, **fields: Any) -> dict[str, Any]:
    """A score row; what is not given has a usual value. A profile takes of it what it has columns for."""
    return {"question_id": question, "repeat": 0, "weight": 1.0, "score": score, "schema_ok": True, **fields}


def simple_run(**scores: float) -> list[dict[str, Any]]:
    """Score rows by question."""
    return [score_row(question, score) for question, score in scores.items()]


def catalog_row(profile: str = PROFILE) -> ProfileRow:
    """What the catalog says of a profile."""
    return next(row for row in catalog() if row.profile == profile)


def publish(
    folder: Path,
    runs: Mapping[str, Sequence[Row]],
    *,
    inputs: Sequence[dict[str, Any]] = (),
    profile: str = PROFILE,
    with_summary: bool = False,
    row_group: int | None = None,
    **record: Any,
) -> Commit:
    """One commit with runs of given score rows, in row groups of `row_group`; `record` changes what is said of all of
    them.

    With a summary every session is spared the making of one: for stores that many commands read.
    """
    about = {
        "questions_sha256": QUESTIONS,
        "source_sha256": None,
        "params_sha256": PARAMS,
        "eval_set": "q@1",
        "signature": "given",
        **record,
    }
    rows = [{**row, "run_id": run} for run in sorted(runs) for row in runs[run]]
    rows.sort(key=lambda row: (row["run_id"].encode(), row["question_id"].encode(), row["repeat"]))
    records = [
        {
            **about,
            "run_id": run,
            "profile": profile,
            "version": "0",
            "question_count": len({row["question_id"] for row in runs[run]}),
            "answered_count": len({row["question_id"] for row in runs[run]}),
            "repeats": len({row["repeat"] for row in runs[run]}),
            "meta": [],
        }
        for run in sorted(runs)
    ]
    store = Store(folder)
    with store.staging("given") as staging, staging.assembling() as ready:
        schema = catalog_row(profile).schema
        pq.write_table(pa.Table.from_pylist(rows, schema=schema), ready / f"{profile}.parquet", row_group)
        pq.write_table(pa.Table.from_pylist(records, schema=RUNS), ready / "runs.parquet")
        pq.write_table(TALLIES.empty_table(), ready / "tallies.parquet")
        pq.write_table(REJECTS.empty_table(), ready / "rejects.parquet")
        plan = catalog_row(profile).summary_plan
        if with_summary:
            scores = ScoreRows.of_files([ready / f"{profile}.parquet"])
            of_summary = pa.table(
                {
                    "commit": [ready.name] * len(records),
                    "run_id": [row["run_id"] for row in records],
                    "repeats": [row["repeats"] for row in records],
                }
            )
            with database(staging.path) as own:
                write_summary(plan, scores, of_summary, target=ready / "summary.parquet", database=own)
        counts = {"rows_read": len(rows), "score_rows": len(rows), "missing_rows": 0, "rejected_rows": 0}
        commit = store.publish(
            ready,
            {
                "job": "given",
                "profile": profile,
                "params": {},
                "questions": {"version": about["eval_set"], "sha256": about["questions_sha256"], "files": []},
                "contexts": {"sha256": None, "files": []},
                "source": None,
                "given": {"meta": {}, "run_meta": {}, "prompt": {}},
                "inputs": list(inputs),
                "runs": sorted(runs),
                "counts": counts,
                "files": {
                    "scores": [f"{profile}.parquet"],
                    **{name: [f"{name}.parquet"] for name in ("runs", "tallies", "rejects")},
                    **({"summary": ["summary.parquet"]} if with_summary else {}),
                },
                "summary": plan.definition if with_summary else None,
            },
        )
        staging.clear()
    return commit


def rewritten(commit: Commit, /, **fields: Any) -> Commit:
    """The commit with other fields in its manifest, signed as if it had been published so."""
    manifest = signed({**commit.manifest, **fields})
    (commit.path / MANIFEST).write_bytes(manifest_bytes(manifest))
    return replace(commit, manifest=manifest)


def renamed(commit: Commit, name: str) -> Commit:
    """The commit under another name, as if it had been published under that."""
    path = commit.path.with_name(name)
    commit.path.rename(path)
    return rewritten(replace(commit, path=path), commit=name)
