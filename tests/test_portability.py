"""The package can be imported on a system that lacks the modules of POSIX."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
POSIX_ONLY = ("fcntl", "resource", "pwd", "grp", "termios")
IMPORT_ALL = f"""
import sys
sys.modules.update(dict.fromkeys({POSIX_ONLY}, None))
import importlib, pkgutil, rageval_batch
for module in pkgutil.walk_packages(rageval_batch.__path__, "rageval_batch."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
"""


def test_every_module_is_imported_without_posix_modules() -> None:
    done = subprocess.run([sys.executable, "-c", IMPORT_ALL], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
