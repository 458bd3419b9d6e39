"""`rageval sql`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from rageval_batch.cli.options import emit, emit_batches, has_printed, output_options, pairs, say, store_option
from rageval_batch.errors import InputError
from rageval_batch.report.safe_text import valid_text

if TYPE_CHECKING:
    import pyarrow as pa

    from rageval_batch.analysis.session import Session

MOST_ROWS = 200  # of a table on the screen
_MOST_CHARACTERS = 16 << 20  # of a query on stdin, which may have no end


@click.command()
@click.argument("query", required=False)
@click.option("--file", "files", multiple=True, metavar="NAME=PATH",
              help="A Parquet, CSV or JSON file that the query may read, as a view of that name.")  # fmt: skip
@click.option("--allow-files", is_flag=True, help="Let the query read every file; else the store and --file only.")
@store_option
@output_options("table", "csv", "json", "jsonl", "md", "parquet", "tsv", "html", "xlsx")
def sql(
    *, query: str | None, files: tuple[str, ...], allow_files: bool, store: str, format: str, target: str | None
) -> None:
    """Ask a store in SQL: all views and macros, and the functions that `rageval functions` lists.

    Without a QUERY: on a terminal a shell (completion, history, .tables, .schema NAME), from a pipe its text. Queries
    only read: the store and the files named with --file. Results are written by -o alone. In CSV and TSV a text that a
    spreadsheet would take for a formula gets an apostrophe in front.

    "show tables" lists the views: runs, scores, questions, answers, metrics, run_summary, leaderboard, fail_reasons,
    confusions, question_difficulty, rejects, tallies, gate_results, commits, repeat_scores, run_groups,
    judge_*, and one a profile. Macros: regressions(base, cand), run_delta(base, cand), score_deltas(base,
    [cand, …]), run_groups_by('$.field'). The first three take of_eval_set := 'name' and of_profile := 'name' for runs
    that have several in common. The score rows of a run, written as Parquet, can be compared like the run.

    \b
    Example:
      rageval sql "select run_id, score from leaderboard order by rank limit 5"
    """
    from rageval_batch.analysis.catalog import open_store
    from rageval_batch.answering import answered
    from rageval_batch.runs.store import Store

    named = pairs(files, "--file")
    if query is None and not sys.stdin.isatty():
        query = sys.stdin.read(_MOST_CHARACTERS + 1)
        if len(query) > _MOST_CHARACTERS:
            raise InputError(f"stdin has more than {_MOST_CHARACTERS:,} characters: it is no query.")
        if valid_text(query) != query:
            raise InputError("stdin is not valid UTF-8 text. Write the query in UTF-8.")
    if query is None and not sys.stdout.isatty():
        raise InputError("Give a query, as an argument or from a pipe; without one, rageval sql is a shell.")
    Store(store).require()
    with open_store(store) as session:
        session.lock(named, allow_files)
        if query is not None:
            answered(lambda: write_result(session, query, format, target=target), unless=has_printed)
            for note in session.notes:
                say(note)
            return
        from rageval_batch.cli.sql_shell import run_shell

        run_shell(session, lambda text: write_result(session, text, format, target=target))


def write_result(session: Session, query: str, format: str, *, target: str | None) -> None:
    """Write the result of a query as it comes; a screen shows the first rows and says how many more there are."""
    from rageval_batch.report.formats import html_lines, markdown_lines
    from rageval_batch.report.layout import table_lines
    from rageval_batch.report.screen import standard_screen
    from rageval_batch.report.writers import replaced_file, row_dicts

    def rows_of(reader: pa.RecordBatchReader) -> Iterator[dict[str, Any]]:
        for batch in reader:
            yield from row_dicts(batch)

    if format == "parquet":
        emit_batches(session.exported_reader(query), format, target)
        return
    reader = session.reader(query, texts=True)
    lines = {"md": markdown_lines, "html": html_lines, "table": table_lines}.get(format)
    if lines is None:
        emit_batches(reader, format, target)
    elif target is not None:
        with replaced_file(target) as out:
            out.writelines(f"{line}\n".encode() for line in lines(rows_of(reader), reader.schema.names))
    elif format != "table":
        for line in lines(rows_of(reader), reader.schema.names):
            emit(line, None)
    else:
        screen = standard_screen()
        rows = rows_of(reader)
        shown = rows if screen.exact else iter(list(islice(rows, MOST_ROWS)))
        for line in table_lines(shown, reader.schema.names, screen):
            emit(line, None)
        if more := sum(1 for _ in rows):
            say(f"{MOST_ROWS + more:,} rows: {more:,} more than are shown. --format csv or -o FILE gives all.")
