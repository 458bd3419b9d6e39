"""The command line: parse, call one function, print. Expected errors become one sentence and their exit code here."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any, NoReturn

import click

from rageval_batch import interrupts
from rageval_batch.answering import DamageFound, answered
from rageval_batch.cli.light_imports import import_pyarrow
from rageval_batch.cli.options import Printed, damaged_commits_said, debug_option, quiet_option, say_error
from rageval_batch.errors import (
    EXIT_BAD_INPUT,
    EXIT_OK,
    EXIT_UNEXPECTED,
    InputError,
    RagevalError,
    StoreError,
    did_you_mean,
)
from rageval_batch.report.safe_text import terminal_lines, valid_text
from rageval_batch.version import __version__

# Each command and the module it lives in; a module is imported when its command is used.
COMMANDS = {
    "demo": "demo",
    "score": "score",
    "rescore": "score",
    "runs": "runs",
    "show": "runs",
    "explain": "explain",
    "gate": "gate",
    "monitor": "monitor",
    "compare": "compare",
    "leaderboard": "compare",
    "sql": "sql",
    "report": "report",
    "view": "view",
    "profiles": "profiles",
    "functions": "functions",
    "init": "init",
    "benchmark": "benchmark",
    "subset": "subset",
    "check": "check",
    "import-scores": "import_scores",
    "drop": "upkeep",
    "prune": "upkeep",
    "compact": "upkeep",
    "fsck": "upkeep",
    "bench": "bench",
}

DEBUG_VARIABLE = "RAGEVAL_DEBUG"
_JUDGES = {"gate", "compare", "monitor", "benchmark"}  # commands whose exit code is a verdict
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
_NO_PATH = (errno.ENAMETOOLONG, errno.ELOOP, errno.EACCES, errno.EPERM, errno.EROFS)  # none that we can read or make
_PANIC = "PanicException"  # of a library in Rust; no Exception for Python
_NO_MEMORY = ("std::bad_alloc", "Cannot allocate memory", "Out of Memory Error")
_MOST_DETAIL = 300  # characters that are said of an error of ours


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"rageval_batch.cli.{COMMANDS[cmd_name]}")
        command: click.Command = getattr(module, cmd_name.replace("-", "_"))
        if not any(parameter.name == "quiet" for parameter in command.params):
            command.params += [quiet_option(), debug_option()]
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not args[0].startswith("-") and not ctx.resilient_parsing:
            raise click.UsageError(did_you_mean("command", args[0], list(COMMANDS)), ctx)
        if not ctx.resilient_parsing and not {"-h", "--help"} & set(args):
            if args[0] == "score":
                from rageval_batch.inputs.file_hashes import begin_hashing

                begin_hashing(word for word in args[1:] if not word.startswith("-"))
            import_pyarrow()
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """As ever; click itself would end a process whose output nobody reads with 1, the code of a failed gate."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise _ReaderGone from error


class _ReaderGone(Exception):
    """Whoever read our output has seen enough."""


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="rageval")
def cli() -> None:
    """Score RAG answers by the million, keep every run as Parquet, ask it in SQL.

    Names of commands, profiles, runs and metrics complete in the shell after
    eval "$(_RAGEVAL_COMPLETE=bash_source rageval)" (or zsh_source; fish_source for fish).

    Exit codes: 0 done or passed, 1 a gate or comparison failed, 2 bad input or usage, 70 an error of
    rageval itself, 130 interrupted, 143 ended by SIGTERM.

    \b
    Example:
      rageval demo
    """


cli.params += [quiet_option(), debug_option()]


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and leave with its exit code."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    debug = _wants_debug(words)
    try:
        _check_words(words)
        with damaged_commits_said():
            result = _run(words, Printed())
        sys.stdout.flush()
        code = result if isinstance(result, int) else EXIT_OK
    except click.exceptions.Exit as stop:
        code = stop.exit_code
    except click.ClickException as error:
        _show_usage_error(error)
        code = EXIT_BAD_INPUT
    except RagevalError as error:
        say_error(interrupts.message().rstrip() if interrupts.seen() else f"rageval: {error}")
        code = error.exit_code
    except (KeyboardInterrupt, click.Abort):
        sys.stderr.write(interrupts.message())
        code = interrupts.exit_code()
    except (BrokenPipeError, _ReaderGone):
        _drop_output()
        code = EXIT_BAD_INPUT if set(words) & _JUDGES else EXIT_OK  # nobody knows how a gate would have ended
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _NO_SPACE and not interrupts.seen():
            _drop_output()
            say_error(f"rageval: Cannot write the output: {error.strerror}. Make room, or write it elsewhere.")
            code = EXIT_BAD_INPUT
        elif isinstance(error, OSError) and error.errno in _NO_PATH:
            say_error(f"rageval: Cannot use {str(error.filename)[:_MOST_DETAIL]}: {error.strerror}. Check the path.")
            code = EXIT_BAD_INPUT
        elif (said := _exhausted(error)) and not interrupts.seen():
            say_error(f"rageval: {said}")
            code = EXIT_BAD_INPUT
        elif isinstance(error, ValueError) and "embedded null" in str(error):  # of a word that a caller in Python gave
            say_error("rageval: A name has a NUL character, which no file has. Check the names.")
            code = EXIT_BAD_INPUT
        else:
            code = _unexpected(error, debug)
    except BaseException as error:
        if type(error).__name__ != _PANIC:
            raise
        code = _unexpected(error, debug)
    sys.exit(interrupts.exit_code() if interrupts.seen() else code)


def _run(words: Sequence[str], printed: Printed) -> Any:
    """What a command returns. Where it finds a damaged commit, it is run again without that, unless it has printed
    something: then the commit is an error."""

    def run() -> Any:
        return cli.main(words, prog_name="rageval", standalone_mode=False, obj=printed)

    try:
        return answered(run, unless=lambda: printed.begun)
    except DamageFound as found:
        if not printed.begun:
            raise
        raise StoreError(f"{found} What was printed is not the whole result; -o FILE writes that.") from found


def _exhausted(error: BaseException) -> str | None:
    """What the system has no more of, in a sentence with the way out; None where it was something else."""
    found: BaseException | None = error
    while found is not None:
        text = str(found)
        if getattr(found, "errno", None) in (errno.EMFILE, errno.ENFILE) or "Too many open files" in text:
            return (
                "Too many open files: the store has more than this process may open. Put its commits together with "
                "`rageval compact`, or raise the limit (ulimit -n)."
            )
        if "can't start new thread" in text or "Resource temporarily unavailable" in text:
            return "The system allows no more threads: raise the limit (ulimit -u or -v), or close other programs."
        if isinstance(found, MemoryError) or any(words in text for words in _NO_MEMORY):
            return "There is not enough memory: raise the limit (ulimit -v), close other programs, or give fewer rows."
        found = found.__cause__ or found.__context__
    return None


def _drop_output() -> None:
    """What is left to write to stdout goes nowhere, so that ending does not fail by it."""
    with suppress(OSError):  # of a stream that a caller in Python has put there, and that has no number
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _wants_debug(words: Sequence[str]) -> bool:
    """Whether tracebacks are wanted; asked of the words themselves, as they may be what cannot be parsed."""
    return "--debug" in words or os.environ.get(DEBUG_VARIABLE, "") not in ("", "0")


def _unexpected(error: BaseException, debug: bool) -> int:
    """Say that something went wrong which should not; the exit code."""
    if interrupts.seen():  # and this is what a library made of it
        sys.stderr.write(interrupts.message())
        return interrupts.exit_code()
    if debug:
        sys.stderr.write(terminal_lines(traceback.format_exc()))
        advice = "Report it with the lines above."
    else:
        advice = f"Give the command again with --debug (or {DEBUG_VARIABLE}=1) and report what it prints."
    detail = " ".join(str(error).split())[:_MOST_DETAIL]
    kind = f"{type(error).__name__}: {detail}" if detail else type(error).__name__
    say_error(f"rageval: an error of rageval itself ({kind}), not of the data. {advice}")
    return EXIT_UNEXPECTED


def _check_words(words: Sequence[str]) -> None:
    """InputError for a word that is not valid text: neither the store nor SQL could hold it."""
    for word in words:
        if valid_text(word) != word:
            raise InputError(f"'{word}' is not valid UTF-8 text. Rename the file or run.")


def _show_usage_error(error: click.ClickException) -> None:
    """What click says of a wrong command line, with the words of that line made safe."""
    context = getattr(error, "ctx", None)
    if context is not None:
        sys.stderr.write(f"{context.get_usage()}\nTry '{context.command_path} --help' for help.\n\n")
    say_error(f"Error: {error.format_message()}")
