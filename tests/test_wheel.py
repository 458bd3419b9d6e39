"""A wheel in an empty environment without a compiler runs the demo: kernels, SQL files and samples are inside it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
from pathlib import Path
from zipfile import ZipFile

import pytest

from support.places import ROOT

ORACLES = "rageval_batch/bench/row_at_a_time/oracles/"
KERNELS = "rageval_batch/columnar/kernels"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    building = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(building, check=True, capture_output=True)
    (path,) = folder.glob("*.whl")
    return path


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
def test_the_wheel_holds_every_kernel_compiled(wheel: Path) -> None:
    """One extension and one stub a kernel, for every Python from 3.11 on; neither sources nor C files."""
    kernels = {path.stem for path in (ROOT / KERNELS).glob("*.pyx")}
    assert kernels
    assert "-cp311-abi3-" in wheel.name
    with ZipFile(wheel) as archive:
        names = [Path(name) for name in archive.namelist() if name.startswith(KERNELS)]
    compiled = {path.name.split(".")[0] for path in names if path.suffix in (".so", ".pyd")}
    assert compiled == kernels | {"_cython_shared"}
    assert {path.stem for path in names if path.suffix == ".pyi"} == kernels
    assert not [path for path in names if path.suffix in (".c", ".pyx", ".pxd")]


@pytest.mark.wheel
@pytest.mark.soak
def test_the_source_distribution_builds_a_wheel(tmp_path: Path) -> None:
    """`build` makes the wheel from an unpacked source distribution: all that compiles the kernels is in it."""
    building = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(building, check=True, capture_output=True)
    (source,) = tmp_path.glob("*.tar.gz")
    (wheel,) = tmp_path.glob("*.whl")
    with tarfile.open(source) as archive:
        assert not [name for name in archive.getnames() if name.endswith((".so", ".pyd", ".c"))]
    with ZipFile(wheel) as built:
        assert [name for name in built.namelist() if name.startswith(f"{KERNELS}/json.")]


@pytest.mark.wheel
def test_the_wheel_runs_the_demo_and_the_benchmark(wheel: Path, tmp_path: Path) -> None:
    """Installed apart from the checkout and run in another folder; dependencies come from this environment.

    No program but those of the environment is on the path: nothing can be compiled.
    """
    home = tmp_path / "env"
    venv.create(home)
    python = home / "bin" / "python"
    alone = {name: value for name, value in os.environ.items() if name not in ("CC", "PYTHONPATH")}
    alone["PATH"] = str(home / "bin")
    assert not [name for name in ("cc", "gcc", "clang", "zig") if shutil.which(name, path=alone["PATH"])]
    installing = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", str(wheel)]
    subprocess.run(installing, check=True, env=alone)
    environment = {**alone, "PYTHONPATH": sysconfig.get_path("purelib")}

    def run(*command: str) -> str:
        done = subprocess.run(
            [home / "bin" / command[0], *command[1:]],
            cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    found = Path(run("python", "-c", "import rageval_batch; print(rageval_batch.__file__)").strip())
    assert found.is_relative_to(home)
    check_demo(run("rageval", "demo", "--keep", str(tmp_path / "demo")), tmp_path / "demo" / "report.html")
    measured = json.loads(run("rageval", "bench", "--rows", "100", "--format", "json"))
    assert measured["profiles"][0]["times_the_oracle"] is not None


def check_demo(said: str, report: Path) -> None:
    """The first thing a newcomer runs: on two screens what it did, what to look at, and a report that is there."""
    assert "adapter-good" in said
    assert len(said.splitlines()) <= 2 * 24
    assert str(report) in said
    assert report.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert "rageval view" in said
