"""`rageval check`."""

from __future__ import annotations

import click

from rageval_batch.cli.options import emit, emit_rows, output_options, profile_option, say
from rageval_batch.errors import EXIT_BAD_INPUT, EXIT_OK, InputError

_COLUMNS = ("file", "line", "question", "path", "found", "allowed")


@click.command()
@click.argument("files", nargs=-1)
@profile_option("Whose questions they are; else the files' shape shows it.")
@click.option("--schema", is_flag=True, help="Print the JSON Schema of the profile's question files.")
@output_options("table", "json", "jsonl", "csv", "tsv", "md", "html", "parquet", "xlsx")
def check(files: tuple[str, ...], profile_name: str | None, schema: bool, format: str, target: str | None) -> int:
    """Hold question FILES against the JSON Schema of their profile and name every violation with its path.

    Exit code 2 if there is any.

    \b
    Example:
      rageval check fact_exact.json -p legal_rag
    """
    from rageval_batch.inputs import sources
    from rageval_batch.inputs.check import check_file, file_schema
    from rageval_batch.profiles.registry import get_profile, known_profiles

    if schema:
        import json

        if profile_name is None or files:
            raise InputError("--schema needs -p PROFILE and no files.")
        emit(json.dumps(file_schema(get_profile(profile_name)), ensure_ascii=False, indent=1), target, "json")
        return EXIT_OK
    if not files:
        raise InputError("Name the question files to check.")
    profiles = [get_profile(profile_name)] if profile_name else list(known_profiles().values())
    checked = [check_file(file, profiles) for file in sources.sources(files)]
    rows = [vars(violation) for one in checked for violation in one.violations]
    if rows or format != "table":
        emit_rows(rows, _COLUMNS, format, target)
    for one in checked:
        verdict = f"{len(one.violations):,} violations" if one.violations else "ok"
        say(f"{one.file}: {one.questions:,} questions{f' of {one.profile}' if one.profile else ''}: {verdict}")
    return EXIT_BAD_INPUT if rows else EXIT_OK
