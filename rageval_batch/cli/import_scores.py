"""`rageval import-scores`."""

from __future__ import annotations

import click

from rageval_batch.cli.options import output_options, say, store_option


@click.command("import-scores")
@click.argument("files", nargs=-1, required=True)
@click.option("--run-id", help="The run of rows that have no run_id; else the file's name.")
@click.option("--name", default="imported", show_default=True, help="What the scores are called, as a profile is.")
@click.option("--score", "score_column", metavar="COLUMN",
              help="The column that is the score of an answer, of which more is better.")  # fmt: skip
@click.option("--top", type=float, help="The best score; 1 where no score is greater.")
@click.option("--lower", multiple=True, metavar="COLUMN",
              help="A column of which less is better: a metric beside the score.")  # fmt: skip
@click.option("-q", "--questions", multiple=True, help="Question file of the eval set; else the questions of the rows.")
@store_option
@output_options("table", "json", "jsonl", "csv", "tsv", "md", "html", "parquet", "xlsx")
def import_scores(
    *,
    files: tuple[str, ...],
    run_id: str | None,
    name: str,
    score_column: str | None,
    top: float | None,
    lower: tuple[str, ...],
    questions: tuple[str, ...],
    store: str,
    format: str,
    target: str | None,
) -> None:
    """Keep scores that another tool computed as runs that can be compared, gated and asked in SQL.

    FILES have rows of question_id, run_id where there are several runs, and columns of numbers: each is a metric.

    \b
    Example:
      rageval import-scores ragas.csv --run-id tuesday --name ragas --score faithfulness
    """
    from rageval_batch.cli.score import commit_job
    from rageval_batch.inputs import sources
    from rageval_batch.runs.imported_scores import ImportOptions, import_job
    from rageval_batch.runs.store import Store

    options = ImportOptions(name=name, score=score_column, top=top, lower=lower, run_id=run_id)
    with sources.opened(files) as opened:
        job, notes = import_job(opened, sources.sources(questions) if questions else [], options)
        for note in notes:
            say(note)
        commit_job(job, Store(store), format, target=target)
