"""`rageval functions`."""

from __future__ import annotations

import click

from rageval_batch.cli.options import emit, output_options


@click.command()
@click.argument("name", required=False)
@output_options("table", "json", "md")
def functions(name: str | None, format: str, target: str | None) -> None:
    """List the functions of SQL, profile files, Polars and Python, or describe one.

    \b
    Example:
      rageval functions token_f1
    """
    from rageval_batch.report.functions import describe_function, function_list
    from rageval_batch.report.screen import standard_screen

    screen = standard_screen(target)
    text = function_list(format, screen) if name is None else describe_function(name, format, screen)
    emit(text, target, format)
