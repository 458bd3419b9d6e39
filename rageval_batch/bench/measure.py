"""How fast this machine scores: stages, the row-at-a-time oracle and the floor, each in a process of its own."""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rageval_batch.bench.synthetic import Files, write_sweep

PROFILE = "eval_json_v2"
ORACLE_ROWS = 2_000
WARM_ROWS = 2_000  # enough for every kind of damage to occur


@dataclass(frozen=True)
class Measured:
    """One measurement: wall and CPU seconds, rows, peak memory of its process, and what it found by the way."""

    wall: float
    cpu: float
    rows: int
    peak_mib: float | None  # None on systems that do not tell
    parts: dict[str, float]


@dataclass(frozen=True)
class Bench:
    """All measurements of one run, and the ratios that outlive a noisy machine."""

    rows: int
    megabytes: float
    sweep: Measured
    stages: dict[str, float]
    oracle: Measured | None
    floor: Measured

    def lines(self) -> list[dict[str, Any]]:
        """A line a stage, then the whole, the floor and the oracle."""
        lines = [_line(name, seconds, None, self.rows) for name, seconds in self.stages.items()]
        lines.append(_line("whole sweep", self.sweep.cpu, self.sweep.wall, self.rows, self.sweep.peak_mib))
        lines.append(_line("floor: DuckDB", self.floor.cpu, self.floor.wall, self.rows, self.floor.peak_mib))
        if self.oracle:
            lines.append(_line("oracle", self.oracle.cpu, self.oracle.wall, self.oracle.rows, self.oracle.peak_mib))
        return lines

    def ratios(self) -> dict[str, float | None]:
        """Wall time against the oracle, CPU time against the floor, memory."""
        rate = self.sweep.rows / self.sweep.wall
        return {
            "times_the_oracle": rate / (self.oracle.rows / self.oracle.wall) if self.oracle else None,
            "cpu_over_floor": self.sweep.cpu / self.floor.cpu,
            "wall_over_floor": self.sweep.wall / self.floor.wall,
            "peak_mib": self.sweep.peak_mib,
        }


def _line(name: str, cpu: float, wall: float | None, rows: int, peak: float | None = None) -> dict[str, Any]:
    seconds = cpu if wall is None else wall
    return {"stage": name, "rows": rows, "cpu_s": cpu, "wall_s": wall, "rows_per_s": rows / seconds, "peak_mib": peak}


def run(rows: int, seed: int, folder: Path, note: Callable[[str], None]) -> Bench:
    """Make a sweep and measure it."""
    note(f"Writing a sweep of {rows:,} answers …")
    files = _apart(write_sweep, folder, rows, seed)
    note("Scoring it …")
    sweep = _apart(_sweep, files, folder / "runs")
    note("Stage by stage …")
    stages = _apart(_stages, files).parts
    stages["write"] = sweep.parts["write"]
    note("The floor: DuckDB reads, validates and decodes the file …")
    floor = _apart(_floor, files)
    oracle = None
    if oracles_folder() is not None:
        note("The oracle, a row at a time …")
        oracle = _apart(_oracle, files, min(rows, ORACLE_ROWS))
    return Bench(rows, files.outputs.stat().st_size / 1e6, sweep, stages, oracle, floor)


def _apart(work: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a function in a fresh process, so that memory and caches of one stage do not colour another."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(work, arguments)


class _Clock:
    """Wall and CPU time of a block, of all threads."""

    def __enter__(self) -> _Clock:
        self._wall, self._cpu = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.wall = time.perf_counter() - self._wall
        self.cpu = time.process_time() - self._cpu


def _peak_mib() -> float | None:
    try:
        import resource
    except ImportError:  # Windows
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def _job(files: Files) -> Any:
    from rageval_batch.inputs.sources import sources
    from rageval_batch.profiles.registry import get_profile
    from rageval_batch.runs.job import Job

    profile = get_profile(PROFILE)
    outputs, questions, contexts = (sources([path]) for path in (files.outputs, files.questions, files.contexts))
    return Job(
        profile=profile,
        params=profile.read_params({}),
        outputs=outputs,
        questions=questions,
        contexts=contexts,
    )


def _warm(folder: Path) -> None:
    """Load all modules and tables: a cost of every process, not of a row."""
    from rageval_batch.runs.store import Store
    from rageval_batch.runs.sweep import run as run_sweep

    folder.mkdir(parents=True, exist_ok=True)
    run_sweep(_job(write_sweep(folder, WARM_ROWS)), Store(folder / "runs"))


def _sweep(files: Files, store: Path) -> Measured:
    from rageval_batch.runs.store import Store
    from rageval_batch.runs.sweep import run as run_sweep

    _warm(store.parent / "warm")
    with _Clock() as clock:
        outcome = run_sweep(_job(files), Store(store))
    return Measured(
        clock.wall, clock.cpu, outcome.counts.rows_read, _peak_mib(), {"write": outcome.timing.write}
    )  # fmt: skip


def _stages(files: Files) -> Measured:
    """CPU of reading and keying rows, of decoding answers, and of all the rest of scoring, on one thread."""
    from rageval_batch.columnar import json_objects
    from rageval_batch.inputs.kinds import input_kind
    from rageval_batch.runs.batch import score_batch, scorer

    folder = files.outputs.parent / "stages"
    _warm(folder)
    job = _job(files)
    inputs = input_kind(job.profile).load(job.questions, job.contexts, job.params, folder)
    ready = scorer(job.profile, job.params, inputs.eval_set)
    cpu = {"read": 0.0, "decode": 0.0, "score": 0.0}
    rows = 0
    blocks = inputs.ingest(job.outputs).blocks()
    while True:
        start = time.process_time()
        block = next(blocks, None)
        cpu["read"] += time.process_time() - start
        if block is None:
            break
        start = time.process_time()
        json_objects.read_objects(block.batch.column("output"), lenient=False)
        decoded = time.process_time()
        score_batch(ready, block.batch)
        cpu["decode"] += decoded - start
        cpu["score"] += (time.process_time() - decoded) - (decoded - start)
        rows += block.rows
    return Measured(sum(cpu.values()), sum(cpu.values()), rows, _peak_mib(), cpu)


_FLOOR = """
    select count(*), count(kinds), count(decoded)
    from (
        select
            json_type(output, ['target_audience', 'main_topic', 'sub_topic', 'detailed_description',
                               'original_evidence', 'source_map', 'predicted_questions']) as kinds,
            from_json(output, '{"target_audience": "VARCHAR", "main_topic": "VARCHAR", "sub_topic": "VARCHAR",
                "detailed_description": ["VARCHAR"], "original_evidence": "VARCHAR", "predicted_questions": ["VARCHAR"],
                "source_map": [{"refs": [{"file": "VARCHAR", "anchors": ["VARCHAR"]}]}]}') as decoded
        from (
            select case when json_valid(output) then output end as output
            from read_json($path, format = 'newline_delimited',
                           columns = {run_id: 'VARCHAR', question_id: 'VARCHAR', output: 'VARCHAR'})
        )
    )
"""


def _floor(files: Files) -> Measured:
    """What it costs merely to read the file, validate each answer and decode its fields, without scoring."""
    import duckdb

    with duckdb.connect() as connection:
        connection.execute(_FLOOR, {"path": str(files.outputs)}).fetchall()
        with _Clock() as clock:
            found = connection.execute(_FLOOR, {"path": str(files.outputs)}).fetchone()
    assert found is not None
    return Measured(clock.wall, clock.cpu, int(found[0]), _peak_mib(), {})


def oracles_folder() -> Path | None:
    """The folder that holds the package `oracles`: tests/ in a checkout, beside this module in a wheel, which has the
    modules of this one oracle only."""
    for folder in (Path(__file__).parent / "row_at_a_time", Path(__file__).parents[2] / "tests"):
        if (folder / "oracles").is_dir():
            return folder
    return None


def _oracle(files: Files, rows: int) -> Measured:
    """The slow, obvious scorer, one row after the other."""
    import json
    from itertools import islice

    sys.path.insert(0, str(oracles_folder()))
    from oracles import eval_json_v2 as oracle

    questions = {q["id"]: q["expected"]["answer_example"] for q in json.loads(files.questions.read_bytes())}
    with files.contexts.open(encoding="utf-8") as lines:
        chunks = {row["question_id"]: row["chunks"] for row in map(json.loads, lines)}
    with files.outputs.open(encoding="utf-8") as lines, _Clock() as clock:
        for row in map(json.loads, islice(lines, rows)):
            oracle.score(questions[row["question_id"]], chunks[row["question_id"]], row["output"])
    return Measured(clock.wall, clock.cpu, rows, _peak_mib(), {})
