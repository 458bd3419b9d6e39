"""Where the command `rageval` starts: interrupts are watched before anything else is imported.

What stands at the top of this module and of the package is imported while Ctrl-C is still Python's own matter, a
traceback: only modules that Python itself has loaded by then.
"""

from __future__ import annotations

import codecs
import gc
import io
import os
import signal
import sys

TYPE_CHECKING = False  # of typing, which takes longer to import than all of these
if TYPE_CHECKING:
    from typing import Any, NoReturn

# Objects made before garbage is looked for. Importing makes tens of thousands that all stay: with Python's own limits,
# looking through them again and again took 0.02 s of a command's 0.38.
_COLLECT_AFTER = (100_000, 20, 20)
# Seconds after which a thread that runs Python hands over to one that waits for it. With Python's own 0.005, threads
# that score waited for the one that reads: 0.02 s of 0.75 for 200,000 rows.
_HAND_OVER = 0.001
_OPEN_FILES = 1 << 16
_M_ARENA_MAX = -8  # of glibc's malloc.h


def main() -> NoReturn:
    """Run the command line in this process and end it."""
    signal.signal(signal.SIGINT, _leave_at_once)
    signal.signal(signal.SIGTERM, _leave_at_once)
    from rageval_batch import interrupts

    code = 0
    collect_garbage_seldom()
    sys.setswitchinterval(_HAND_OVER)
    try:
        _leave_ascii_locale()
        _open_closed_streams()
        _set_encodings()
        _forgive_stderr()
        _allow_open_files()
        _share_arenas()
        _ignore_warnings()
        interrupts.watch()
        from rageval_batch.cli import main as run

        run()
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 0
    except KeyboardInterrupt:
        code = interrupts.exit_code()
    except Exception as error:  # of importing: a class that is interrupted while it is made raises a RuntimeError
        code = interrupts.exit_code() if interrupts.seen() else _broken_install(error)
    interrupts.leave(code)


def _leave_at_once(number: int, frame: Any) -> None:
    """End before anything is begun, and without a word."""
    os._exit(128 + number)


def _broken_install(error: Exception) -> int:
    """Say that the command itself cannot be imported; the exit code."""
    from rageval_batch.errors import EXIT_UNEXPECTED

    sys.stderr.write(f"rageval: The installation is broken: {type(error).__name__}: {error}. Install it again.\n")
    return EXIT_UNEXPECTED


def collect_garbage_seldom() -> None:
    """Let Python look for garbage as seldom as a command does."""
    gc.set_threshold(*_COLLECT_AFTER)


def _allow_open_files() -> None:
    """Have as many files open as the system lets a process ask for, within reason: a store of many commits is many
    files, and shells begin with 256 or 1,024."""
    try:
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = _OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, _OPEN_FILES)
        if soft != resource.RLIM_INFINITY and soft < most:
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    except (ImportError, OSError, ValueError):  # Windows, and systems that refuse
        pass


def _share_arenas() -> None:
    """Where the address space is limited (ulimit -v), let threads share two arenas of the C library: one of its own
    takes 64 MiB of addresses, and DuckDB crashes where a thread gets none."""
    try:
        import resource

        if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
            import ctypes

            ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 2)
    except (ImportError, OSError, AttributeError):  # Windows, and other C libraries
        pass


def _ignore_warnings() -> None:
    """What libraries warn of is for who asks Python for it (-W, PYTHONWARNINGS); commands say themselves what they have
    to say."""
    if not sys.warnoptions:
        import warnings

        warnings.simplefilter("ignore")


def _forgive_stderr() -> None:
    """Let no command end otherwise because its messages cannot be written."""
    stream = sys.stderr
    if isinstance(stream, io.TextIOWrapper):
        encoding, errors = stream.encoding, stream.errors
        sys.stderr = _Messages(stream.detach(), encoding, errors, line_buffering=True)


class _Messages(io.TextIOWrapper):
    """stderr, where a message that cannot be written is dropped: it must not change how a command ends."""

    def write(self, text: str) -> int:
        try:  # noqa: SIM105 - as above, contextlib is not loaded by then
            super().write(text)
        except OSError:
            pass
        return len(text)

    def flush(self) -> None:
        try:  # noqa: SIM105 - as above, contextlib is not loaded by then
            super().flush()
        except OSError:
            pass


def _leave_ascii_locale() -> None:
    """Start again in Python's UTF-8 mode where the locale is C and the mode that Python then chooses is turned off:
    there, neither a query nor the name of a file may have a letter that is not ASCII."""
    if codecs.lookup(sys.getfilesystemencoding()).name == "ascii" and not sys.flags.utf8_mode:
        os.environ["PYTHONUTF8"] = "1"
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])


def _set_encodings() -> None:
    """Pipes and files are UTF-8, as all files are that are read and written. A terminal has the encoding that it says;
    what that cannot hold is written as an escape."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            errors = "surrogateescape" if stream is sys.stdin else "backslashreplace"
            stream.reconfigure(encoding=None if stream.isatty() else "utf-8", errors=errors)


def _open_closed_streams() -> None:
    """Streams that the process was started without, as nothing to read and nowhere to write: the next file that is
    opened would have their number, and what is printed would be written into it."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            mode = "w" if number else "r"
            while (handle := os.open(os.devnull, os.O_RDWR)) < number:
                pass
            if handle != number:
                os.dup2(handle, number)
                os.close(handle)
            setattr(sys, name, open(number, mode, encoding="utf-8"))  # noqa: SIM115 - as long as the process
