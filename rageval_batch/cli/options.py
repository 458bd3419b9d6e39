"""Options that several commands share, and how a result leaves the command line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import click

from rageval_batch.errors import InputError

Command = TypeVar("Command", bound=Callable[..., Any])
DEFAULT_STORE = "runs"


def store_option(command: Command) -> Command:
    """--store"""
    return click.option(
        "--store", default=DEFAULT_STORE, show_default=True, envvar="RAGEVAL_STORE", help="Folder of the store."
    )(command)


def profile_option(text: str, required: bool = False) -> Callable[[Command], Command]:
    """-p: a name, or where a profile from elsewhere is declared, which is then known by its name."""

    def add(command: Command) -> Command:
        return click.option(
            "-p", "--profile", "profile_name", required=required, callback=_profile_name,
            metavar="NAME|FILE.toml|FILE.py:NAME", help=text,
        )(command)  # fmt: skip

    return add


def _profile_name(context: click.Context, option: click.Parameter, given: str | None) -> str | None:
    if given is None:
        return given
    from rageval_batch.profiles.registry import get_profile, is_reference

    return get_profile(given).name if is_reference(given) else given


def picking_options(command: Command) -> Command:
    """-p and --eval-set, where a store may hold several."""
    command = click.option("--eval-set", help="Name, version or hash of the eval set; else the newest.")(command)
    return profile_option("Profile; else that of the newest result.")(command)


def output_options(*formats: str) -> Callable[[Command], Command]:
    """--format and -o."""

    def add(command: Command) -> Command:
        command = click.option("-o", "--output", "target", help="Write to this file in place of stdout.")(command)
        return click.option(
            "--format",
            "format",
            type=click.Choice(formats),
            default=formats[0],
            show_default=True,
            help="Output format.",
        )(command)

    return add


def pairs(items: Sequence[str], option: str) -> dict[str, str]:
    """k=v options as a mapping."""
    out = {}
    for item in items:
        name, equals, value = item.partition("=")
        if not equals or not name:
            raise InputError(f"{option} {item}: write it as name=value.")
        out[name.strip()] = value
    return out


def emit(text: str, target: str | None) -> None:
    """Write text to a file or stdout."""
    if target is None:
        sys.stdout.write(text + "\n")  # as it is: click.echo would take escape sequences out of data
        return
    try:
        Path(target).write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"Cannot write {target}: {error.strerror}.") from error


def emit_pieces(pieces: Iterable[str], target: str | None) -> None:
    """Write a text to a file or stdout, a piece at a time."""
    if target is None:
        for piece in chain(pieces, ["\n"]):
            sys.stdout.write(piece)
        return
    try:
        with Path(target).open("w", encoding="utf-8") as file:
            for piece in chain(pieces, ["\n"]):
                file.write(piece)
    except OSError as error:
        raise InputError(f"Cannot write {target}: {error.strerror}.") from error


def emit_rows(rows: Sequence[dict[str, Any]], columns: Sequence[str], format: str, target: str | None) -> None:
    """Write rows in a format; Parquet needs a file."""
    from rageval_batch.report import formats

    if format == "parquet":
        emit_arrow(formats.to_arrow(rows, columns), target)
        return
    emit(formats.render(rows, columns, format), target)


def emit_arrow(table: Any, target: str | None) -> None:
    """Write an Arrow table to a Parquet file."""
    import pyarrow.parquet as pq

    path = parquet_target(target)
    try:
        pq.write_table(table, path)
    except OSError as error:
        raise InputError(f"Cannot write {path}: {error.strerror or error}.") from error


def parquet_target(target: str | None) -> str:
    """The file that Parquet goes to."""
    if target is None:
        raise InputError("--format parquet needs a file: add -o FILE.parquet.")
    return target


def say(text: str) -> None:
    """A message for people, on stderr."""
    click.echo(text, err=True)
