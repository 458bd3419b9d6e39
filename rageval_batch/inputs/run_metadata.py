"""What a run's record says of where it came from: metadata from columns, options and files; prompt; hashes."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping
from dataclasses import field
from typing import Any

from rageval_batch.columnar.json_numbers import value_text, written_float, written_int
from rageval_batch.config import read_small_file
from rageval_batch.dataclass import dataclass
from rageval_batch.errors import InputError
from rageval_batch.inputs import readers
from rageval_batch.inputs.sources import Source, source, unreadable

_HEADER_LINES = 40
_VERSION = re.compile(r"^\W*prompt_version\W*[:=]\s*[\"']?([^\s\"']+)", re.MULTILINE)


@dataclass(frozen=True)
class RunMetadata:
    """The metadata a user gives beside the outputs."""

    meta: Mapping[str, str] = field(default_factory=dict)
    run_meta: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    prompt: Mapping[str, str] = field(default_factory=dict)

    def of_run(self, run_id: str, columns: Mapping[str, str]) -> dict[str, str]:
        """A run's metadata: its constant columns, then the prompt, then what holds for all, then its own."""
        return {**columns, **self.prompt, **self.meta, **self.run_meta.get(run_id, {})}

    def check_prompt(self, path: str | None) -> None:
        """InputError where --meta says another hash or version of the prompt than its file does.

        Both hold for all runs; --run-meta is of single ones and may differ: one run had another prompt.
        """
        for name, value in self.prompt.items():
            if self.meta.get(name, value) != value:
                raise InputError(
                    f"--meta {name}={self.meta[name]} contradicts --prompt {path}, of which it is {value}. "
                    "Give one of them."
                )

    def unused(self, runs: Collection[str]) -> list[str]:
        """A sentence where metadata is given for other runs than these."""
        others = [run for run in self.run_meta if run not in runs]
        if not others:
            return []
        return [f"WARNING: --run-meta has runs without answers: {len(others):,}, the first '{others[0]}'."]


def read_prompt(path: str) -> dict[str, str]:
    """prompt_sha256 of the file, and the `prompt_version:` in its header."""
    content = read_bytes(path, "prompt")
    found = {"prompt_sha256": hashlib.sha256(content).hexdigest()}
    header = "\n".join(content.decode("utf-8", "replace").splitlines()[:_HEADER_LINES])
    if version := _VERSION.search(header):
        found["prompt_version"] = version.group(1)
    return found


def read_bytes(path: str, kind: str) -> bytes:
    """A small file, whole."""
    try:
        return read_small_file(path, kind)
    except OSError as error:
        raise unreadable(path, error) from error


def read_run_meta(path: str) -> dict[str, dict[str, str]]:
    """Metadata of single runs: rows with `run_id`, in any format; or a JSON object of objects by run id."""
    file = source(path)
    if file.format == "json" and (by_run := _object_of_objects(file)) is not None:
        return by_run
    out: dict[str, dict[str, str]] = {}
    for block in readers.read_blocks(file):
        for row, line in enumerate(block.lines.tolist()):
            try:
                fields = json.loads(block.raw(row), parse_float=written_float, parse_int=written_int)
            except (ValueError, RecursionError) as error:
                raise InputError(f"{path}, line {line}: not readable run metadata: {error}.") from error
            if file.format == "csv" and isinstance(fields, dict):  # a blank cell says nothing
                fields = {name: value for name, value in fields.items() if value != ""}
            run_id = fields.pop("run_id", None) if isinstance(fields, dict) else None
            if run_id is None:
                raise InputError(f"{path}, line {line}: run metadata without run_id.")
            told = _texts(fields)
            if out.setdefault(value_text(run_id), told) != told:
                raise InputError(
                    f"{path}, line {line}: run '{run_id}' has other metadata already. Give each run one row."
                )
    return out


def _object_of_objects(file: Source) -> dict[str, dict[str, str]] | None:
    try:
        content = (
            json.loads(
                read_bytes(file.name, "metadata of runs"),
                object_pairs_hook=_once,
                parse_float=written_float,
                parse_int=written_int,
            )
            if file.compression is None
            else None
        )
    except _Doubled as error:
        raise InputError(f"{file.name}: '{error}' is there twice with other values. Give it once.") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file.name} is not JSON: {error}.") from error
    if isinstance(content, dict) and all(isinstance(fields, dict) for fields in content.values()):
        return {run_id: _texts(fields) for run_id, fields in content.items()}
    return None


class _Doubled(Exception):
    """A name that an object has twice."""


def _once(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON; _Doubled for a name with two values."""
    out: dict[str, Any] = {}
    for name, value in members:
        if out.setdefault(name, value) != value:
            raise _Doubled(name)
    return out


def _texts(fields: dict[str, Any]) -> dict[str, str]:
    return {name: value_text(value) for name, value in fields.items() if value is not None}
