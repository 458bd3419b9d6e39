"""Options that several commands share, and how a result leaves the command line."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, TextIO, TypeVar, cast

import click

from rageval_batch.cli import completion
from rageval_batch.errors import DamagedCommit, InputError, StoreError
from rageval_batch.report.safe_text import message_text, terminal_lines, valid_text

if TYPE_CHECKING:
    import pyarrow as pa

    from rageval_batch.analysis.session import Session
    from rageval_batch.report.layout import OptionalColumns, Tones

Command = TypeVar("Command", bound=Callable[..., Any])


def store_option(command: Command) -> Command:
    """--store and --strict-store"""
    command = click.option(
        "--strict-store", is_flag=True, expose_value=False, callback=_strict_store,
        help="A damaged commit in the store is an error; else it is named and left out.",
    )(command)  # fmt: skip
    return click.option(
        "--store",
        default=completion.DEFAULT_STORE,
        show_default=True,
        envvar="RAGEVAL_STORE",
        help="Folder or URL of the store.",
    )(command)


def _strict_store(context: click.Context, option: click.Parameter, given: bool) -> None:
    if given:
        warnings.simplefilter("error", DamagedCommit)


@contextmanager
def damaged_commits_said() -> Iterator[None]:
    """Name each damaged commit once on stderr while a command runs."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", DamagedCommit)
        show, said = warnings.showwarning, set[str]()

        def say_once(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if not issubclass(category, DamagedCommit):
                show(message, category, filename, lineno, file, line)
            elif str(message) not in said:
                said.add(str(message))
                say_error(f"rageval: {message}")

        warnings.showwarning = say_once
        yield


def profile_option(text: str, required: bool = False) -> Callable[[Command], Command]:
    """-p: a name, or where a profile from elsewhere is declared, which is then known by its name."""

    def add(command: Command) -> Command:
        return click.option(
            "-p", "--profile", "profile_name", required=required, callback=_profile_name,
            metavar="NAME|FILE.toml|FILE.py:NAME", help=text, shell_complete=completion.profiles,
        )(command)  # fmt: skip

    return add


def _profile_name(context: click.Context, option: click.Parameter, given: str | None) -> str | None:
    if given is None:
        return given
    from rageval_batch.profiles.registry import get_profile, is_reference

    return get_profile(given).name if is_reference(given) else given


def picking_options(command: Command) -> Command:
    """-p and --eval-set, where a store may hold several."""
    command = click.option(
        "--eval-set",
        help="Name, version or hash of the eval set; else the newest.",
        shell_complete=completion.eval_sets,
    )(command)
    return profile_option("Profile; else that of the newest result.")(command)


def output_options(*formats: str) -> Callable[[Command], Command]:
    """--format and -o; the format is the given one, else that of the file's ending, else the first of these."""

    def choose(context: click.Context, option: click.Parameter, given: str | None) -> str:
        from rageval_batch.report.formats import FILE_FORMATS, chosen_format

        target: str | None = context.params.get("target")
        format = chosen_format(given, target, formats)
        if format in FILE_FORMATS and target is None:
            raise InputError(f"--format {format} needs a file: add -o FILE.{format}.")
        return format

    def add(command: Command) -> Command:
        @wraps(command)
        def checked(**given: Any) -> Any:
            if given["target"] is not None:
                from rageval_batch.cli.targets import check_target

                check_target(given["target"], given)
            return command(**given)

        command_with_file = click.option(
            "-o", "--output", "target", is_eager=True, metavar="FILE", type=click.Path(),
            help="Write to this file in place of stdout, in the format of its ending.",
        )(cast(Command, checked))  # fmt: skip
        return click.option(
            "--format", "format", type=click.Choice(formats), callback=choose,
            help=f"Output format; else by the ending of -o, else {formats[0]}.",
        )(command_with_file)  # fmt: skip

    return add


def pairs(items: Sequence[str], option: str) -> dict[str, str]:
    """k=v options as a mapping; InputError for a name with two values."""
    out: dict[str, str] = {}
    for item in items:
        name, equals, value = item.partition("=")
        if not equals or not name:
            raise InputError(f"{option} {item}: write it as name=value.")
        if out.get(name.strip(), value) != value:
            raise InputError(f"{option} {name.strip()} is given twice, with other values. Give one of them.")
        out[name.strip()] = value
    return out


def given_once(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> str | None:
    """The value of an option that names one file; giving it twice is an error, as the first would be lost."""
    if len(given) > 1:
        raise InputError(f"{option.opts[0]} is given {len(given)} times. Give it once.")
    return given[0] if given else None


def emit(text: str, target: str | None, format: str = "table") -> None:
    """Write a text to a file or stdout.

    A table was made for the screen it goes to; of other formats a terminal gets nothing that it could act on.
    """
    if target is None:
        if format != "table" and sys.stdout.isatty():
            text = terminal_lines(text)
        _printed().begun = True
        sys.stdout.write(text + "\n")  # as it is: click.echo would take escape sequences out of data
        return
    from rageval_batch.report.writers import replaced_file

    try:
        with replaced_file(target) as out:
            out.write(valid_text(text + "\n").encode())
    except OSError as error:
        raise InputError(f"Cannot write {target}: {error.strerror}.") from error


def no_runs(store: str, profile: str | None, eval_set: str | None) -> StoreError:
    """What there is to say where a store has no runs, or none of that profile and eval set."""
    such = "such " if profile or eval_set else ""
    return StoreError(f"The store {store} has no {such}runs. Score some first: rageval score --store {store} …")


def emit_rows(
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[str],
    format: str,
    *,
    target: str | None,
    optional: OptionalColumns = (),
    tones: Tones | None = None,
) -> None:
    """Write rows in a format; on a screen without room the `optional` columns are left out."""
    from rageval_batch.report.formats import FILE_FORMATS, render
    from rageval_batch.report.screen import standard_screen
    from rageval_batch.report.writers import to_arrow

    if format in FILE_FORMATS:
        emit_batches(to_arrow(rows, columns).to_reader(), format, target)
        return
    emit(render(rows, columns, format, screen=standard_screen(target), optional=optional, tones=tones), target, format)


def emit_batches(reader: pa.RecordBatchReader, format: str, target: str | None) -> None:
    """Write record batches as csv, tsv, json, jsonl, parquet or xlsx, one after the other."""
    from rageval_batch.report.writers import text_chunks, write_file

    if target is not None:
        write_file(reader, format, target)
        return
    shown = terminal_lines if sys.stdout.isatty() else str
    for chunk in text_chunks(reader, format):
        _printed().begun = True
        sys.stdout.write(shown(chunk))


class Printed:
    """The object of a command's context: whether it has written something to stdout, which nothing takes back."""

    def __init__(self) -> None:
        self.begun = False


def _printed() -> Printed:
    context = click.get_current_context(silent=True)
    return (context and context.find_object(Printed)) or Printed()


def has_printed() -> bool:
    """Whether the present command has written something to stdout."""
    return _printed().begun


_QUIET = "rageval.quiet"


def quiet_option() -> click.Option:
    """--quiet, which every command has: no messages but errors."""

    def note(context: click.Context, option: click.Parameter, given: bool) -> None:
        context.meta[_QUIET] = given or context.meta.get(_QUIET, False)

    return click.Option(
        ["--quiet"], is_flag=True, expose_value=False, is_eager=True, callback=note,
        help="No messages and no progress: results and errors only.",
    )  # fmt: skip


def debug_option() -> click.Option:
    """--debug, which every command has; the command line looks for it itself, before anything can go wrong."""
    return click.Option(
        ["--debug"], is_flag=True, expose_value=False, help="Show the traceback of an error of rageval itself.",
    )  # fmt: skip


def is_quiet() -> bool:
    """Whether messages are not wanted."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(_QUIET, False))


def say(text: str) -> None:
    """A message for people, on stderr, on a line of its own; nothing with --quiet."""
    if not is_quiet():
        say_error(text)


def score_notes(session: Session, runs: Sequence[Mapping[str, Any]]) -> list[str]:
    """What is to be known of the scores of runs: what they count, and those that leave questions out."""
    from rageval_batch.analysis.runs import partial_scores
    from rageval_batch.report.cells import partial_words

    return [*count_notes(session, (row["profile"] for row in runs)), *partial_words(partial_scores(session, runs))]


def optional_columns(rows: Sequence[Mapping[str, Any]], columns: OptionalColumns) -> OptionalColumns:
    """The columns that lines of runs can do without: not the eval set, where run and profile do not tell them apart."""
    if len({(row["run_id"], row["profile"]) for row in rows}) == len(rows):
        return columns
    return tuple(name for name in columns if name != "eval_set")


def count_notes(session: Session, profiles: Iterable[str], *, counts: str | None = None) -> list[str]:
    """Of profiles whose numbers count other things than questions, what they count; `counts` are those of rows."""
    from rageval_batch.report.cells import counts_words

    rows = filter(None, map(session.profile, dict.fromkeys(profiles)))
    return [said for row in rows if (said := counts_words(row.profile, row.unit, row.row, counts=counts))]


def say_error(text: str) -> None:
    """What people must know, on stderr."""
    sys.stderr.write(message_text(text) + "\n")
