"""Ctrl-C: exit 130 and one sentence, wherever it meets a command; SIGTERM: exit 143 in the same way."""

from __future__ import annotations

import os
import random
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rageval_batch.bench import synthetic
from support.stores import publish, simple_run

# Says that it is on its way as soon as interrupts are watched: before that, they are Python's own matter.
STARTED = """
from rageval_batch import interrupts, start
watch = interrupts.watch
def watch_and_say():
    watch()
    print("watched", flush=True)
interrupts.watch = watch_and_say
start.main()
"""
LONG_QUERY = "select count(*) from range(1000000) a, range(1000000) b where (a.range * b.range) % 7 = 3"
LONG_SORT = "select md5(range::varchar) as m from range(200000000) order by m"
FUNCTION = "select max(bigram_jaccard(md5(range::varchar), md5((range + 1)::varchar))) from range(100000000)"
MOST = 2.5  # seconds after the start that a command without an end is interrupted at the latest
ENDLESS = ("one long query", "a sort that spills", "a function of ours")
AT_WORK = 1.2  # seconds after which a query runs, unless the machine is busy: then the command still starts

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sends signals as POSIX has them")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store and a sweep to score."""
    made: Path = tmp_path_factory.mktemp("interrupted")
    publish(made / "runs", {run: simple_run(x=0.25, y=k / 8) for k, run in enumerate("abcd")})
    synthetic.write_sweep(made, 2_000)
    return made


def commands(folder: Path) -> dict[str, list[str]]:
    """Command lines by name."""
    scored = [str(folder / "outputs.jsonl"), "-q", str(folder / "questions.json")]
    store = ["--store", str(folder / "runs")]
    return {
        "score": ["score", *scored, "-p", "eval_json_v2", "--store", str(folder / "new")],
        "leaderboard": ["leaderboard", *store],
        "compare": ["compare", "a", "b", *store],
        "one long query": ["sql", LONG_QUERY, *store],
        "a sort that spills": ["sql", LONG_SORT, "--format", "csv", "-o", str(folder / "out.csv"), *store],
        "a function of ours": ["sql", FUNCTION, *store],
    }


def interrupted(words: list[str], after: float, by: signal.Signals) -> tuple[int, str]:
    """(exit code, stderr) of a command that gets a signal so many seconds after its start."""
    process = subprocess.Popen(
        [sys.executable, "-c", STARTED, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stdout.readline() == "watched\n"
    time.sleep(after)
    process.send_signal(by)
    _, said = process.communicate(timeout=120)
    return process.returncode, said


def duration(words: list[str]) -> float:
    """Seconds that a command takes if nobody interrupts it."""
    start = time.monotonic()
    subprocess.run([sys.executable, "-m", "rageval_batch", *words], capture_output=True, check=False)
    return time.monotonic() - start


ENDS = {signal.SIGINT: (130, "interrupted"), signal.SIGTERM: (143, "terminated")}


def check(words: list[str], after: float, by: signal.Signals = signal.SIGINT) -> bool:
    """Interrupt a command; whether it was interrupted, and not done already."""
    code, said = interrupted(words, after, by)
    wanted, word = ENDS[by]
    if code == wanted:
        last = said.splitlines()[-1:]
        is_done = bool(last) and last[0].startswith("Committed ")  # it met the command as it left
        assert is_done or last in ([], [f"rageval: {word}. Give the same command again to go on."])
    else:
        assert code == 0
    assert "Traceback" not in said and "Exception ignored" not in said and "error" not in said.lower()
    return code == wanted


@pytest.mark.parametrize(
    ("name", "after", "by"),
    [
        ("leaderboard", 0.0, signal.SIGINT),
        ("one long query", AT_WORK, signal.SIGINT),
        ("a sort that spills", AT_WORK, signal.SIGINT),
        ("a function of ours", AT_WORK, signal.SIGINT),
        ("leaderboard", 0.0, signal.SIGTERM),
        ("a sort that spills", AT_WORK, signal.SIGTERM),
    ],
)
def test_interrupt(name: str, after: float, by: signal.Signals, folder: Path) -> None:
    assert check(commands(folder)[name], after, by)
    assert not list((folder / "runs" / ".staging").glob("rageval-spill-*"))


@pytest.mark.soak
@pytest.mark.parametrize("name", list(commands(Path())))
@pytest.mark.parametrize("tries", [60])
def test_interrupts_at_random_moments(name: str, tries: int, folder: Path) -> None:
    words, chance, hits = commands(folder)[name], random.Random(name), 0
    longest = MOST if name in ENDLESS else duration(words)
    for by in chance.choices(list(ENDS), k=tries):
        shutil.rmtree(folder / "new", ignore_errors=True)  # what is scored already is done at once
        hits += check(words, chance.uniform(0.0, longest), by)
    assert hits > tries // 4


def test_sigterm_ends_what_has_its_own_use_for_ctrl_c(folder: Path) -> None:
    """The viewer, which Ctrl-C ends with exit code 0."""
    words = ["view", "--store", str(folder / "runs"), "--port", "0", "--no-open"]
    code, said = interrupted(words, AT_WORK, signal.SIGTERM)
    assert code == 143 and "Traceback" not in said and "Exception ignored" not in said


# Importing a module is interrupted: by itself, or inside a class that is being made, where Python 3.11 turns the
# KeyboardInterrupt into a RuntimeError.
WHILE_IMPORTING = """
import signal, sys
class Part:
    def __set_name__(self, owner, name):
        signal.raise_signal(signal.SIGINT)
class Finder:
    @staticmethod
    def find_spec(name, path, target=None):
        if name == {module!r}:
            type("Whole", (), {{"part": Part()}}) if {in_class} else signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Finder())
from rageval_batch import start
start.main()
"""


@pytest.mark.parametrize("in_class", [False, True])
@pytest.mark.parametrize("module", ["rageval_batch.interrupts", "rageval_batch.cli", "rageval_batch.cli.runs"])
def test_interrupt_while_modules_are_imported(module: str, in_class: bool, folder: Path) -> None:
    code = WHILE_IMPORTING.format(module=module, in_class=in_class)
    words = [sys.executable, "-c", code, "runs", "--store", str(folder / "runs")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr.strip() in ("", "rageval: interrupted. Give the same command again to go on.")


def test_a_command_that_cannot_be_imported_is_an_error_of_its_own() -> None:
    code = "import sys; sys.modules['click'] = None; from rageval_batch import start; start.main()"
    done = subprocess.run([sys.executable, "-c", code, "runs"], capture_output=True, text=True, check=False)
    assert done.returncode == 70
    assert done.stderr.startswith("rageval: The installation is broken: ModuleNotFoundError: ")
    assert len(done.stderr.splitlines()) == 1


# --- the shell, in which Ctrl-C stops a query and no more -------------------------------------------------------------


# Takes the terminal that its stdin is for its own, so that Ctrl-C there reaches it.
OWN_TERMINAL = """
import fcntl, termios
from rageval_batch import start
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
start.main()
"""


class Shell:
    """`rageval sql` on a terminal."""

    def __init__(self, terminal: int) -> None:
        self._terminal = terminal
        self._seen = ""

    def send(self, text: str) -> None:
        os.write(self._terminal, text.encode())

    def read(self, wanted: str, seconds: float) -> bool:
        """Whether a text is shown within a time; what was shown before it is forgotten."""
        end = time.monotonic() + seconds
        while wanted not in self._seen and time.monotonic() < end:
            if select.select([self._terminal], [], [], 0.1)[0]:
                self._seen += os.read(self._terminal, 1 << 16).decode(errors="replace")
        before, found, self._seen = self._seen.partition(wanted)
        if not found:
            self._seen = before
        return bool(found)

    def answers(self, number: int) -> bool:
        """Whether it answers a query after one Ctrl-C, or a second: one that comes while the prompt still reads keys is
        a key of its next line, and what is typed into a query that ends may be lost."""
        for _ in range(6):
            self.send("\x03")
            time.sleep(0.2)
            self.send(f"select 'answer' || ' {number}' as a;\r")
            if self.read(f"answer {number}", 5):
                return True
        return False


@contextmanager
def shell(folder: Path) -> Iterator[Shell]:
    import pty

    environment = {**os.environ, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1", "XDG_STATE_HOME": str(folder / "state")}
    ours, theirs = pty.openpty()
    words = [sys.executable, "-c", OWN_TERMINAL, "sql", "--store", str(folder / "runs")]
    process = subprocess.Popen(
        words, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True, env=environment
    )
    os.close(theirs)
    try:
        yield Shell(ours)
    finally:
        process.kill()
        process.wait()
        os.close(ours)


@pytest.mark.parametrize("query", [LONG_QUERY, FUNCTION])
def test_the_shell_stops_a_query_at_any_moment(query: str, folder: Path) -> None:
    """Whether DuckDB plans, has not begun to execute, or computes the first rows while Python waits for them."""
    chance = random.Random(query)
    with shell(folder) as opened:
        assert opened.read("rageval>", 60) and opened.answers(0)
        for number in range(1, 9):
            opened.send(f"{query};\r")
            time.sleep(chance.choice((0.0, 0.02, 0.1, 0.3, 1.0)) * chance.uniform(0.5, 1.5))
            assert opened.answers(number), number
