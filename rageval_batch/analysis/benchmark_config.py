"""What a benchmark scores: a TOML or JSON configuration of datasets, with their paths resolved."""

from __future__ import annotations

import glob
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec

from rageval_batch.dataclass import dataclass
from rageval_batch.errors import InputError
from rageval_batch.inputs import run_metadata, sources
from rageval_batch.inputs.run_names import with_run_names
from rageval_batch.profiles.registry import get_profile
from rageval_batch.runs.job import Job
from rageval_batch.typed_config import read_typed_config

_DEFAULT_PROFILE = "include_rate"
_NonEmpty = Annotated[str, msgspec.Meta(min_length=1)]
_Paths = _NonEmpty | Annotated[list[_NonEmpty], msgspec.Meta(min_length=1)]


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """One dataset of a benchmark, its paths resolved."""

    id: str
    kind: str | None
    weight: float
    profile: str
    questions: tuple[str, ...]
    outputs: tuple[str, ...]
    contexts: tuple[str, ...]
    source: str | None
    prompt: str | None
    params: Mapping[str, Any]
    meta: Mapping[str, str]
    keep_inputs: bool

    def job(self) -> Job:
        """What scores it; InputError where a file or parameter cannot be used."""
        profile = get_profile(self.profile)
        prompt = run_metadata.read_prompt(self.prompt) if self.prompt else {}
        return Job(
            profile=profile,
            params=profile.read_params(self.params),
            outputs=with_run_names(sources.sources(self.outputs, profile.inputs.whole_files))[0],
            questions=sources.sources(self.questions) if self.questions else [],
            contexts=sources.sources(self.contexts) if self.contexts else [],
            document=sources.any_file(self.source) if self.source else None,
            metadata=run_metadata.RunMetadata(dict(self.meta), {}, prompt),
            keep_inputs=self.keep_inputs,
        )


@dataclass(frozen=True)
class BenchmarkConfig:
    """A benchmark: its name and datasets."""

    name: str
    datasets: tuple[Dataset, ...]


class _DatasetTable(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """An entry of `datasets`; `pdf` is another name of `source`."""

    id: _NonEmpty
    kind: Any = None
    description: Any = None
    weight: float = 1.0
    profile: str = _DEFAULT_PROFILE
    questions: _Paths | None = None
    outputs: _Paths
    contexts: _Paths | None = None
    source: _NonEmpty | None = None
    pdf: _NonEmpty | None = None
    prompt: _NonEmpty | None = None
    params: dict[str, Any] | None = None
    meta: dict[str, Any] | None = None
    keep_inputs: bool = False

    def dataset(self, folder: Path) -> Dataset:
        """The dataset with its paths below the folder of the configuration."""

        def paths(names: str | list[str] | None) -> tuple[str, ...]:
            listed = [names] if isinstance(names, str) else names or []
            return tuple(_path_below(folder, name) for name in listed)

        def path(name: str | None) -> str | None:
            return _path_below(folder, name) if name else None

        return Dataset(
            id=self.id,
            kind=None if self.kind is None else str(self.kind),
            weight=self.weight,
            profile=self.profile,
            questions=paths(self.questions),
            outputs=paths(self.outputs),
            contexts=paths(self.contexts),
            source=path(self.source or self.pdf),
            prompt=path(self.prompt),
            params=self.params or {},
            meta={
                name: value if isinstance(value, str) else json.dumps(value)
                for name, value in (self.meta or {}).items()
            },
            keep_inputs=self.keep_inputs,
        )


class _BenchmarkTable(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A whole configuration."""

    name: str | None = None
    description: Any = None
    datasets: Annotated[list[_DatasetTable], msgspec.Meta(min_length=1)]


def read_benchmark(path: str) -> BenchmarkConfig:
    """A TOML or JSON configuration; InputError with the JSON path of what cannot be used."""
    content = read_typed_config(path, _BenchmarkTable)
    seen: set[str] = set()
    for k, table in enumerate(content.datasets):
        if not 0 <= table.weight < math.inf:
            raise InputError(f"{path}, $.datasets[{k}].weight: Expected a finite number from 0, got {table.weight}.")
        if table.questions is None and get_profile(table.profile).inputs.questions_required:
            raise InputError(f"{path}, $.datasets[{k}]: questions is missing.")
        if table.id in seen:
            raise InputError(f"{path}, $.datasets[{k}].id: another dataset has the id '{table.id}'.")
        seen.add(table.id)
    folder = Path(path).parent
    return BenchmarkConfig(content.name or Path(path).stem, tuple(table.dataset(folder) for table in content.datasets))


def _path_below(folder: Path, name: str) -> str:
    """A path or glob pattern below a folder; characters such as `*` in the folder's own name are no pattern."""
    path = folder / name
    if path.exists() or not glob.has_magic(name):
        return str(path)
    return str(Path(glob.escape(str(folder))) / name)
