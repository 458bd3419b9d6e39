"""A wheel in an empty environment runs the demo: SQL files, samples and data are inside it, the tests are not."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from zipfile import ZipFile

import pytest

from support.places import ROOT

ORACLES = "rageval_batch/bench/row_at_a_time/oracles/"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    building = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(building, check=True, capture_output=True)
    (path,) = folder.glob("*.whl")
    return path


def lend_kernels(installed: Path) -> None:
    """Let an installed package use the kernels that this checkout has compiled: same code, same machine.

    numba knows a source file by its time and size, so the installed file gets the time of the one it was made from.
    """
    for cached in (ROOT / "rageval_batch").rglob("*.nb[ic]"):
        source = cached.parent.parent / (cached.name.split(".")[0] + ".py")
        module = installed / source.relative_to(ROOT / "rageval_batch")
        if not module.exists():
            continue  # compiled from a file that is no more
        (module.parent / "__pycache__").mkdir(exist_ok=True)
        shutil.copy2(cached, module.parent / "__pycache__" / cached.name)
        os.utime(module, ns=(source.stat().st_atime_ns, source.stat().st_mtime_ns))


@pytest.mark.wheel
def test_what_the_wheel_holds(wheel: Path) -> None:
    """The marker of typed packages, SQL and samples are in it; of the oracles only the one that `bench` needs."""
    with ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {"rageval_batch/py.typed", "rageval_batch/sql/runs.sql"} <= names
    assert any(name.startswith("rageval_batch/data_samples/") for name in names)
    oracles = {name for name in names if "oracle" in name}
    assert oracles == {ORACLES + name for name in ("__init__.py", "eval_json_v2.py", "json_text.py", "text.py")}
    assert not [name for name in names if name.startswith("tests/") or "__pycache__" in name]


@pytest.mark.wheel
def test_the_wheel_runs_the_demo_and_the_benchmark(wheel: Path, tmp_path: Path) -> None:
    """Installed apart from the checkout and run in another folder; dependencies come from this environment."""
    home = tmp_path / "env"
    venv.create(home, with_pip=True)
    python = home / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", str(wheel)], check=True)
    environment = {**os.environ, "PYTHONPATH": sysconfig.get_path("purelib")}

    def run(*command: str) -> str:
        done = subprocess.run(
            [home / "bin" / command[0], *command[1:]],
            cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    found = Path(run("python", "-c", "import rageval_batch; print(rageval_batch.__file__)").strip())
    assert found.is_relative_to(home)
    lend_kernels(found.parent)
    assert "adapter-good" in run("rageval", "demo")
    measured = json.loads(run("rageval", "bench", "--rows", "100", "--format", "json"))
    assert measured["times_the_oracle"] is not None
