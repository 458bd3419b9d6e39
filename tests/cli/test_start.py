"""What commands must not import, because it takes long: each is measured in a process of its own by what it loaded."""

import subprocess
import sys
from pathlib import Path

import pytest

from rageval_batch.runs.store import Store
from support.places import SAMPLES_FOLDER

# Of other packages, what only some commands need; of ours, the scorers and readers of other profiles.
HEAVY = {
    "jieba", "jinja2", "pandas", "polars", "prompt_toolkit", "rapidfuzz", "starlette", "uvicorn",
    "xlsxwriter", "python_calamine", "urllib.request",
}  # fmt: skip
COLUMNS = {"duckdb", "jsonschema_rs", "msgspec", "numpy", "pyarrow"}
OTHERS = {"rageval_batch.columnar.values.numbers", "rageval_batch.profiles.legal_rag", "rageval_batch.api"}


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
    assert "duckdb" not in seen["score"]
