"""`rageval score` and `rageval rescore`."""

from __future__ import annotations

import shlex
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rageval_batch.cli import completion
from rageval_batch.cli.options import (
    emit,
    emit_rows,
    given_once,
    is_quiet,
    output_options,
    pairs,
    picking_options,
    profile_option,
    say,
    store_option,
)
from rageval_batch.cli.progress import Progress
from rageval_batch.errors import EXIT_BAD_INPUT, EXIT_OK, InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from rageval_batch.analysis.run_lines import PartialAverage
    from rageval_batch.analysis.session import Session
    from rageval_batch.model import Profile
    from rageval_batch.runs.job import Job
    from rageval_batch.runs.store import Store
    from rageval_batch.runs.sweep import Outcome

FEW = 12  # runs that a terminal shows all; of more, the best and the worst
_LINES = 1_000  # of runs that are written at a time
_FORMATS = ("table", "json", "jsonl", "csv", "tsv", "md", "html", "parquet", "xlsx")


def _params(given: tuple[str, ...], file: str | None) -> dict[str, Any]:
    """Parameters of a TOML or JSON file, then those of the command line."""
    from rageval_batch.config import read_config

    return {**(read_config(file) if file else {}), **pairs(given, "--param")}


@click.command()
@click.argument("outputs", nargs=-1, required=True)
@profile_option(
    "How to score; see rageval profiles. FILE.toml, FILE.py:NAME or package.module:NAME is a profile of your own.",
    required=True,
)
@click.option("-q", "--questions", multiple=True, help="Question file of the eval set, or list of samples.")
@click.option("-c", "--contexts", multiple=True, help="File of retrieved chunks, per question or run and question.")
@store_option
@click.option("--param", "given_params", multiple=True, metavar="K=V", help="A parameter of the profile.")
@click.option("--params", "params_file", help="Parameters as a TOML or JSON file.")
@click.option(
    "--map",
    "mapped",
    multiple=True,
    metavar="FIELD=PATH",
    help="Where a field of an output row stands: a column, or a path such as response.texts[0].",
)
@click.option("--map-file", help="A TOML or JSON file with a table [map] of fields and paths.")
@click.option(
    "--from",
    "tool",
    metavar="TOOL",
    help="Outputs as ragas, deepeval, promptfoo, lm-eval, inspect or mlflow export them.",
)
@click.option("--encoding", help="Encoding of CSV and JSON outputs, where it is not recognised: cp1251, gb18030, …")
@click.option("--run-id", metavar="NAME", help="The run of all rows, whatever their column run_id says.")
@click.option(
    "--run-id-from",
    type=click.Choice(("path", "stem", "column")),
    help="Name runs by the path or stem of their file, or by the column run_id alone. "
    "Else: the column, else the stem, and where stems collide the folders in which the files differ.",
)
@click.option("--meta", multiple=True, metavar="K=V", help="Metadata of all runs, e.g. index_version=7.")
@click.option(
    "--run-meta",
    "run_meta_file",
    multiple=True,
    callback=given_once,
    help="Metadata of single runs: rows with run_id; it wins over --meta and --prompt.",
)
@click.option(
    "--prompt",
    multiple=True,
    callback=given_once,
    help="The prompt file: its hash and prompt_version go into the record.",
)
@click.option(
    "--source",
    "document",
    multiple=True,
    callback=given_once,
    help="The document that answers were drawn from: its hash goes into the record.",
)
@click.option("--keep-inputs", is_flag=True, help="Keep a copy of answers, questions and contexts in the store.")
@click.option(
    "--max-rows",
    type=click.IntRange(min=1),
    default=100_000_000,
    show_default=True,
    help="Refuse to make more score rows than this: every run gets one for every question.",
)
@click.option(
    "--max-row-bytes",
    type=click.IntRange(min=1),
    metavar="N",
    help="Reject rows of more bytes than this; 64 MiB where it is not given.",
)
@click.option("--archive", metavar="DIR", help="Also write every judgement to DIR, valid ones apart (judge_protocol).")
@click.option(
    "--engine",
    type=click.Choice(("local", "spark")),
    default="local",
    show_default=True,
    help="Where rows are scored: on this machine, or by the tasks of a Spark cluster (extra `spark`).",
)
@click.option("--master", metavar="URL", help="The Spark cluster: spark://HOST:7077, yarn, k8s://…, local[4].")
@click.option("--conf", multiple=True, metavar="K=V", help="A setting of Spark, e.g. spark.executor.memory=4g.")
@click.option("--strict", is_flag=True, help="Exit 2 if any row is rejected; the others are scored all the same.")
@output_options(*_FORMATS)
def score(
    *,
    outputs: tuple[str, ...],
    profile_name: str,
    questions: tuple[str, ...],
    contexts: tuple[str, ...],
    store: str,
    given_params: tuple[str, ...],
    params_file: str | None,
    mapped: tuple[str, ...],
    map_file: str | None,
    tool: str | None,
    encoding: str | None,
    run_id: str | None,
    run_id_from: str | None,
    meta: tuple[str, ...],
    run_meta_file: str | None,
    prompt: str | None,
    document: str | None,
    keep_inputs: bool,
    max_rows: int,
    max_row_bytes: int | None,
    archive: str | None,
    engine: str,
    master: str | None,
    conf: tuple[str, ...],
    strict: bool,
    format: str,
    target: str | None,
) -> int:
    """Score OUTPUTS (files, folders, globs, URLs, - for JSONL on stdin) and commit the result to the store.

    The same command again changes nothing; an interrupted one goes on where it stopped.

    \b
    Example:
      rageval score outputs/*.jsonl -p eval_json_v2 -q questions.json -c contexts.jsonl --store runs
    """
    from rageval_batch.config import read_table
    from rageval_batch.inputs import run_metadata, sources
    from rageval_batch.inputs.map_check import check_map
    from rageval_batch.inputs.presets import read_map, with_map
    from rageval_batch.inputs.run_names import with_run_names
    from rageval_batch.profiles.registry import get_profile
    from rageval_batch.runs.job import Job
    from rageval_batch.runs.store import Store

    profile = get_profile(profile_name)
    params = profile.read_params(_params(given_params, params_file))
    given = run_metadata.RunMetadata(
        pairs(meta, "--meta"),
        run_metadata.read_run_meta(run_meta_file) if run_meta_file else {},
        run_metadata.read_prompt(prompt) if prompt else {},
    )
    given.check_prompt(prompt)
    if archive is not None and profile.inputs.archive is None:
        raise InputError(f"Profile {profile.name} has no archive. Leave --archive out.")
    if engine != "spark" and (master or conf):
        raise InputError("--master and --conf are of Spark: add --engine spark.")
    if engine == "spark":
        _require_spark(outputs)
    place = Store(store)
    fields = {
        **(read_map(read_table(map_file, "map"), map_file) if map_file else {}),
        **read_map(pairs(mapped, "--map"), "--map"),
    }
    with (
        sources.opened(outputs, profile.inputs.whole_files) as opened,
        tempfile.TemporaryDirectory(prefix="rageval-") as folder,
    ):
        files = [sources.with_encoding(file, encoding) for file in opened] if encoding else opened
        if max_row_bytes is not None:
            files = [sources.with_row_limit(file, max_row_bytes) for file in files]
        files, notes = with_run_names(with_map(files, tool, fields), run_id, run_id_from)
        check_map(files, fields, profile, has_questions=bool(questions))
        question_files = sources.sources(questions)
        context_files = sources.sources(contexts) if contexts else []
        for note in [*notes, *sources.guesses([*files, *question_files, *context_files])]:
            say(note)  # before anything is refused: a wrong encoding may be the reason
        if profile.inputs.questions_required and not questions:
            from rageval_batch.inputs.one_table import take_questions

            table = take_questions(files, profile, Path(folder))
            files, question_files = table.outputs, [table.questions]
            for note in table.notes:
                say(note)
        job = Job(
            profile=profile,
            params=params,
            outputs=files,
            questions=question_files,
            contexts=context_files,
            document=sources.any_file(document) if document else None,
            metadata=given,
            keep_inputs=keep_inputs,
            max_rows=max_rows,
        )
        outcome = (
            _run_on_spark(job, place, master, conf=pairs(conf, "--conf")) if engine == "spark" else _run(job, place)
        )
        if archive is not None:
            from rageval_batch.runs.archive import write_archive

            say(write_archive(outcome.commit, profile, files, target=Path(archive)))
    _report(place, [outcome], format, target=target)
    if strict and outcome.counts.rejected_rows:
        say(f"--strict: {outcome.counts.rejected_rows:,} rows were rejected; see rageval sql 'from rejects'.")
        return EXIT_BAD_INPUT
    return EXIT_OK


@click.command()
@click.argument("runs", nargs=-1, shell_complete=completion.runs)
@click.option("--all", "every", is_flag=True, help="All current runs of the profile.")
@click.option("--param", "given_params", multiple=True, metavar="K=V", help="A parameter to change.")
@click.option("--params", "params_file", help="Parameters as a TOML or JSON file.")
@store_option
@picking_options
@output_options(*_FORMATS)
def rescore(
    *,
    runs: tuple[str, ...],
    every: bool,
    given_params: tuple[str, ...],
    params_file: str | None,
    store: str,
    profile_name: str | None,
    eval_set: str | None,
    format: str,
    target: str | None,
) -> int:
    """Score the inputs of RUNS again with other parameters, or with a newer version of their profile.

    The result is a new commit; where nothing differs, there is none.

    \b
    Example:
      rageval rescore --all --param json_mode=lenient
    """
    from rageval_batch.analysis.catalog import open_store
    from rageval_batch.analysis.runs import find_run, matching_runs
    from rageval_batch.model import params_sha256
    from rageval_batch.runs import stored_inputs
    from rageval_batch.runs.commit_profile import profile_to_rescore
    from rageval_batch.runs.damage import reading
    from rageval_batch.runs.store import Store
    from rageval_batch.runs.sweep import existing_outcome

    if bool(runs) == every:
        raise InputError("Name the runs to score again, or give --all.")
    place = Store(store)
    commits = {commit.id: commit for commit in place.require()}
    with open_store(store, functions=False, named=runs) as session:
        found = [find_run(session, name, profile_name, eval_set=eval_set) for name in runs]
        found = found or matching_runs(session, profile_name, eval_set)
    if not found:
        raise InputError(f"The store {store} has no run of that profile or eval set. See rageval runs.")
    by_commit: dict[str, set[str]] = {}
    for run in found:
        by_commit.setdefault(run.record["commit"], set()).add(
            run.record["run_id"].removesuffix(f"@{run.record['commit']}")
        )
    changed = _params(given_params, params_file)
    outcomes = []
    for commit_id, names in sorted(by_commit.items()):
        commit = commits[commit_id]
        profile = profile_to_rescore(commit)
        stored_params = {
            name: value
            for name, value in commit.manifest["params"].items()
            if not profile.digest or profile.has_param(name)
        }
        params = profile.read_params({**stored_params, **changed})
        same_version = commit.manifest.get("profile_version", 1) == profile.revision
        if same_version and params_sha256(params) == commit.manifest["params_sha256"]:
            outcomes.append(existing_outcome(commit))
            continue
        with tempfile.TemporaryDirectory(prefix="rageval-") as folder, reading([commit]):
            outcomes.append(
                _run(stored_inputs.job_of(commit, profile, params, runs=frozenset(names), folder=Path(folder)), place)
            )
    _report(place, outcomes, format, target=target)
    return EXIT_OK


def commit_job(job: Job, store: Store, format: str, *, target: str | None) -> None:
    """Score a job into the store and report it."""
    _report(store, [_run(job, store)], format, target=target)


def _run(job: Job, store: Store) -> Outcome:
    progress = Progress("scored")
    try:
        with ThreadPoolExecutor(1) as pool:
            hashed = pool.submit(job.with_hash)
            from rageval_batch.runs import sweep  # which takes a while: files are hashed meanwhile

        return sweep.run(hashed.result(), store, progress)
    finally:
        progress.close()


def _require_spark(outputs: tuple[str, ...]) -> None:
    """InputError where Spark cannot be used, before anything is read."""
    from rageval_batch.engines.session import require_spark

    require_spark()
    if "-" in outputs:
        raise InputError("--engine spark reads files that all nodes see: stdin is none. Write it to a file first.")


def _run_on_spark(job: Job, store: Store, master: str | None, *, conf: dict[str, str]) -> Outcome:
    from rageval_batch.engines import spark
    from rageval_batch.engines.session import session

    progress = Progress("scored")
    try:
        with session(master, conf) as started:
            return spark.run(job, store, started, progress=progress)
    finally:
        progress.close()


def _report(store: Store, outcomes: list[Outcome], format: str, *, target: str | None) -> None:
    """What became of the rows, on stderr; a line a run, on stdout.

    The commits are there, and that is said whatever happens: a summary that cannot be shown is no failure of the
    command.
    """
    for outcome in outcomes:
        _say_counts(outcome, store)
    try:
        _show(store, outcomes, format, target=target)
    finally:
        for outcome in outcomes:
            if outcome.created:
                say(f"Committed {outcome.commit.id} to {store.name}.")


def _show(store: Store, outcomes: list[Outcome], format: str, *, target: str | None) -> None:
    from rageval_batch.answering import answered
    from rageval_batch.profiles.registry import get_profile
    from rageval_batch.report.cells import counts_words, json_line, partial_words

    try:
        in_json = format in ("json", "jsonl")
        whole = answered(lambda: _whole_summaries(store, outcomes)) if in_json else []
        lines, partial = ([], []) if in_json else answered(lambda: _run_lines(store, outcomes, format))
    except Exception as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        say(f"The summary cannot be shown: {reason} See rageval runs --store {store.name}.")
        return
    if format == "json":
        emit(json_line(whole[0] if len(whole) == 1 else whole), target, format)
    elif format == "jsonl":
        emit("\n".join(map(json_line, whole)), target, format)
    else:
        count = sum(part.num_rows for part in lines)
        shown = _best_and_worst(lines) if _has_room_for_few(format, target) and count > FEW else lines
        names = dict.fromkeys(name for part in shown for name in part.column_names if name not in _COUNTS)
        _emit_lines(shown, [*names, *_COUNTS], format, target=target)
        for name in dict.fromkeys(outcome.commit.manifest["profile"] for outcome in outcomes):
            unit = get_profile(name).summary.unit
            if said := counts_words(name, unit.name, unit.row, counts=" and ".join(_COUNTS)):
                say(said)
        for said in partial_words(partial):
            say(said)
        if shown is not lines:
            say(f"{count:,} runs; the best and worst {FEW // 2} are shown. All: --format csv, or -o FILE.")


def _has_room_for_few(format: str, target: str | None) -> bool:
    """Whether of many runs some are shown: on a terminal, where a message says so; a pipe or a file has all."""
    return target is None and format in ("table", "md") and sys.stdout.isatty() and not is_quiet()


def _emit_lines(lines: list[pa.Table], columns: list[str], format: str, *, target: str | None) -> None:
    """Write the lines of runs; to a pipe as they are made, for there may be more runs than anybody looks at."""
    from rageval_batch.report.formats import markdown_lines
    from rageval_batch.report.layout import table_lines
    from rageval_batch.report.screen import standard_screen

    rows = (row for part in lines for batch in part.to_batches(_LINES) for row in batch.to_pylist())
    if target is not None or format not in ("table", "md"):
        emit_rows(list(rows), columns, format, target=target)
        return
    made = (
        markdown_lines(rows, columns)
        if format == "md"
        else table_lines(rows, columns, standard_screen(), optional=("stat", "answered"))
    )
    for line in made:
        emit(line, None, format)


def _best_and_worst(lines: list[pa.Table]) -> list[pa.Table]:
    """The first lines of all and the last, of more than FEW."""
    first: list[pa.Table] = []
    last: list[pa.Table] = []
    for part in lines:
        first.append(part.slice(0, FEW // 2 - sum(taken.num_rows for taken in first)))
    for part in reversed(lines):
        wanted = FEW // 2 - sum(taken.num_rows for taken in last)
        last.insert(0, part.slice(max(0, part.num_rows - wanted)))
    return [part for part in (*first, *last) if part.num_rows]


def _run_lines(store: Store, outcomes: list[Outcome], format: str) -> tuple[list[pa.Table], list[PartialAverage]]:
    """Of every commit the line that its profile shows of a run; what in them is over less than all questions."""
    import pyarrow as pa

    from rageval_batch.analysis.run_lines import (
        partial_averages,
        run_lines,
        summary_from_session,
        summary_of_commit,
    )
    from rageval_batch.runs.commit_profile import profile_of
    from rageval_batch.runs.summary_plan import summary_plan

    found, partial = [], []
    for outcome in outcomes:
        profile = profile_of(outcome.commit)
        _say_failed_expressions(store, outcome, profile)
        named = {name: profile.summary.stats[name] for name in profile.summary.headline}
        summary = summary_of_commit(outcome.commit, summary_plan(profile).definition, named)
        if summary is None:
            with _session(store) as session:
                summary = summary_from_session(session, outcome.commit.id)
        lines = run_lines(summary, named, profile.summary.run_stat)
        same = ("score", profile.summary.run_stat) if format in ("table", "md") else None
        lines = lines.drop_columns(
            [name for name, stat in named.items() if stat == same]
        )  # people need no number twice
        if lost := outcome.lost_rows:  # marked by a column that is not there otherwise
            lines = lines.append_column(
                "rejected", pa.array([lost.get(run) for run in lines.column("run_id").to_pylist()], pa.int64())
            )
        found.append(lines)
        partial += partial_averages(summary, named, profile.summary.unit.row)
    return found, partial


def _whole_summaries(store: Store, outcomes: list[Outcome]) -> list[dict[str, Any]]:
    """All that is known of every run of the commits."""
    from rageval_batch.analysis.runs import summaries
    from rageval_batch.runs.commit_profile import profile_of

    found: list[dict[str, Any]] = []
    for outcome in outcomes:
        profile = profile_of(outcome.commit)
        _say_failed_expressions(store, outcome, profile)
        with _session(store) as session:
            found += [one.as_dict() for one in summaries(session, outcome.commit.id, profile.summary.stats)]
    return found


def _say_failed_expressions(store: Store, outcome: Outcome, profile: Profile) -> None:
    """How many rows have an expression of a profile file without a value, and the first of them."""
    if not profile.digest:
        return
    from rageval_batch.analysis.runs import failed_expressions

    with _session(store) as session:
        failed, first = failed_expressions(session, profile.name, outcome.commit.id)
    if first is not None:
        rows = f"{failed:,} {'row has' if failed == 1 else 'rows have'} an expression without a value"
        where = f"run '{first['run_id']}', question '{first['question_id']}': {first['fail_detail']}"
        query = f"select run_id, question_id, fail_detail from {profile.name} where fail_detail is not null"
        say(f'{rows}, the first {where}. All: rageval sql "{query}".')


def _session(store: Store) -> Session:
    from rageval_batch.analysis.catalog import open_store

    return open_store(store.name, functions=False)


_COUNTS = ("answered", "questions")


def _say_counts(outcome: Outcome, store: Store) -> None:
    from rageval_batch.report.cells import count_text

    counts = outcome.counts
    if not outcome.created:
        say(f"Nothing to do: commit {outcome.commit.id} has this already.")
    if outcome.resumed_parts:
        say(f"Went on with an interrupted sweep: {outcome.resumed_parts} parts were scored already.")
    say(
        f"{count_text(counts.rows_read, 'row')} read = {count_text(counts.score_rows, 'score row')} - "
        f"{count_text(counts.missing_rows, 'missing output')} + {counts.rejected_rows:,} rejected"
        f"{_reject_reasons(outcome)}"
    )
    if counts.rejected_rows:
        query = f"from rejects where commit = '{outcome.commit.id}'"
        say(f'Rejected rows: rageval sql "{query}" --store {shlex.quote(store.name)}')
    if "duplicate" in outcome.reject_reasons:
        say(
            "A duplicate is a second answer of the same run to a question. Where a column tells them apart, name it: "
            "--map run_id=COLUMN or --map repeat=COLUMN."
        )
    for warning in outcome.warnings:
        say(warning)


def _reject_reasons(outcome: Outcome) -> str:
    reasons = ", ".join(f"{reason} {n:,}" for reason, n in outcome.reject_reasons.items())
    return f" ({reasons})" if reasons else ""
