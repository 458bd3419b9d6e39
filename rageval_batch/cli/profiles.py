"""`rageval profiles`."""

from __future__ import annotations

import click

from rageval_batch.cli.options import emit, emit_rows, output_options


@click.command()
@click.argument("name", required=False)
@output_options("table", "json", "md")
def profiles(name: str | None, format: str, target: str | None) -> None:
    """List the profiles, or describe one: inputs with an example, parameters, columns, metrics, gates.

    \b
    Example:
      rageval profiles eval_json_v2
    """
    from rageval_batch.profiles.registry import get_profile, known_profiles
    from rageval_batch.report.describe import as_dict, describe

    if name is None:
        rows = [{"profile": profile.name, "what it scores": profile.title} for profile in known_profiles().values()]
        emit_rows(rows, ("profile", "what it scores"), format, target)
        return
    profile = get_profile(name)
    if format == "json":
        from rageval_batch.report.cells import json_line

        emit(json_line(as_dict(profile)), target)
        return
    emit(describe(profile, format), target)
