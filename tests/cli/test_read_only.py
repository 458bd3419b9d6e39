"""A read-only install: commands write to the store, to -o, and to the temporary folder, which they leave empty."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import rageval_batch
from support.places import SAMPLES_FOLDER

PACKAGE = Path(rageval_batch.__file__).parent
# Several commands in one process; whatever is opened for writing or made is noted by its path.
COMMANDS = """
import os, sys
writes = []
def note(event, arguments):
    if event == "open" and isinstance(arguments[0], (str, bytes, os.PathLike)):
        mode, flags = arguments[1], arguments[2]
        if set(mode or "") & set("wax+") or (flags or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            writes.append(os.fsdecode(arguments[0]))
    elif event in ("os.mkdir", "os.rename", "os.symlink", "os.link"):
        writes.append(os.fsdecode(arguments[0]))
sys.addaudithook(note)
from rageval_batch.cli import main
store, samples, out = sys.argv[1:]
for words in (
    ["score", f"{samples}/eval_json_v2/outputs", "-p", "eval_json_v2", "-q", f"{samples}/eval_json_v2/questions.json",
     "-c", f"{samples}/eval_json_v2/contexts.jsonl", "--param", "keywords=jieba", "--store", store],
    ["leaderboard", "--store", store],
    ["sql", "select max(bigram_jaccard(run_id, 'a')) from runs", "--store", store],
    ["report", "-o", out, "--store", store],
    ["fsck", "--store", store],
):
    try:
        main(words)
    except SystemExit as stop:
        assert stop.code == 0, (words, stop.code)
print("\\n".join(writes))
"""


def test_nothing_is_written_elsewhere(tmp_path: Path) -> None:
    home, here, temporary, out, store = (tmp_path / name for name in ("home", "here", "temporary", "out", "store"))
    for folder, mode in ((home, 0o555), (here, 0o555), (temporary, 0o755), (out, 0o755)):
        folder.mkdir()
        folder.chmod(mode)  # for all but the superuser
    before = _files()
    environment = {
        **os.environ, "HOME": str(home), "XDG_CACHE_HOME": str(home), "TMPDIR": str(temporary),
        "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": os.pathsep.join((str(PACKAGE.parent), *sys.path)),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS, store, SAMPLES_FOLDER, out / "report.html"],
        cwd=here, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    written = done.stdout.splitlines()
    allowed = (str(store), str(temporary), str(out), os.devnull)
    strange = [line for line in written if line.startswith(os.sep) and not line.startswith(allowed)]
    assert strange == []
    assert _files() == before
    assert [list(folder.iterdir()) for folder in (home, here, temporary)] == [[], [], []]


def _files() -> dict[Path, int]:
    """Every file of the package, but for bytecode, and when it was written."""
    found = (path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path: path.stat().st_mtime_ns for path in found}
