"""How fast this machine scores: stages, whole commands, the row-at-a-time oracle and the floor, each in a process of
its own."""

from __future__ import annotations

import json
import multiprocessing
import sys
import time
from collections.abc import Callable
from dataclasses import KW_ONLY, field
from pathlib import Path
from typing import Any

from rageval_batch.bench import floor
from rageval_batch.bench.commands import (
    COMPARE,
    FLOOR,
    RAW_JOIN,
    SCORE,
    Command,
    measure_commands,
    measure_comparison,
    measure_growth,
)
from rageval_batch.bench.memory import peak_mib
from rageval_batch.bench.sweeps import SWEEPS, Sweep, repeat_answers
from rageval_batch.dataclass import dataclass
from rageval_batch.start import collect_garbage_seldom

WITH_ORACLE = "eval_json_v2"  # the profile whose row-at-a-time oracle is a part of the package
ORACLE_ROWS = 2_000
WARM_ROWS = 2_000  # enough for every kind of damage to occur


@dataclass(frozen=True)
class Measured:
    """One measurement: wall and CPU seconds, rows, peak memory of its process, and what it found by the way."""

    wall: float
    cpu: float
    rows: int
    _: KW_ONLY
    peak_mib: float | None  # None on systems that do not tell
    parts: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class Bench:
    """All measurements of one profile, and the ratios that outlive a noisy machine."""

    profile: str
    rows: int
    megabytes: float
    distinct_answers: int
    sweep: Measured
    stages: dict[str, float]
    oracle: Measured | None
    floor: Measured  # in a process that has started; the whole command is among the commands
    commands: tuple[Command, ...] = field(default=())

    def lines(self) -> list[dict[str, Any]]:
        """A line a stage, then the whole, the floor, the oracle and the commands."""
        wholes = {"whole sweep": self.sweep, "floor: DuckDB": self.floor, "oracle": self.oracle}
        return [
            *(_line(name, seconds, None, rows=self.rows) for name, seconds in self.stages.items()),
            *(_line(name, one.cpu, one.wall, rows=one.rows, peak=one.peak_mib) for name, one in wholes.items() if one),
            *(_line(f"$ {one.words}", one.cpu, one.wall, rows=one.rows, peak=one.peak_mib) for one in self.commands),
        ]

    def ratios(self) -> dict[str, float | None]:
        """Wall time against the oracle, CPU time against the floor (of the sweep that of a started process, of
        the command that of a command; of `compare` a raw join), memory."""
        score, least, compare, join = (
            next((one for one in self.commands if one.words == words), None)
            for words in (SCORE, FLOOR, COMPARE, RAW_JOIN)
        )

        def times_the_oracle(one: Measured | Command | None) -> float | None:
            return one.rows / one.wall / (self.oracle.rows / self.oracle.wall) if one and self.oracle else None

        return {
            "times_the_oracle": times_the_oracle(self.sweep),
            "command_times_the_oracle": times_the_oracle(score),
            "cpu_over_floor": self.sweep.cpu / self.floor.cpu,
            "wall_over_floor": self.sweep.wall / self.floor.wall,
            "command_over_floor": score.cpu / least.cpu if score and least else None,
            "command_wall_over_floor": score.wall / least.wall if score and least else None,
            "compare_over_raw_join": compare.cpu / join.cpu if compare and join else None,
            "peak_mib": self.sweep.peak_mib,
        }

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        counts = {"rows": self.rows, "megabytes": self.megabytes, "distinct_answers": self.distinct_answers}
        return {"profile": self.profile, **counts, "stages": self.lines(), **self.ratios()}


def _line(name: str, cpu: float, wall: float | None, *, rows: int, peak: float | None = None) -> dict[str, Any]:
    return {
        "stage": name,
        "rows": rows,
        "cpu_s": cpu,
        "wall_s": wall,
        "rows_per_s": rows / (cpu if wall is None else wall),
        "us_per_row": cpu / rows * 1e6,
        "peak_mib": peak,
    }


def run(
    profile: str,
    rows: int,
    seed: int,
    *,
    folder: Path,
    note: Callable[[str], None],
    commands: bool = False,
    growth: bool = False,
    compared: int | None = None,
    repeated: float = 0.0,
) -> Bench:
    """Make a sweep of a profile and measure it; `commands`: whole commands too; `growth`: the same sweep larger too;
    `compared`: a comparison of two runs of so many questions too; `repeated`: share of answers that were given before.
    """
    note(f"{profile}: writing a sweep of {rows:,} answers …")
    files, distinct = _apart(_write, profile, folder, rows, seed=seed, repeated=repeated)
    note(f"{profile}: scoring it …")
    sweep = _apart(_sweep, profile, files, folder / "runs")
    note(f"{profile}: stage by stage …")
    stages = _apart(_stages, profile, files).parts
    stages["write"] = sweep.parts["write"]
    note(f"{profile}: the floor, DuckDB reads, validates and decodes the file …")
    in_process = _apart(_floor, profile, files)
    oracle = None
    if profile == WITH_ORACLE and oracles_folder() is not None:
        note(f"{profile}: the oracle, a row at a time …")
        oracle = _apart(_oracle, files, min(rows, ORACLE_ROWS))
    measured: tuple[Command, ...] = ()
    if commands:
        note(f"{profile}: whole commands …")
        least = floor.command(str(files.outputs), SWEEPS[profile].answer, _structure(profile, files))
        measured += tuple(measure_commands(profile, files, folder / "commands", rows=rows, floor=least))
    if growth:
        note(f"{profile}: the command on more and more answers …")
        measured += tuple(measure_growth(profile, files, folder / "growth", rows=rows))
    if compared:
        note(f"two runs of {compared:,} questions, compared and joined …")
        measured += tuple(measure_comparison(folder / "compared", compared, seed))
    return Bench(
        profile=profile,
        rows=rows,
        megabytes=files.outputs.stat().st_size / 1e6,
        distinct_answers=distinct,
        sweep=sweep,
        stages=stages,
        oracle=oracle,
        floor=in_process,
        commands=measured,
    )


def _write(profile: str, folder: Path, rows: int, *, seed: int, repeated: float) -> tuple[Sweep, int]:
    """The files of a sweep and how many different answers it has."""
    kind = SWEEPS[profile]
    files = kind.write(folder, rows, seed)
    if repeated:
        repeat_answers(files.outputs, kind.answer, repeated, seed=seed)
    with files.outputs.open(encoding="utf-8") as lines:
        return files, len({hash(json.dumps(json.loads(line)[kind.answer])) for line in lines})


def _apart(work: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """The result of a function in a fresh process, so that memory and caches of one stage do not colour another."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(work, arguments, named)


class _Clock:
    """Wall and CPU time of a block, of all threads."""

    def __enter__(self) -> _Clock:
        self._wall, self._cpu = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.wall = time.perf_counter() - self._wall
        self.cpu = time.process_time() - self._cpu


def _job(name: str, files: Sweep) -> Any:
    from rageval_batch.inputs.sources import sources
    from rageval_batch.profiles.registry import get_profile
    from rageval_batch.runs.job import Job

    profile = get_profile(name)
    return Job(
        profile=profile,
        params=profile.read_params({}),
        outputs=sources([files.outputs]),
        questions=sources([files.questions]),
        contexts=sources([files.contexts]) if files.contexts else [],
    )


def _warm(profile: str, folder: Path) -> None:
    """Load all modules and tables: a cost of every process, not of a row. Garbage is looked for as seldom as in a
    command."""
    from rageval_batch.runs.store import Store
    from rageval_batch.runs.sweep import run as run_sweep

    collect_garbage_seldom()
    folder.mkdir(parents=True, exist_ok=True)
    run_sweep(_job(profile, SWEEPS[profile].write(folder, WARM_ROWS, 0)), Store(folder / "runs"))


def _sweep(profile: str, files: Sweep, store: Path) -> Measured:
    from rageval_batch.runs.store import Store
    from rageval_batch.runs.sweep import run as run_sweep

    _warm(profile, store.parent / "warm")
    with _Clock() as clock:
        outcome = run_sweep(_job(profile, files), Store(store))
    return Measured(
        clock.wall, clock.cpu, outcome.counts.rows_read, peak_mib=peak_mib(), parts={"write": outcome.timing.write}
    )


def _stages(profile: str, files: Sweep) -> Measured:
    """CPU of reading and keying rows, of decoding JSON answers, and of all the rest of scoring, on one thread."""
    from rageval_batch.columnar import json_objects
    from rageval_batch.inputs.kinds import input_kind
    from rageval_batch.runs.batch import score_batch, scorer

    folder = files.outputs.parent / "stages"
    _warm(profile, folder)
    job = _job(profile, files)
    inputs = input_kind(job.profile).load(job.questions, job.contexts, job.params, folder=folder)
    ready = scorer(job.profile, job.params, inputs.eval_set)
    reused = ready.reused_scores()
    cpu = {"read": 0.0, **({"decode": 0.0} if SWEEPS[profile].json_answers else {}), "score": 0.0}
    rows = 0
    blocks = inputs.ingest(job.outputs).blocks()
    while True:
        start = time.process_time()
        block = next(blocks, None)
        cpu["read"] += time.process_time() - start
        if block is None:
            break
        batch = inputs.with_contexts(block.batch)
        start = decoded = time.process_time()
        if "decode" in cpu:
            json_objects.read_objects(batch.column("output"), lenient=False)
            decoded = time.process_time()
            cpu["decode"] += decoded - start
        score_batch(ready, batch, reused)
        cpu["score"] += (time.process_time() - decoded) - (decoded - start)
        rows += block.rows
    return Measured(sum(cpu.values()), sum(cpu.values()), rows, peak_mib=peak_mib(), parts=cpu)


def _floor(profile: str, files: Sweep) -> Measured:
    """What it costs merely to read the file, validate each answer and decode its fields, without scoring, in a process
    that has done so once."""
    import duckdb

    kind, path = SWEEPS[profile], str(files.outputs)
    with duckdb.connect() as connection:
        structure = _structure(profile, files)
        floor.read_and_decode(connection, path, kind.answer, structure=structure)
        with _Clock() as clock:
            rows, *_ = floor.read_and_decode(connection, path, kind.answer, structure=structure)
    return Measured(clock.wall, clock.cpu, int(rows), peak_mib=peak_mib(), parts={})


def _structure(profile: str, files: Sweep) -> str | None:
    """What the floor decodes of an answer; None for profiles whose answers are texts."""
    import duckdb

    kind = SWEEPS[profile]
    if kind.structure is not None or not kind.json_answers:
        return kind.structure
    with duckdb.connect() as connection:
        return floor.structure_of(connection, str(files.outputs))


def oracles_folder() -> Path | None:
    """The folder that holds the package `oracles`: tests/ in a checkout, beside this module in a wheel, which has the
    modules of this one oracle only."""
    for folder in (Path(__file__).parent / "row_at_a_time", Path(__file__).parents[2] / "tests"):
        if (folder / "oracles").is_dir():
            return folder
    return None


def _oracle(files: Sweep, rows: int) -> Measured:
    """The slow, obvious scorer, one row after the other."""
    from itertools import islice

    sys.path.insert(0, str(oracles_folder()))
    from oracles import eval_json_v2 as oracle

    assert files.contexts is not None
    questions = {q["id"]: q["expected"]["answer_example"] for q in json.loads(files.questions.read_bytes())}
    with files.contexts.open(encoding="utf-8") as lines:
        chunks = {row["question_id"]: row["chunks"] for row in map(json.loads, lines)}
    with files.outputs.open(encoding="utf-8") as lines, _Clock() as clock:
        for row in map(json.loads, islice(lines, rows)):
            oracle.score(questions[row["question_id"]], chunks[row["question_id"]], row["output"])
    return Measured(clock.wall, clock.cpu, rows, peak_mib=peak_mib(), parts={})
