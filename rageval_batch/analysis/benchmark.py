"""Several datasets as one benchmark: score each into the store, average them for every run, keep the gates."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rageval_batch.analysis.benchmark_config import BenchmarkConfig, Dataset
from rageval_batch.analysis.catalog import open_store
from rageval_batch.analysis.runs import RunSummary, summaries
from rageval_batch.analysis.session import Session
from rageval_batch.answering import answered
from rageval_batch.columnar.statistics import population_std
from rageval_batch.columnar.tolerance import TOLERANCE
from rageval_batch.config import read_small_file
from rageval_batch.dataclass import dataclass
from rageval_batch.errors import InputError, RagevalError, StoreError
from rageval_batch.profiles.registry import get_profile
from rageval_batch.runs import sweep
from rageval_batch.runs.store import Store

FAIL_FAST, BEST_EFFORT = "fail-fast", "best-effort"
_SHOWN_ERRORS = 5


# --- results ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class DatasetResult:
    """One dataset: the summaries of its runs and their scores on 0 to 1, or why there are none."""

    dataset: Dataset
    questions: int
    summaries: tuple[RunSummary, ...]
    scores: dict[str, float]
    commit: str | None
    error: str | None

    def as_dict(self) -> dict[str, Any]:
        """The dataset with hashes and the summary of every run."""
        record = self.summaries[0].run.record if self.summaries else {}
        hashes = ("eval_set", "questions_sha256", "source_sha256", "contexts_sha256", "params_sha256", "signature")
        return {
            "id": self.dataset.id,
            "kind": self.dataset.kind,
            "weight": self.dataset.weight,
            "profile": self.dataset.profile,
            "status": "scored" if self.error is None else "failed",
            "error": self.error,
            "questions": self.questions,
            "commit": self.commit,
            **{name: record.get(name) for name in hashes},
            "pdf_sha256": record.get("source_sha256"),
            "score": _mean(list(self.scores.values())),
            "runs": {
                found.run.record["run_id"]: {**found.summary, "score": self.scores.get(found.run.record["run_id"])}
                for found in self.summaries
            },
        }


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """One run over all datasets that have it."""

    run_id: str
    weighted_score: float | None
    question_weighted_score: float | None
    total_questions: int
    missing: tuple[str, ...]  # datasets that could not be scored for it


@dataclass(frozen=True, kw_only=True)
class GateResult:
    """A gate that was asked for."""

    gate: str
    actual: float | None
    limit: float
    passed: bool


@dataclass(frozen=True, kw_only=True)
class Gates:
    """The limits of a benchmark; null: off."""

    max_std_weighted: float | None = None
    max_std_question: float | None = None
    max_drop_vs_baseline: float | None = None
    min_delta: float | None = None
    max_regressions: int | None = None

    @property
    def need_baseline(self) -> bool:
        """Whether a gate that is on compares with a baseline."""
        return any(limit is not None for limit in (self.max_drop_vs_baseline, self.min_delta, self.max_regressions))


@dataclass(frozen=True)
class Baseline:
    """The score that runs are compared with, and the run it is of where that is one of the benchmark's own."""

    name: str
    score: float
    run_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """All of it: datasets, runs, their spread, gates, and how it went."""

    name: str
    datasets: tuple[DatasetResult, ...]
    runs: tuple[RunResult, ...]
    baseline: Baseline | None
    gates: tuple[GateResult, ...]
    run_manifest: dict[str, Any]

    @property
    def error(self) -> str | None:
        """Why not everything was scored; null where it was."""
        error: str | None = self.run_manifest["error"]
        return error

    @property
    def passed(self) -> bool:
        """Whether all was scored and every gate that is on holds."""
        return self.error is None and all(gate.passed for gate in self.gates)

    def summary(self) -> dict[str, Any]:
        """The scores of the whole benchmark: those of its run, of several their mean, std, min and max."""
        return {
            "weighted_score": _mean(_known_values(self.runs, "weighted_score")),
            "question_weighted_score": _mean(_known_values(self.runs, "question_weighted_score")),
            "total_questions": sum(found.questions for found in self.datasets if found.error is None),
            "datasets": len(self.datasets),
            "runs": len(self.runs),
            **{
                f"{name}_{stat}": value
                for name in ("weighted_score", "question_weighted_score")
                for stat, value in _spread(_known_values(self.runs, name)).items()
            },
        }

    def as_dict(self) -> dict[str, Any]:
        """One object, unrounded; the main scores stand at the top and in `summary`, where comparing tools look."""
        summary = self.summary()
        return {
            "name": self.name,
            "weighted_score": summary["weighted_score"],
            "question_weighted_score": summary["question_weighted_score"],
            "total_questions": summary["total_questions"],
            "passed": self.passed,
            "summary": summary,
            "runs": [{**vars(run), "missing": list(run.missing)} for run in self.runs],
            "datasets": [found.as_dict() for found in self.datasets],
            "baseline": vars(self.baseline) if self.baseline else None,
            "gates": [vars(gate) for gate in self.gates],
            "run_manifest": self.run_manifest,
        }


def _known_values(runs: tuple[RunResult, ...], name: str) -> list[float]:
    return [value for run in runs if (value := getattr(run, name)) is not None]


def _mean(values: list[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _spread(values: list[float]) -> dict[str, float | None]:
    return {
        "mean": _mean(values),
        "std": population_std(values),
        "min": min(values, default=None),
        "max": max(values, default=None),
    }


# --- running ----------------------------------------------------------------------------------------------------------


@dataclass
class _Progress:
    """What has been scored so far."""

    results: list[DatasetResult] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def run_benchmark(
    config: BenchmarkConfig,
    store: Store,
    *,
    mode: str = FAIL_FAST,
    gates: Gates | None = None,
    baseline: str | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> Benchmark:
    """Score all datasets into the store. What cannot be scored is in the result, not raised; a bad baseline is."""
    gates = gates or Gates()
    if gates.need_baseline and baseline is None:
        raise InputError("--max-drop-vs-baseline, --min-delta and --max-regressions need --baseline FILE or RUN.")
    compared = _baseline_file(baseline) if baseline is not None else None
    start = datetime.now(UTC)
    done = _Progress()
    for dataset in config.datasets:
        say(f"Scoring dataset {dataset.id} with {dataset.profile}.")
        _score(dataset, store, done)
        _note_missing_scores(done)
        if done.errors and mode == FAIL_FAST:
            break
    runs = _runs(done.results)
    if baseline is not None and compared is None and not done.errors:
        compared = _baseline_run(baseline, runs, done.results, store=store)
    end = datetime.now(UTC)
    manifest = {
        "start": start.isoformat(),
        "end": end.isoformat(),
        "elapsed": (end - start).total_seconds(),
        "status": "failed" if done.errors else "done",
        "run_mode": mode,
        "error": _error_text(done.errors),
    }
    checked = check_gates(gates, runs, compared)
    return Benchmark(
        name=config.name,
        datasets=tuple(done.results),
        runs=runs,
        baseline=compared,
        gates=checked,
        run_manifest=manifest,
    )


def _error_text(errors: list[str]) -> str | None:
    more = [f"And {len(errors) - _SHOWN_ERRORS} more."] if len(errors) > _SHOWN_ERRORS else []
    return " ".join([*errors[:_SHOWN_ERRORS], *more]) or None


def _score(dataset: Dataset, store: Store, done: _Progress) -> None:
    def score() -> DatasetResult:
        outcome = sweep.run(dataset.job(), store)
        with open_store(store.name, functions=False) as session:
            return _dataset_result(session, dataset, outcome.commit.id)

    try:
        found = answered(score)
    except RagevalError as error:
        done.errors.append(f"Dataset '{dataset.id}' could not be scored: {error}")
        found = DatasetResult(dataset=dataset, questions=0, summaries=(), scores={}, commit=None, error=str(error))
    done.results.append(found)


def _dataset_result(session: Session, dataset: Dataset, commit: str) -> DatasetResult:
    profile = get_profile(dataset.profile)
    found = tuple(summaries(session, commit, profile.summary.stats))
    if not found:
        raise StoreError("another command scored the same runs at the same time. Give the command again.")
    scores = {}
    for summary in found:
        value = next(row[profile.summary.run_stat] for row in summary.metrics if row["metric"] == "score")
        if value is not None:
            scores[summary.run.record["run_id"]] = value / profile.summary.score_top
    record = found[0].run.record
    count = record["question_count"]
    return DatasetResult(
        dataset=dataset,
        questions=record["answered_count"] if count is None else count,  # self-keyed profiles have no question list
        summaries=found,
        scores=scores,
        commit=commit,
        error=None,
    )


def _note_missing_scores(done: _Progress) -> None:
    """Add an error, once, for every run that has a score in another dataset and none in this one."""
    scored = [found for found in done.results if found.error is None]
    run_ids = sorted({run for found in scored for run in found.scores})
    for found in scored:
        for run in run_ids:
            said = f"Dataset '{found.dataset.id}' could not be scored for run '{run}': it has no score there."
            if run not in found.scores and said not in done.errors:
                done.errors.append(said)


def _runs(results: list[DatasetResult]) -> tuple[RunResult, ...]:
    run_ids = sorted({run for found in results for run in found.scores})
    return tuple(_run(name, results) for name in run_ids)


def _run(name: str, results: list[DatasetResult]) -> RunResult:
    scored = [found for found in results if name in found.scores]
    return RunResult(
        run_id=name,
        weighted_score=_weighted_mean([(found.scores[name], found.dataset.weight) for found in scored]),
        question_weighted_score=_weighted_mean([(found.scores[name], float(found.questions)) for found in scored]),
        total_questions=sum(found.questions for found in scored),
        missing=tuple(found.dataset.id for found in results if name not in found.scores),
    )


def _weighted_mean(scores: list[tuple[float, float]]) -> float | None:
    """The mean of (score, weight) pairs; null where there are none or all weights are 0."""
    top = max((weight for _, weight in scores), default=0.0)
    if top == 0:
        return None
    return math.fsum(s * (w / top) for s, w in scores) / math.fsum(w / top for _, w in scores)


# --- baseline and gates -----------------------------------------------------------------------------------------------


def _baseline_file(name: str) -> Baseline | None:
    """The score in a JSON result of a benchmark or run; null where the name is no file."""
    if not Path(name).is_file():
        return None
    try:
        content = json.loads(read_small_file(name, "result of a benchmark").decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"--baseline {name} cannot be read as JSON: {error}.") from error
    summary = content.get("summary") if isinstance(content, dict) else None
    score = summary.get("weighted_score") if isinstance(summary, dict) else None
    if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
        raise InputError(f"--baseline {name} has no number `weighted_score` in its `summary`.")
    return Baseline(name, float(score))


def _baseline_run(name: str, runs: tuple[RunResult, ...], results: list[DatasetResult], *, store: Store) -> Baseline:
    """The score of a run of the benchmark, else of a run in the store over the same questions."""
    own = next((run for run in runs if run.run_id == name), None)
    if own is not None:
        if own.weighted_score is None:
            raise InputError(f"--baseline {name}: the run has no score, all datasets weigh 0.")
        return Baseline(name, own.weighted_score, name)
    stored = []
    with open_store(store.name, functions=False, named=[name]) as session:
        for found in results:
            record = found.summaries[0].run.record
            rows = session.rows(
                "select l.score from leaderboard l join runs r "
                "on r.run_id = l.run_id and r.profile = l.profile and r.eval_set = l.eval_set "
                "where r.run_id = $1 and r.profile = $2 and r.questions_sha256 = $3",
                [name, record["profile"], record["questions_sha256"]],
            )
            if not rows or rows[0]["score"] is None:
                raise InputError(
                    f"--baseline {name} is neither a file nor a run with a score on dataset '{found.dataset.id}'."
                )
            stored.append(
                (rows[0]["score"] / get_profile(found.dataset.profile).summary.score_top, found.dataset.weight)
            )
    score = _weighted_mean(stored)
    if score is None:
        raise InputError(f"--baseline {name}: the run has no score, all datasets weigh 0.")
    return Baseline(name, score)


def check_gates(gates: Gates, runs: tuple[RunResult, ...], baseline: Baseline | None) -> tuple[GateResult, ...]:
    """Every gate that is on; one that cannot be measured fails."""
    out = []
    for name, limit, score in (
        ("max_std_weighted", gates.max_std_weighted, "weighted_score"),
        ("max_std_question", gates.max_std_question, "question_weighted_score"),
    ):
        if limit is not None:
            std = population_std(_known_values(runs, score))
            out.append(
                GateResult(gate=name, actual=std, limit=limit, passed=std is not None and std <= limit + TOLERANCE)
            )
    others = tuple(run for run in runs if baseline is None or run.run_id != baseline.run_id) or runs
    scores = _known_values(others, "weighted_score")
    mean = _mean(scores)
    delta = mean - baseline.score if baseline and mean is not None else None
    if gates.max_drop_vs_baseline is not None:
        passed = delta is not None and -delta <= gates.max_drop_vs_baseline + TOLERANCE
        drop = -delta if delta is not None else None
        out.append(
            GateResult(gate="max_drop_vs_baseline", actual=drop, limit=gates.max_drop_vs_baseline, passed=passed)
        )
    if gates.min_delta is not None:
        passed = delta is not None and delta >= gates.min_delta - TOLERANCE
        out.append(GateResult(gate="min_delta", actual=delta, limit=gates.min_delta, passed=passed))
    if gates.max_regressions is not None:
        worse = _regressions(scores, baseline, gates.min_delta or 0.0)
        passed = worse is not None and worse <= gates.max_regressions
        out.append(GateResult(gate="max_regressions", actual=worse, limit=gates.max_regressions, passed=passed))
    return tuple(out)


def _regressions(scores: list[float], baseline: Baseline | None, min_delta: float) -> int | None:
    """Runs whose score is below the baseline plus the least delta; null where there is nothing to compare."""
    if baseline is None or not scores:
        return None
    return sum(score < baseline.score + min_delta - TOLERANCE for score in scores)
