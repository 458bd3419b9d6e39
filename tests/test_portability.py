"""What macOS and Windows need, as far as it can be seen on another system: no call of POSIX alone without its
counterpart, and no name that Windows does not take."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rageval_batch.runs import file_system
from rageval_batch.runs.store import Store
from rageval_batch.runs.upkeep import drop
from support.stores import publish, simple_run

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "rageval_batch"
POSIX_ONLY = ("fcntl", "resource", "pwd", "grp", "termios")
IMPORT_ALL = f"""
import sys
sys.modules.update(dict.fromkeys({POSIX_ONLY}, None))
import importlib, pkgutil, rageval_batch
for module in pkgutil.walk_packages(rageval_batch.__path__, "rageval_batch."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
"""
# What these modules have on POSIX alone, or do otherwise on Windows: `os.kill` with 0 ends a process there.
NOT_ON_WINDOWS = {
    "os": {
        "O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "chown", "chroot", "fchmod", "fchown", "fork",
        "getegid", "geteuid", "getgid", "getloadavg", "getpgid", "getuid", "kill", "killpg", "lchown", "mkfifo",
        "mknod", "nice",
        "openpty", "posix_fadvise", "pread", "pwrite", "sched_getaffinity", "sched_setaffinity", "sendfile", "setpgid",
        "set_blocking", "setsid", "statvfs", "sync", "sysconf", "uname", "wait", "wait4", "waitpid",
    },
    "signal": {"SIGALRM", "SIGCHLD", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGQUIT", "SIGUSR1", "alarm", "pause", "sigwait"},
    "time": {"tzset"},
}  # fmt: skip
GUARDED = {("runs/file_system.py", "os.sync"), ("interrupts.py", "os.set_blocking"), ("bench/commands.py", "os.wait4")}
FORBIDDEN = re.compile(r'[<>:"|?*\\\x00-\x1f]|[. ]$|^(con|prn|aux|nul|com\d|lpt\d)(\.|$)', re.IGNORECASE)


def test_every_module_is_imported_without_posix_modules() -> None:
    done = subprocess.run([sys.executable, "-c", IMPORT_ALL], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def _attributes() -> Iterator[tuple[str, str]]:
    """(module of the package, name with a dot that it uses)"""
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                yield path.relative_to(PACKAGE).as_posix(), f"{node.value.id}.{node.attr}"
            elif isinstance(node, ast.ImportFrom):
                for name in node.names:
                    yield path.relative_to(PACKAGE).as_posix(), f"{node.module}.{name.name}"


def test_no_call_of_posix_alone_without_a_counterpart() -> None:
    absent = {f"{module}.{name}" for module, names in NOT_ON_WINDOWS.items() for name in names}
    assert {(path, name) for path, name in _attributes() if name in absent} == GUARDED


def test_texts_are_written_alike_on_every_system() -> None:
    """Files that are opened as text name their encoding, which Windows would choose by its language."""
    words = [sys.executable, "-m", "ruff", "check", "--isolated", "--preview", "--select", "PLW1514", str(PACKAGE)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_names_in_a_store_are_names_on_windows(tmp_path: Path) -> None:
    """Whatever a run is called: runs, questions and files of inputs are no parts of names."""
    publish(tmp_path, {'con:<"a|b?*>.': simple_run(x=0.5), "aux": simple_run(x=1.0)}, with_summary=True)
    drop(Store(tmp_path), ["aux"])
    names = {part for path in tmp_path.rglob("*") for part in path.relative_to(tmp_path).parts}
    assert len(names) > 6
    assert [name for name in names if FORBIDDEN.search(name)] == []


def test_macos_writes_to_the_disk_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the call that macOS has for it; where a file system lacks that, by the usual one."""
    fcntl = pytest.importorskip("fcntl")
    calls: list[str] = []

    def full(handle: int, call: int) -> None:
        calls.append("full")
        if len(calls) > 1:
            raise OSError

    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", 51, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", full)
    monkeypatch.setattr("os.fsync", lambda handle: calls.append("fsync"))
    for _ in range(2):
        file_system.write_durably(tmp_path / "file", b"content")
    assert calls == ["full", "full", "fsync"]
