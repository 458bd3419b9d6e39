"""`rageval profiles`."""

from __future__ import annotations

import click

from rageval_batch.cli import completion
from rageval_batch.cli.options import emit, emit_rows, output_options
from rageval_batch.errors import InputError


@click.command()
@click.argument("name", required=False, shell_complete=completion.profiles)
@output_options("table", "json", "jsonl", "csv", "tsv", "md", "html", "parquet", "xlsx")
def profiles(name: str | None, format: str, target: str | None) -> None:
    """List the profiles, or describe one: inputs with an example, parameters, columns, metrics, gates.

    \b
    Example:
      rageval profiles eval_json_v2
    """
    from rageval_batch.profiles.registry import get_profile, known_profiles
    from rageval_batch.report.describe import as_dict, describe
    from rageval_batch.report.screen import standard_screen

    if name is None:
        rows = [{"profile": profile.name, "what it scores": profile.title} for profile in known_profiles().values()]
        emit_rows(rows, ("profile", "what it scores"), format, target=target)
        return
    if format not in ("table", "json", "md"):
        raise InputError(f"One profile is described as table, json or md, not as {format}. The list has every format.")
    profile = get_profile(name)
    if format == "json":
        from rageval_batch.report.cells import json_line

        emit(json_line(as_dict(profile)), target, format)
        return
    emit(describe(profile, format, standard_screen(target)), target, format)
