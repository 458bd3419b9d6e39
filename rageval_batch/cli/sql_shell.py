"""The shell of `rageval sql`: history, completion of views and columns, a few commands that begin with a dot."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import click
from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import Output

from rageval_batch.analysis.comments import columns_query
from rageval_batch.analysis.session import Session
from rageval_batch.cli.options import say, say_error
from rageval_batch.errors import InputError, RagevalError
from rageval_batch.interrupts import left_to_command, stoppable_query, terminated
from rageval_batch.sql_text import identifier

HELP = """A query ends with ; and may take several lines.
.tables        the views of the store
.schema NAME   the columns of a view
.help          this text
.quit          leave (or Ctrl-D)"""
_COMMANDS = (".tables", ".schema", ".help", ".quit")
_KEYWORDS = (
    "select", "from", "where", "group by", "order by", "limit", "join", "left join", "on", "using", "with", "as", "and",
    "or", "not", "in", "is null", "like", "case", "when", "then", "else", "end", "count(*)", "avg", "sum", "min", "max",
    "desc", "having", "distinct", "describe", "summarize", "show tables",
)  # fmt: skip
_WORD = re.compile(r"\w+")


def run_shell(
    session: Session, execute: Callable[[str], None], source: Input | None = None, *, screen: Output | None = None
) -> None:
    """Read queries until the end of input and execute each; what is wrong with one is said, and the next is read."""
    say("rageval sql: .help for help, Ctrl-D to leave.")
    prompt: PromptSession[str] = PromptSession(
        "rageval> ", history=_history(), completer=NameCompleter(session), complete_while_typing=False,
        multiline=True, key_bindings=_bindings(), prompt_continuation="    ...> ", input=source, output=screen,
    )  # fmt: skip
    with left_to_command():
        while True:
            try:
                text = prompt.prompt().strip()
                if text == ".quit":
                    return
                with stoppable_query():
                    _answer(session, text, execute)
            except KeyboardInterrupt:  # gives up the line or query, not the shell
                if terminated():
                    raise
            except EOFError:
                return
            except RagevalError as error:
                say_error(str(error))


def _answer(session: Session, text: str, execute: Callable[[str], None]) -> None:
    if not text.strip(";"):
        return
    word, _, name = text.rstrip(";").partition(" ")
    if word == ".tables":
        execute("show tables")
    elif word == ".schema" and name.strip():
        view = name.strip().lower()
        if view not in session.sql("show tables").column("name").to_pylist():
            raise InputError(f"There is no view {name.strip()}; .tables lists them.")
        execute(columns_query(view))
    elif word.startswith("."):
        click.echo(HELP)
    else:
        execute(text)


def _history() -> History:
    """The queries of earlier shells, where the user's state is kept; only of this one where that cannot be written."""
    place = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "rageval" / "sql_history"
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch(mode=0o600)
    except OSError:
        return InMemoryHistory()
    return FileHistory(str(place))


def _bindings() -> KeyBindings:
    """Enter ends a query that has its semicolon, a command and an empty line; of others it is a new line."""
    bindings = KeyBindings()

    @Condition
    def is_complete() -> bool:
        from prompt_toolkit.application import get_app

        text = get_app().current_buffer.text.strip()
        return not text or text.endswith(";") or text.startswith(".")

    @bindings.add("enter", filter=is_complete)
    def accept(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    return bindings


class NameCompleter(Completer):
    """Views, columns of the views that the query names, keywords; behind .schema, views."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._views: list[str] | None = None
        self._columns: dict[str, list[str]] = {}

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        """What the word before the cursor may become."""
        text, word = document.text_before_cursor, document.get_word_before_cursor(pattern=_WORD)
        if text.lstrip().startswith(".") and " " not in text.lstrip():
            yield from _starting(_COMMANDS, text.lstrip())
            return
        yield from _starting(self.views(), word)
        if not text.lstrip().startswith("."):
            named = [name for name in dict.fromkeys(_WORD.findall(document.text)) if name in self.views()]
            columns = dict.fromkeys(column for name in named for column in self.columns(name))
            yield from _starting(tuple(columns), word)
            yield from _starting(_KEYWORDS, word)

    def views(self) -> list[str]:
        """The views of the store."""
        if self._views is None:
            self._views = self._session.sql("show tables").column("name").to_pylist()
        return self._views

    def columns(self, view: str) -> list[str]:
        """The columns of a view."""
        if view not in self._columns:
            described = self._session.table(f"describe {identifier(view)}")
            self._columns[view] = described.column("column_name").to_pylist()
        return self._columns[view]


def _starting(names: tuple[str, ...] | list[str], begun: str) -> Iterator[Completion]:
    for name in names:
        if name.startswith(begun.lower()) and name != begun:
            yield Completion(name, start_position=-len(begun))
