"""What commands must not import, because it takes long: each is measured in a process of its own by what it loaded."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from rageval_batch.cli import _exhausted
from rageval_batch.runs.store import Store
from support.places import SAMPLES_FOLDER
from support.stores import publish, simple_run

# Of other packages, what only some commands need; of ours, the scorers and readers of other profiles.
HEAVY = {
    "jieba", "jinja2", "pandas", "polars", "prompt_toolkit", "rapidfuzz", "starlette", "uvicorn",
    "xlsxwriter", "python_calamine", "urllib.request",
}  # fmt: skip
COLUMNS = {"duckdb", "jsonschema_rs", "msgspec", "numpy", "pyarrow"}
OTHERS = {"rageval_batch.columnar.values.numbers", "rageval_batch.profiles.legal_rag", "rageval_batch.api"}
# What scoring JSON answers needs not: masked arrays, readers of columns, keys of rows without questions, resampling.
NOT_SCORED = {
    "numpy.ma",
    "rageval_batch.inputs.readers.parquet", "rageval_batch.inputs.readers.columns",
    "rageval_batch.inputs.readers.mapped", "rageval_batch.inputs.self_keyed", "rageval_batch.columnar.statistics",
}  # fmt: skip


def loaded(*words: str, cwd: Path) -> set[str]:
    """The modules that a command has loaded when it ends."""
    code = (
        "import atexit, sys\n"
        "atexit.register(lambda: open('modules', 'w').write('\\n'.join(sys.modules)))\n"
        f"sys.argv = ['rageval', *{words!r}]\n"
        "from rageval_batch.cli import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return set((cwd / "modules").read_text().splitlines())


@pytest.mark.parametrize("words", [("--version",), ("--help",), ("score", "--help")], ids=" ".join)
def test_help_and_version_load_no_columns(words: tuple[str, ...], tmp_path: Path) -> None:
    assert not loaded(*words, cwd=tmp_path) & (HEAVY | COLUMNS)


def test_commands_load_only_what_they_need(tmp_path: Path) -> None:
    """Scoring and what is asked of the result: no Polars, no pandas, no profile but the one that is used."""
    samples = SAMPLES_FOLDER / "eval_json_v2"
    given = (str(samples / "outputs"), "-q", str(samples / "questions.json"), "-c", str(samples / "contexts.jsonl"))
    seen = {"score": loaded("score", *given, "-p", "eval_json_v2", cwd=tmp_path)}
    names = Store(tmp_path / "runs").commits()[0].manifest["runs"]
    for words in (("runs",), ("leaderboard",), ("gate", "--all"), ("compare", *names[:2])):
        seen[words[0]] = loaded(*words, cwd=tmp_path)
    assert {command: found & (HEAVY | OTHERS) for command, found in seen.items()} == {
        "score": set(), "runs": set(), "leaderboard": set(), "gate": set(), "compare": set(),
    }  # fmt: skip
    assert not seen["score"] & {"duckdb", *NOT_SCORED}


@pytest.mark.parametrize("breaks", [False, True])
def test_pyarrow_is_whole_without_the_descriptions_of_its_functions(breaks: bool, tmp_path: Path) -> None:
    """Also with a version that asks more of its parser: then it gets its own."""
    code = (
        "from rageval_batch.cli import light_imports\n"
        f"if {breaks}: del light_imports._NoSections.__getitem__\n"
        "light_imports.import_pyarrow()\n"
        "import pyarrow as pa, pyarrow.compute as pc\n"
        "from pyarrow.vendored.docscrape import NumpyDocString\n"
        "print(pc.add(pa.array([1]), 2)[0], 'skip_nulls' in pc.sum.__doc__, NumpyDocString('x')['Parameters'])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == (f"3 {breaks} []\n", "")


@pytest.fixture
def small_store(tmp_path: Path) -> Path:
    publish(tmp_path / "runs", {"a": simple_run(x=0.25)}, with_summary=True)
    return tmp_path


def in_shell(folder: Path, line: str) -> tuple[int, str]:
    """(exit code, stderr) of a line of the shell; `$R` is the command."""
    named = {**os.environ, "R": f"{sys.executable} -m rageval_batch", "RAGEVAL_STORE": "runs"}
    done = subprocess.run(["sh", "-c", line], cwd=folder, env=named, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


@pytest.mark.skipif(os.name == "nt", reason="a shell of POSIX")
@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("$R runs >&-", 0, ""),
        ("$R runs <&- >&- 2>&-", 0, ""),
        ("$R runs --store none 2>&-", 2, ""),
        ("$R score - -p include_rate <&-", 2, "stdin: "),
        ("($R sql 'from range(1000000)' --format csv; echo $? >code) | head -n 1; exit $(cat code)", 0, ""),
        ("$R sql 'select 1' -o loop", 2, "Cannot write loop: "),
        ("$R sql 'select 1' -o folder", 2, "Cannot write folder: Is a directory"),
        ("$R sql 'select 1' -o none/x.csv", 2, "Cannot write none/x.csv: No such file or directory"),
        (f"$R runs --store {'x' * 300}", 2, "File name too long. Check the path."),
    ],
)
def test_streams_that_are_closed_and_paths_that_cannot_be(small_store: Path, line: str, code: int, said: str) -> None:
    """Neither an error of ours nor 1, the code of a failed gate."""
    (small_store / "folder").mkdir()
    (small_store / "loop").symlink_to("loop")
    found, err = in_shell(small_store, line)
    assert found == code, err
    assert said in err and (said or not err)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("$R compare a a", 0),
        ("$R gate a --gates gates.toml --allow-missing-provenance", 0),
        ("$R runs --store none", 2),
        ("$R runs --nothing", 2),
    ],
)
@pytest.mark.parametrize("stderr", ["2>/dev/full", "2>&-", "2>/dev/null"])
def test_messages_that_cannot_be_written_change_no_exit_code(
    small_store: Path, line: str, code: int, stderr: str
) -> None:
    """A gate that passes is 0, whether its line for people can be written or not."""
    gates = '[[gate]]\nname = "eval_score_avg"\nmetric = "score"\nstat = "mean"\nop = ">="\nlimit = 0\n'
    (small_store / "gates.toml").write_text(gates, encoding="utf-8")
    assert in_shell(small_store, f"{line} >/dev/null {stderr}") == (code, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_stdout_on_a_full_disk(small_store: Path) -> None:
    code, err = in_shell(small_store, "$R runs >/dev/full")
    assert code == 2 and err.startswith("rageval: Cannot write the output: No space left on device.")


ASCII_STREAMS = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
LATIN_STREAMS = {"PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"}
C_LOCALE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
POSIX = pytest.mark.skipif(os.name == "nt", reason="locales and terminals of POSIX")


def in_environment(folder: Path, given: dict[str, str], *words: str, stdin: bytes = b"") -> tuple[int, bytes, str]:
    """(exit code, stdout, stderr) of a command with these variables."""
    done = subprocess.run(
        [sys.executable, "-m", "rageval_batch", *words], cwd=folder, input=stdin, capture_output=True, check=False,
        env={**os.environ, "RAGEVAL_STORE": "runs", **given},
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr.decode()


@pytest.mark.parametrize("given", [ASCII_STREAMS, LATIN_STREAMS, pytest.param(C_LOCALE, marks=POSIX)])
@pytest.mark.parametrize("format", ["table", "json", "jsonl", "csv", "md", "html"])
def test_pipes_are_utf8_whatever_the_locale(small_store: Path, given: dict[str, str], format: str) -> None:
    query = "select '日本 é' as x, null as missing"
    wanted = in_environment(small_store, {"PYTHONUTF8": "1"}, "sql", query, "--format", format)
    assert wanted[0] == 0 and "日本 é" in wanted[1].decode()
    assert in_environment(small_store, given, "sql", query, "--format", format) == wanted
    asked = query.encode()
    assert in_environment(small_store, given, "sql", "--format", format, stdin=asked) == wanted


@POSIX
@pytest.mark.parametrize("given", [ASCII_STREAMS, C_LOCALE])
def test_names_of_files_and_messages_whatever_the_locale(small_store: Path, given: dict[str, str]) -> None:
    code, out, err = in_environment(small_store, given, "sql", "select '日' as x", "-o", "日本.csv")
    assert (code, out) == (0, b""), err
    assert (small_store / "日本.csv").read_text(encoding="utf-8") == "x\n日\n"
    code, _, err = in_environment(small_store, given, "runs", "--store", "仓库")
    assert code == 2 and "仓库" in err


def test_a_query_that_is_not_utf8_is_refused(small_store: Path) -> None:
    code, out, err = in_environment(small_store, {}, "sql", stdin="select 'é'".encode("latin-1"))
    assert (code, out) == (2, b"") and err == "rageval: stdin is not valid UTF-8 text. Write the query in UTF-8.\n"


@POSIX
def test_a_terminal_gets_escapes_for_what_it_cannot_show(small_store: Path) -> None:
    import pty

    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", "rageval_batch", "sql", "select '日' as x, null as y"]
    given = {**os.environ, "RAGEVAL_STORE": "runs", **ASCII_STREAMS}
    code = subprocess.run(words, cwd=small_store, stdout=theirs, stdin=theirs, env=given, check=False).returncode
    os.close(theirs)
    shown = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert code == 0 and "\\u65e5" in shown and "\\u2013" in shown


# --- limits of the system -------------------------------------------------------------------------------------------


def test_a_command_may_open_as_many_files_as_the_system_allows() -> None:
    resource = pytest.importorskip("resource")
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    code = (
        "import resource, sys\n"
        f"resource.setrlimit(resource.RLIMIT_NOFILE, (64, {hard}))\n"
        "sys.argv = ['rageval', '--version']\n"
        "from rageval_batch import interrupts, start\n"
        "interrupts.leave = lambda code: None\n"
        "start.main()\n"
        "print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    most = 1 << 16
    assert int(done.stdout.split()[-1]) == (most if hard == resource.RLIM_INFINITY else min(hard, most))


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.EMFILE, "Too many open files"), "rageval compact"),
        (duckdb.IOException('IO Error: Cannot open file "x": Too many open files'), "rageval compact"),
        (MemoryError(), "memory"),
        (duckdb.OutOfMemoryException("Out of Memory Error: failed to allocate"), "memory"),
        (RuntimeError("can't start new thread"), "threads"),
        (ValueError("of ours"), None),
    ],
    ids=str,
)
def test_what_the_system_has_no_more_of_is_a_sentence(error: Exception, said: str | None) -> None:
    """Also where a library has made another error of it."""
    outer = RuntimeError("of a library")
    outer.__cause__ = error
    for found in (_exhausted(error), _exhausted(outer)):
        assert (found is None) == (said is None)
        assert said is None or said in str(found)


def test_warnings_of_libraries_are_not_shown_unless_python_is_asked(tmp_path: Path) -> None:
    profile = "import warnings\nwarnings.warn('of a library', RuntimeWarning)\nPROFILE = None\n"
    (tmp_path / "own.py").write_text(profile, encoding="utf-8")
    words = ["-m", "rageval_batch", "profiles", "own.py:PROFILE"]
    quiet, shown = (
        subprocess.run([sys.executable, *options, *words], cwd=tmp_path, capture_output=True, text=True, check=False)
        for options in ((), ("-W", "default"))
    )
    assert quiet.returncode == shown.returncode == 2
    assert "of a library" not in quiet.stderr and "of a library" in shown.stderr


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems do not limit address space so")
def test_a_limited_address_space_is_no_crash(tmp_path: Path) -> None:
    import resource

    publish(tmp_path / "runs", {"a": simple_run(x=0.25)}, with_summary=True)
    words = [sys.executable, "-m", "rageval_batch", "runs", "--store", str(tmp_path / "runs")]
    limit = 1_000_000 << 10
    done = subprocess.run(
        words, capture_output=True, text=True, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )  # fmt: skip
    assert done.returncode in (0, 2), (done.returncode, done.stderr)
    assert "Traceback" not in done.stderr
