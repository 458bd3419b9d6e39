"""`rageval check`."""

from __future__ import annotations

import click

from rageval_batch.cli.options import emit, emit_rows, output_options, profile_option, say
from rageval_batch.errors import EXIT_BAD_INPUT, EXIT_OK, InputError

_COLUMNS = ("file", "line", "question", "path", "found", "allowed")


@click.command()
@click.argument("files", nargs=-1)
@profile_option("Whose questions they are; else the files' shape shows it.")
@click.option("--outputs", is_flag=True, help="The files are outputs, held against what -p says of an answer.")
@click.option("--encoding", help="Encoding of CSV and JSON files, where it is not recognised: cp1251, gb18030, …")
@click.option("--schema", is_flag=True, help="Print the JSON Schema of the profile's question files.")
@output_options("table", "json", "jsonl", "csv", "tsv", "md", "html", "parquet", "xlsx")
def check(
    *,
    files: tuple[str, ...],
    profile_name: str | None,
    outputs: bool,
    encoding: str | None,
    schema: bool,
    format: str,
    target: str | None,
) -> int:
    """Hold question FILES, or outputs, against the JSON Schema of their profile and name every violation with its path.

    Exit code 2 if there is any.

    \b
    Example:
      rageval check fact_exact.json -p legal_rag
      rageval check --outputs adapter.jsonl -p eval_json_v2
    """
    from rageval_batch.inputs import sources
    from rageval_batch.inputs.check import check_file, file_schema
    from rageval_batch.inputs.check_outputs import check_outputs
    from rageval_batch.profiles.registry import get_profile, known_profiles

    if schema:
        import json

        if profile_name is None or files:
            raise InputError("--schema needs -p PROFILE and no files.")
        emit(json.dumps(file_schema(get_profile(profile_name)), ensure_ascii=False, indent=1), target, "json")
        return EXIT_OK
    if not files:
        raise InputError("Name the files to check.")
    if outputs and profile_name is None:
        raise InputError("--outputs needs -p PROFILE: answers do not say whose they are.")
    profiles = [get_profile(profile_name)] if profile_name else list(known_profiles().values())
    found = sources.sources(files)
    if encoding:
        found = [sources.with_encoding(file, encoding) for file in found]
    for note in sources.guesses(found):
        say(note)
    checked = [check_outputs(file, profiles[0]) if outputs else check_file(file, profiles) for file in found]
    rows = [vars(violation) for one in checked for violation in one.violations]
    if rows or format != "table":
        emit_rows(rows, _COLUMNS, format, target=target)
    for one in checked:
        verdict = f"{len(one.violations):,} violations" if one.violations else "ok"
        what = "outputs" if outputs else "questions"
        say(f"{one.file}: {one.questions:,} {what}{f' of {one.profile}' if one.profile else ''}: {verdict}")
    return EXIT_BAD_INPUT if rows else EXIT_OK
