"""Expected failures: each says what happened, where, and what to do, and knows its exit code."""

from __future__ import annotations

_MOST_NAMES = 25
_MOST_OF_NAME = 200  # characters that are shown of one

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_BAD_INPUT = 2
EXIT_UNEXPECTED = 70  # an error of ours: never 1, which CI reads as a gate that failed
EXIT_INTERRUPTED = 130
EXIT_TERMINATED = 143  # by SIGTERM, as a shell says it


class RagevalError(Exception):
    """An expected failure: shown as one sentence, without a traceback. `advice` is what to do about it on a command
    line, which a page leaves out."""

    exit_code = EXIT_BAD_INPUT

    def __init__(self, message: str = "", *, advice: str = "") -> None:
        super().__init__(f"{message} {advice}" if advice else message)
        self.what = message


class InputError(RagevalError):
    """A file, row, column, option or parameter that cannot be used."""


class StoreError(RagevalError):
    """The store cannot be read or written, or does not hold what was asked for."""


class DamagedCommit(StoreError, UserWarning):
    """A commit that cannot be used: a warning, as the store is read without it, or an error where that is asked for."""


class IncompatibleRuns(RagevalError):
    """Two runs that must not be compared: their questions, sources or parameters differ."""

    def __init__(self, message: str, found: list[dict[str, object]] | None = None, *, advice: str = "") -> None:
        """`found` has what differs, an object for each candidate."""
        super().__init__(message, advice=advice)
        self.found = found or []


class KernelsNotBuilt(RagevalError):
    """The compiled loops of this checkout are not there."""


class DeclarationError(Exception):
    """A profile that contradicts itself: a mistake in the program, not in the data."""


def did_you_mean(kind: str, name: str, known: list[str]) -> str:
    """One sentence for an unknown name: the nearest known one, and the others."""
    from difflib import get_close_matches

    near = get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f" Did you mean '{_short(near[0])}'?" if near else ""
    more = f", and {len(known) - _MOST_NAMES} more" if len(known) > _MOST_NAMES else ""
    if not known:
        return f"Unknown {kind} '{_short(name)}'. There are none."
    shown = ", ".join(map(_short, known[:_MOST_NAMES]))
    return f"Unknown {kind} '{_short(name)}'.{hint} Available: {shown}{more}."


def _short(name: str) -> str:
    """A name on one line, of a long one the beginning."""
    line = name.replace("\n", "\\n")
    return line if len(line) <= _MOST_OF_NAME else f"{line[:_MOST_OF_NAME]}…"
