"""Compiles the kernels (`*.pyx`) into extensions beside their sources. The build of a wheel, an editable install and
`python hatch_build.py` (after a change to a kernel) all come here.

- Limited API of Python 3.11: one build serves every later Python.
- No contraction of `a * b + c` into one rounding: scores are the same bits on every processor.
- Where the machine has no C compiler, the package `ziglang` is one.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # run as a script, where nothing but the compiler is needed
    BuildHookInterface = object

ROOT = Path(__file__).resolve().parent
KERNELS = Path("rageval_batch/columnar/kernels")
SHARED = "rageval_batch.columnar.kernels._cython_shared"
DIRECTIVES = {
    "language_level": "3",
    "boundscheck": False,
    "wraparound": False,
    "cdivision": True,
    "initializedcheck": False,
    "embedsignature": True,
}


def sources() -> list[Path]:
    """The kernels, relative to the project's folder."""
    return sorted(path.relative_to(ROOT) for path in (ROOT / KERNELS).glob("*.pyx"))


def has_compiler() -> bool:
    """Whether the C compiler that Python names, or the one of the environment, is on this machine."""
    command = os.environ.get("CC") or sysconfig.get_config_var("CC") or ""
    return os.name == "nt" or bool(command and shutil.which(shlex.split(command)[0]))


def compile_kernels(checked: bool = False) -> None:
    """Compile what is older than its source. `checked` puts bounds checks into every access, for the soak tests."""
    from Cython.Build import cythonize
    from setuptools import Distribution, Extension

    if not has_compiler():
        os.environ["CC"] = f"{sys.executable} -m ziglang cc"
        os.environ["LDSHARED"] = f"{sys.executable} -m ziglang cc -shared"
    os.chdir(ROOT)
    arguments = (
        ["/O2", "/fp:precise"] if os.name == "nt" else ["-O2", "-g0", "-ffp-contract=off", "-fno-strict-aliasing"]
    )

    def extension(name: str, source: Path) -> Any:
        return Extension(
            name,
            [source.as_posix()],
            py_limited_api=True,
            define_macros=[("Py_LIMITED_API", "0x030B0000")],
            extra_compile_args=arguments,
        )

    shared = KERNELS / "_cython_shared.c"
    if not shared.exists():
        subprocess.check_call([sys.executable, "-m", "cython", "-3", f"--generate-shared={shared.as_posix()}"])
    kernels = cythonize(
        [extension(".".join(path.with_suffix("").parts), path) for path in sources()],
        compiler_directives={**DIRECTIVES, "boundscheck": checked},
        shared_utility_qualified_name=SHARED,
        force=checked,
        quiet=True,
    )
    distribution = Distribution({"name": "rageval-batch", "ext_modules": [*kernels, extension(SHARED, shared)]})
    command: Any = distribution.get_command_obj("build_ext")
    command.inplace = True
    command.force = checked
    command.parallel = os.cpu_count()
    command.ensure_finalized()
    command.run()


class KernelBuild(BuildHookInterface):  # type: ignore[misc]
    """Hatchling's hook: compile, and name the wheel by what was compiled."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """What the build needs beyond pyproject's list: a compiler where there is none."""
        return [] if has_compiler() else ["ziglang>=0.13"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile before the files of the wheel are collected."""
        if self.target_name != "wheel":
            return
        compile_kernels()
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"cp311-abi3-{platform}"
        build_data["artifacts"] += [f"{KERNELS.as_posix()}/*.so", f"{KERNELS.as_posix()}/*.pyd"]


if __name__ == "__main__":
    compile_kernels(checked="--checked" in sys.argv[1:])
