"""Install and try the package with each Python of this machine, with the lowest and the newest dependencies.

    python tests/matrix.py [PYTHON ...] [--wheel FILE]

Without arguments: every python3.11 to python3.14 on the PATH and of pyenv. One wheel is built and serves all, as its
kernels are compiled against the limited API of Python; `--wheel` names one that is built already. Each combination gets
an environment of its own in a temporary folder and runs the demo and a few tests. The lowest versions are the lower
bounds of pyproject.toml, or, where a bound has no wheel for that Python, the first version above it that has one. A
Python that is not on this machine is said and is no failure.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
RESOLUTIONS = {"newest": "highest", "lowest": "lowest-direct"}
SMOKE = (
    "tests/columnar/test_kernels.py", "tests/columnar/test_plain_types.py", "tests/inputs/test_readers.py",
    "tests/inputs/test_limits.py", "tests/inputs/test_tables.py", "tests/inputs/test_csv.py",
    "tests/runs/test_upkeep.py", "tests/analysis/test_sql.py", "tests/analysis/test_golden_stores.py",
    "tests/profiles/test_packaged_files.py", "tests/report/test_writers.py", "tests/view/test_view.py",
)  # fmt: skip
TOOLS = ("pytest>=8.3", "hypothesis>=6.100", "pandas>=2.2", "jsonschema>=4.21", "pip>=25")
FROM_SOURCE = ("jieba", "zhconv")  # of pure Python, published without a wheel


def pythons() -> Iterator[Path]:
    """The interpreters of this machine, one for each version."""
    for version in VERSIONS:
        found = shutil.which(f"python{version}")
        below = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python"))
        if below or found:
            yield below[-1] if below else Path(found or "")
        else:
            print(f"Python {version}: not on this machine", flush=True)


def run(words: list[str | Path], at: Path) -> str | None:
    """Run a command in a folder; None where it succeeds, else the line that says most about the failure."""
    done = subprocess.run(words, cwd=at, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return None
    lines = (done.stdout + done.stderr).strip().splitlines() or [f"exit {done.returncode}"]
    return next((line for line in reversed(lines) if "rror" in line or "FAILED" in line), lines[-1])[:300]


def environment_python(folder: Path) -> Path:
    """The interpreter of an environment."""
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def build_wheel(folder: Path) -> Path:
    """The wheel of this checkout, with compiled kernels."""
    failed = run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder, ROOT], folder)
    if failed is not None:
        sys.exit(f"The wheel cannot be built: {failed}")
    return next(folder.glob("*.whl"))


def copy_tests(folder: Path) -> Path:
    """The tests without the package beside them, so that they import the installed one."""
    for part in ("tests", "data_samples", "sql"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def tried(python: Path, uv: Path, resolution: str, *, wheel: Path, checkout: Path) -> str:
    """Install one combination and run the demo and the tests in it; what became of it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    with tempfile.TemporaryDirectory(prefix="rageval-matrix-") as folder:
        own = environment_python(Path(folder) / "env")
        wheels_only = ["--only-binary", ":all:", *(word for name in FROM_SOURCE for word in ("--no-binary", name))]
        install: list[str | Path] = [uv, "-m", "uv", "pip", "install", "--quiet", "--python", own]
        steps: list[list[str | Path]] = [
            [uv, "-m", "uv", "venv", "--quiet", "--python", python, own.parent.parent],
            [*install, "--resolution", resolution, *wheels_only, *project["dependencies"], *TOOLS],
            [*install, "--no-deps", wheel],
            [own, "-P", "-m", "rageval_batch", "demo"],
            # What an old dependency calls that a new Python gives up is no error of ours.
            [
                own,
                "-P",
                "-m",
                "pytest",
                "-q",
                "-x",
                "-p",
                "no:cacheprovider",
                "-W",
                "default::DeprecationWarning",
                *SMOKE,
            ],
        ]
        for words in steps:
            failed = run(words, checkout)
            if failed is not None:
                return f"FAILED: {' '.join(map(str, words[1:4]))} …: {failed}"
    return "passed"


def main() -> int:
    """Try all combinations; 1 where any failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python", nargs="*", type=Path)
    parser.add_argument("--wheel", type=Path)
    chosen = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory(prefix="rageval-matrix-") as name:
        folder = Path(name)
        # uv resolves to the lowest versions that a Python has wheels of, which pip cannot.
        subprocess.run([sys.executable, "-m", "venv", folder / "uv"], check=True)
        uv = environment_python(folder / "uv")
        subprocess.run([uv, "-m", "pip", "install", "--quiet", "uv>=0.8"], check=True)
        wheel = (chosen.wheel or build_wheel(folder)).absolute()
        checkout = copy_tests(folder / "checkout")
        for python in chosen.python or pythons():
            for kind, resolution in RESOLUTIONS.items():
                results.append(tried(python, uv, resolution, wheel=wheel, checkout=checkout))
                print(f"{python} with the {kind} versions: {results[-1]}", flush=True)
    return 0 if all(result == "passed" for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
