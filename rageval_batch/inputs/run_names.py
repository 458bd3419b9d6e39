"""Names of runs whose rows name none: the stem of the file, or the part of the path in which files differ."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath

from rageval_batch.errors import InputError
from rageval_batch.inputs.sources import Source

RUN_ID_FROM = ("path", "stem", "column")
_SHOWN = 4  # names in a message


def with_run_names(
    files: Sequence[Source], run_id: str | None = None, run_id_from: str | None = None
) -> tuple[list[Source], list[str]]:
    """(files that know the name of their run, what a user should be told about the names).

    `run_id` is the run of all rows, whatever they say. `run_id_from`: path names runs by the path of their file, stem
    by its stem, also where stems collide, column by the column run_id alone; without it the column counts, else the
    stem, and where stems collide the part of the path that differs.
    """
    if run_id is not None:
        if run_id_from is not None:
            raise InputError("Give --run-id or --run-id-from, not both.")
        if not run_id.strip():
            raise InputError("--run-id is empty. Give the run a name.")
        return [_with_run_name(file, run_id, ignores_run_column=True) for file in files], []
    if run_id_from == "stem":
        return [_with_run_name(file, file.stem, ignores_run_column=True) for file in files], []
    if run_id_from == "path":
        return [_with_run_name(file, _path_name(file), ignores_run_column=True) for file in files], []
    if run_id_from == "column":
        return [replace(file, reading=replace(file.reading, needs_run_column=True)) for file in files], []
    files, notes = _with_own_tags(files)
    files, more = _without_collisions(files)
    return files, [*notes, *more]


def _with_own_tags(files: Sequence[Source]) -> tuple[list[Source], list[str]]:
    """TREC runs whose only tag is that of another file too are called by their files: tools write one tag to all."""
    runs = [file for file in files if file.format == "trec_run"]
    tags = {file.name: _tags(file) for file in runs} if len(runs) > 1 else {}
    counted = Counter(tag for found in tags.values() for tag in found)
    same = {name: tag for name, (tag, *others) in tags.items() if not others and counted[tag] > 1}
    if not same:
        return list(files), []
    shown = ", ".join(f"'{tag}'" for tag in list(dict.fromkeys(same.values()))[:_SHOWN])
    note = (
        f"{len(same)} TREC files have a tag that another one has too ({shown}), so their runs are called by their "
        "files. --run-id-from column makes those of one tag one run."
    )
    return [
        _with_run_name(file, file.stem, ignores_run_column=True) if file.name in same else file for file in files
    ], [note]


def _tags(file: Source) -> list[str]:
    """The tags of a TREC run; a line that is none has no tag, and an unreadable file is named by its reader."""
    with file.open() as stream:
        words = (line.split() for line in stream.read().splitlines())
        return sorted({found[5].decode("utf-8", "replace") for found in words if len(found) == 6}) or [""]


def _with_run_name(file: Source, name: str, ignores_run_column: bool = False) -> Source:
    return replace(file, reading=replace(file.reading, run_id=name, ignores_run_column=ignores_run_column))


def _path_name(file: Source) -> str:
    """The path as it was given, without the ending of the file."""
    folder = PurePath(os.path.normpath(file.name)).parent
    return file.stem if folder == PurePath(".") or file.members else (folder / file.stem).as_posix()


def _without_collisions(files: Sequence[Source]) -> tuple[list[Source], list[str]]:
    counted = Counter(file.stem for file in files)
    same = [file for file in files if counted[file.stem] > 1]
    if not same:
        return list(files), []
    names = dict(zip((file.name for file in same), _distinct_names(same, set(counted)), strict=True))
    shown = ", ".join(f"'{name}'" for name in list(names.values())[:_SHOWN])
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    note = (
        f"{len(names)} files have the same name, so rows without run_id are of runs called by their folders: "
        f"{shown}{more}. --run-id-from stem makes them one run."
    )
    return [
        _with_run_name(file, names[file.name], file.reading.ignores_run_column) if file.name in names else file
        for file in files
    ], [note]


def _distinct_names(files: Sequence[Source], stems: set[str]) -> list[str]:
    """A name for each of several files: what is left of its path without the parts at both ends that all share."""
    paths = [[*PurePath(os.path.normpath(file.name)).parent.parts, file.stem] for file in files]
    first, last = _shared(paths), _shared([path[::-1] for path in paths])
    short = [path[first : len(path) - last] if len(path) > first + last else path[-1:] for path in paths]
    names = ["/".join(path) for path in short]
    if len(set(names)) == len(names) and (stems - {file.stem for file in files}).isdisjoint(names):
        return names
    whole = ["/".join(path[first:]) or path[-1] for path in paths]
    return whole if len(set(whole)) == len(whole) else [PurePath(file.name).as_posix() for file in files]


def _shared(paths: list[list[str]]) -> int:
    """How many parts all paths begin with."""
    count = 0
    while all(len(path) > count for path in paths) and len({path[count] for path in paths}) == 1:
        count += 1
    return count
