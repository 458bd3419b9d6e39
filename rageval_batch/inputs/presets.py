"""What a user says about where fields stand (--map, [map], --from), as the reading of files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rageval_batch.errors import InputError, did_you_mean
from rageval_batch.inputs.reading import JOINED, RUN_OF_FILE, Reading, steps_of
from rageval_batch.inputs.sources import Source
from rageval_batch.model.schemas import CHUNKS, OUTPUT, QUESTION, QUESTION_ID, REPEAT, RUN_ID
from rageval_batch.resources import packaged_data

ROWS = "rows"  # in place of a field: where the list of rows stands in a JSON document
_CANONICAL = {name: names[0] for names in (QUESTION_ID, OUTPUT, CHUNKS, QUESTION, RUN_ID, REPEAT) for name in names}


def preset_names() -> list[str]:
    """The tools whose exports are known."""
    return list(packaged_data("presets.toml"))


def preset(name: str) -> Reading:
    """How the exports of a tool are read; a row without an id is called by its question."""
    known = packaged_data("presets.toml")
    if name not in known:
        raise InputError(did_you_mean("preset", name, list(known)))
    found = known[name]
    fields = {canonical(field): tuple(paths) for field, paths in found["fields"].items()}
    return Reading(
        fields=fields,
        rows=tuple(found.get("rows", ())),
        columns=found.get("columns", ""),
        left_out=tuple(found.get("left_out", ())),
        id_from_question=QUESTION_ID[0] not in fields,
    )


def canonical(field: str) -> str:
    """Our name of a field that has several."""
    return _CANONICAL.get(field, field)


def read_map(given: Mapping[str, Any], where: str) -> dict[str, tuple[str, ...]]:
    """Paths by field; InputError for what is no path. A list names several, of which the first that is there counts."""
    out = {}
    for field, paths in given.items():
        listed = paths if isinstance(paths, list) else [paths]
        if not listed or not all(isinstance(path, str) and path.strip() for path in listed):
            raise InputError(f"{where}: {field} must be a path such as response.text, or a list of paths.")
        for path in listed:
            for part in path.split(JOINED):
                if part != RUN_OF_FILE:
                    steps_of(part)
        out[canonical(field)] = tuple(listed)
    return out


def with_map(files: Sequence[Source], tool: str | None, mapped: Mapping[str, tuple[str, ...]]) -> list[Source]:
    """Files that are read as a preset and a map say; the map wins."""
    if tool is None and not mapped:
        return list(files)
    base = preset(tool) if tool is not None else Reading()
    fields = {**base.fields, **{field: paths for field, paths in mapped.items() if field != ROWS}}
    rows = mapped.get(ROWS, base.rows)
    return [
        replace(
            file,
            reading=replace(
                file.reading,
                fields=fields,
                rows=rows,
                columns=base.columns,
                left_out=base.left_out,
                id_from_question=base.id_from_question and QUESTION_ID[0] not in fields,
            ),
        )
        for file in files
    ]
