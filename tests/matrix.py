"""Install and try the package with each Python of this machine, with the lowest and the newest dependencies.

    python tests/matrix.py [PYTHON ...]

Without arguments: every python3.11 to python3.14 on the PATH and of pyenv. Each combination gets an environment of its
own in a temporary folder and runs a few commands and tests. A version that cannot be had is said and is no failure.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
SMOKE = (
    "tests/columnar/test_kernels.py", "tests/columnar/test_plain_types.py", "tests/inputs/test_readers.py",
    "tests/inputs/test_limits.py", "tests/inputs/test_tables.py", "tests/runs/test_upkeep.py",
    "tests/analysis/test_sql.py",
)  # fmt: skip
TOOLS = ("pytest>=8.3", "hypothesis>=6.100", "pandas>=2.2", "jsonschema>=4.21", "pip>=25")


def pythons() -> Iterator[Path]:
    """The interpreters of this machine, one for each version."""
    for version in VERSIONS:
        found = shutil.which(f"python{version}")
        below = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python"))
        if below or found:
            yield below[-1] if below else Path(found or "")
        else:
            print(f"Python {version}: not on this machine", flush=True)


def lowest(requirements: list[str]) -> list[str]:
    """Requirements with each lower bound as the version."""
    return [re.sub(r"\s*>=\s*", "==", one) for one in requirements]


def tried(python: Path, name: str, requirements: list[str]) -> str:
    """Install and run the smoke tests; what became of it, as a line."""
    with tempfile.TemporaryDirectory(prefix="rageval-matrix-") as folder:
        subprocess.run([python, "-m", "venv", folder], check=True)
        own = Path(folder) / ("Scripts" if sys.platform == "win32" else "bin")
        install = [str(own / "python"), "-m", "pip", "install", "--quiet"]
        for words in ([*requirements, *TOOLS], ["--no-deps", str(ROOT)]):
            done = subprocess.run([*install, *words], capture_output=True, text=True, check=False)
            if done.returncode:
                reason = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or [done.stderr[-300:]]
                return f"{name}: cannot be installed here: {reason[0][:240]}"
        tests = Path(folder) / "checkout"  # the tests without the package beside them: the installed one is tried
        shutil.copytree(ROOT / "tests", tests / "tests")
        for part in ("data_samples", "sql"):
            shutil.copytree(ROOT / part, tests / part)
        shutil.copy(ROOT / "pyproject.toml", tests)
        commands = ([str(own / "rageval"), "demo"], [str(own / "python"), "-P", "-m", "pytest", "-x", "-q", *SMOKE])
        for words in commands:
            done = subprocess.run(words, cwd=tests, capture_output=True, text=True, check=False)
            if done.returncode:
                lines = (done.stdout + done.stderr).strip().splitlines()
                shown = next((line for line in reversed(lines) if "Error" in line or "FAILED" in line), lines[-1])
                return f"{name}: FAILED {' '.join(words)[-60:]}: {shown[:300]}"
    return f"{name}: passed"


def main() -> int:
    """Try all combinations; 1 where any failed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = [str(one) for one in project["dependencies"]]
    lines = []
    for python in map(Path, sys.argv[1:]) if sys.argv[1:] else pythons():
        for kind, requirements in (("newest", needed), ("lowest", lowest(needed))):
            lines.append(tried(python, f"{python} with the {kind} versions", requirements))
            print(lines[-1], flush=True)
    return 1 if any("FAILED" in line for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
