"""Several datasets as one benchmark: score each into the store, average them for every run, keep the gates."""

from __future__ import annotations

import glob
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import msgspec

from rageval_batch.analysis.catalog import open_store
from rageval_batch.analysis.runs import RunSummary, summaries
from rageval_batch.analysis.session import Session
from rageval_batch.columnar.statistics import TOLERANCE, population_std
from rageval_batch.config import read_typed_config
from rageval_batch.errors import InputError, RagevalError, StoreError
from rageval_batch.inputs import run_metadata, sources
from rageval_batch.inputs.run_names import with_run_names
from rageval_batch.profiles.registry import get_profile
from rageval_batch.runs import sweep
from rageval_batch.runs.job import Job
from rageval_batch.runs.store import Store

FAIL_FAST, BEST_EFFORT = "fail-fast", "best-effort"
_DEFAULT_PROFILE = "include_rate"
_NonEmpty = Annotated[str, msgspec.Meta(min_length=1)]
_Paths = _NonEmpty | Annotated[list[_NonEmpty], msgspec.Meta(min_length=1)]
_SHOWN_ERRORS = 5


# --- configuration ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """One dataset of a benchmark, its paths resolved."""

    id: str
    kind: str | None
    weight: float
    profile: str
    questions: tuple[str, ...]
    outputs: tuple[str, ...]
    contexts: tuple[str, ...]
    source: str | None
    prompt: str | None
    params: Mapping[str, Any]
    meta: Mapping[str, str]
    keep_inputs: bool

    def job(self) -> Job:
        """What scores it; InputError where a file or parameter cannot be used."""
        profile = get_profile(self.profile)
        given = run_metadata.RunMetadata(
            dict(self.meta), {}, run_metadata.read_prompt(self.prompt) if self.prompt else {}
        )
        return Job(
            profile=profile,
            params=profile.read_params(self.params),
            outputs=with_run_names(sources.sources(self.outputs, profile.inputs.whole_files))[0],
            questions=sources.sources(self.questions) if self.questions else [],
            contexts=sources.sources(self.contexts) if self.contexts else [],
            document=sources.any_file(self.source) if self.source else None,
            metadata=given,
            keep_inputs=self.keep_inputs,
        )


@dataclass(frozen=True)
class Config:
    """A benchmark: its name and datasets."""

    name: str
    datasets: tuple[Dataset, ...]


class _DatasetTable(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """An entry of `datasets`; `pdf` is another name of `source`."""

    id: _NonEmpty
    kind: Any = None
    description: Any = None
    weight: float = 1.0
    profile: str = _DEFAULT_PROFILE
    questions: _Paths | None = None
    outputs: _Paths
    contexts: _Paths | None = None
    source: _NonEmpty | None = None
    pdf: _NonEmpty | None = None
    prompt: _NonEmpty | None = None
    params: dict[str, Any] | None = None
    meta: dict[str, Any] | None = None
    keep_inputs: bool = False

    def dataset(self, folder: Path) -> Dataset:
        """The dataset with its paths below the folder of the configuration."""

        def paths(names: str | list[str] | None) -> tuple[str, ...]:
            listed = [names] if isinstance(names, str) else names or []
            return tuple(_beside(folder, name) for name in listed)

        def path(name: str | None) -> str | None:
            return _beside(folder, name) if name else None

        return Dataset(
            id=self.id,
            kind=None if self.kind is None else str(self.kind),
            weight=self.weight,
            profile=self.profile,
            questions=paths(self.questions),
            outputs=paths(self.outputs),
            contexts=paths(self.contexts),
            source=path(self.source or self.pdf),
            prompt=path(self.prompt),
            params=self.params or {},
            meta={
                name: value if isinstance(value, str) else json.dumps(value)
                for name, value in (self.meta or {}).items()
            },
            keep_inputs=self.keep_inputs,
        )


class _BenchmarkTable(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A whole configuration."""

    name: str | None = None
    description: Any = None
    datasets: Annotated[list[_DatasetTable], msgspec.Meta(min_length=1)]


def read_benchmark(path: str) -> Config:
    """A TOML or JSON configuration; InputError with the JSON path of what cannot be used."""
    content = read_typed_config(path, _BenchmarkTable)
    seen: set[str] = set()
    for k, table in enumerate(content.datasets):
        if not 0 <= table.weight < math.inf:
            raise InputError(f"{path}, $.datasets[{k}].weight: Expected a finite number from 0, got {table.weight}.")
        if table.questions is None and get_profile(table.profile).inputs.questions_required:
            raise InputError(f"{path}, $.datasets[{k}]: questions is missing.")
        if table.id in seen:
            raise InputError(f"{path}, $.datasets[{k}].id: another dataset has the id '{table.id}'.")
        seen.add(table.id)
    folder = Path(path).parent
    return Config(content.name or Path(path).stem, tuple(table.dataset(folder) for table in content.datasets))


def _beside(folder: Path, name: str) -> str:
    """A path or glob of a configuration that lies in the folder; characters of the folder's own name are no glob."""
    plain = folder / name
    if plain.exists() or not glob.has_magic(name):
        return str(plain)
    return str(Path(glob.escape(str(folder))) / name)


# --- results ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class RunResult:
    """One run over all datasets that have it."""

    run_id: str
    weighted_score: float | None
    question_weighted_score: float | None
    total_questions: int
    missing: tuple[str, ...]  # datasets that could not be scored for it


@dataclass(frozen=True)
class GateResult:
    """A gate that was asked for."""

    gate: str
    actual: float | None
    limit: float
    passed: bool


@dataclass(frozen=True)
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


@dataclass(frozen=True)
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
            "weighted_score": _mean(_known(self.runs, "weighted_score")),
            "question_weighted_score": _mean(_known(self.runs, "question_weighted_score")),
            "total_questions": sum(found.questions for found in self.datasets if found.error is None),
            "datasets": len(self.datasets),
            "runs": len(self.runs),
            **{
                f"{name}_{stat}": value
                for name in ("weighted_score", "question_weighted_score")
                for stat, value in _spread(_known(self.runs, name)).items()
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


def _known(runs: tuple[RunResult, ...], name: str) -> list[float]:
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
    config: Config,
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
    given = _baseline_file(baseline) if baseline is not None else None
    start = datetime.now(UTC)
    done = _Progress()
    for dataset in config.datasets:
        say(f"Scoring dataset {dataset.id} with {dataset.profile}.")
        _score(dataset, store, done)
        _absent(done)
        if done.errors and mode == FAIL_FAST:
            break
    runs = _runs(done.results)
    if baseline is not None and given is None and not done.errors:
        given = _baseline_run(baseline, runs, done.results, store)
    end = datetime.now(UTC)
    manifest = {
        "start": start.isoformat(),
        "end": end.isoformat(),
        "elapsed": (end - start).total_seconds(),
        "status": "failed" if done.errors else "done",
        "run_mode": mode,
        "error": _joined(done.errors),
    }
    checked = _gates(gates, runs, given)
    return Benchmark(config.name, tuple(done.results), runs, given, checked, manifest)


def _joined(errors: list[str]) -> str | None:
    more = [f"And {len(errors) - _SHOWN_ERRORS} more."] if len(errors) > _SHOWN_ERRORS else []
    return " ".join([*errors[:_SHOWN_ERRORS], *more]) or None


def _score(dataset: Dataset, store: Store, done: _Progress) -> None:
    try:
        outcome = sweep.run(dataset.job(), store)
        with open_store(store.path, functions=False) as session:
            found = _of_dataset(session, dataset, outcome.commit.id)
    except RagevalError as error:
        done.errors.append(f"Dataset '{dataset.id}' could not be scored: {error}")
        found = DatasetResult(dataset, 0, (), {}, None, str(error))
    done.results.append(found)


def _of_dataset(session: Session, dataset: Dataset, commit: str) -> DatasetResult:
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
    # Without a list of what should be there, what was judged is all there is.
    return DatasetResult(dataset, record["answered_count"] if count is None else count, found, scores, commit, None)


def _absent(done: _Progress) -> None:
    """Note the runs that a dataset lacks and another has, once."""
    scored = [found for found in done.results if found.error is None]
    everybody = sorted({run for found in scored for run in found.scores})
    for found in scored:
        for run in everybody:
            said = f"Dataset '{found.dataset.id}' could not be scored for run '{run}': it has no score there."
            if run not in found.scores and said not in done.errors:
                done.errors.append(said)


def _runs(results: list[DatasetResult]) -> tuple[RunResult, ...]:
    everybody = sorted({run for found in results for run in found.scores})
    return tuple(_run(name, results) for name in everybody)


def _run(name: str, results: list[DatasetResult]) -> RunResult:
    mine = [found for found in results if name in found.scores]
    return RunResult(
        name,
        _weighted([(found.scores[name], found.dataset.weight) for found in mine]),
        _weighted([(found.scores[name], float(found.questions)) for found in mine]),
        sum(found.questions for found in mine),
        tuple(found.dataset.id for found in results if name not in found.scores),
    )


def _weighted(scores: list[tuple[float, float]]) -> float | None:
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
        content = json.loads(Path(name).read_bytes().decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"--baseline {name} cannot be read as JSON: {error}.") from error
    summary = content.get("summary") if isinstance(content, dict) else None
    score = summary.get("weighted_score") if isinstance(summary, dict) else None
    if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
        raise InputError(f"--baseline {name} has no number `weighted_score` in its `summary`.")
    return Baseline(name, float(score))


def _baseline_run(name: str, runs: tuple[RunResult, ...], results: list[DatasetResult], store: Store) -> Baseline:
    """The score of a run of the benchmark, else of a run in the store over the same questions."""
    own = next((run for run in runs if run.run_id == name), None)
    if own is not None:
        if own.weighted_score is None:
            raise InputError(f"--baseline {name}: the run has no score, all datasets weigh 0.")
        return Baseline(name, own.weighted_score, name)
    stored = []
    with open_store(store.path, functions=False, named=[name]) as session:
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
    score = _weighted(stored)
    if score is None:
        raise InputError(f"--baseline {name}: the run has no score, all datasets weigh 0.")
    return Baseline(name, score)


def _gates(gates: Gates, runs: tuple[RunResult, ...], baseline: Baseline | None) -> tuple[GateResult, ...]:
    """Every gate that is on; one that cannot be measured fails."""
    out = []
    for name, limit, score in (
        ("max_std_weighted", gates.max_std_weighted, "weighted_score"),
        ("max_std_question", gates.max_std_question, "question_weighted_score"),
    ):
        if limit is not None:
            std = population_std(_known(runs, score))
            out.append(GateResult(name, std, limit, std is not None and std <= limit + TOLERANCE))
    others = tuple(run for run in runs if baseline is None or run.run_id != baseline.run_id) or runs
    scores = _known(others, "weighted_score")
    mean = _mean(scores)
    delta = mean - baseline.score if baseline and mean is not None else None
    if gates.max_drop_vs_baseline is not None:
        kept = delta is not None and -delta <= gates.max_drop_vs_baseline + TOLERANCE
        drop = -delta if delta is not None else None
        out.append(GateResult("max_drop_vs_baseline", drop, gates.max_drop_vs_baseline, kept))
    if gates.min_delta is not None:
        kept = delta is not None and delta >= gates.min_delta - TOLERANCE
        out.append(GateResult("min_delta", delta, gates.min_delta, kept))
    if gates.max_regressions is not None:
        worse = _regressions(scores, baseline, gates.min_delta or 0.0)
        kept = worse is not None and worse <= gates.max_regressions
        out.append(GateResult("max_regressions", worse, gates.max_regressions, kept))
    return tuple(out)


def _regressions(scores: list[float], baseline: Baseline | None, min_delta: float) -> int | None:
    """Runs whose score is below the baseline plus the least delta; null where there is nothing to compare."""
    if baseline is None or not scores:
        return None
    return sum(score < baseline.score + min_delta - TOLERANCE for score in scores)
