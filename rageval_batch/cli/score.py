"""`rageval score` and `rageval rescore`."""

from __future__ import annotations

import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rageval_batch.cli import completion
from rageval_batch.cli.options import (
    given_once,
    output_options,
    pairs,
    picking_options,
    profile_option,
    say,
    store_option,
)
from rageval_batch.cli.outcomes import CALLED_SO, report_outcomes
from rageval_batch.cli.progress import Progress
from rageval_batch.errors import EXIT_BAD_INPUT, EXIT_OK, InputError

if TYPE_CHECKING:
    from rageval_batch.runs.job import Job
    from rageval_batch.runs.store import Store
    from rageval_batch.runs.sweep import Outcome

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
    report_outcomes(place, [outcome], format, target=target)
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
    report_outcomes(place, outcomes, format, target=target)
    return EXIT_OK


def commit_job(job: Job, store: Store, format: str, *, target: str | None) -> None:
    """Score a job, whose columns cannot be mapped, into the store and report it."""
    report_outcomes(store, [_run(job, store)], format, target=target, apart=CALLED_SO)


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
