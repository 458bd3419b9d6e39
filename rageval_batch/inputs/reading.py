"""How a file is read where its name does not say it: encoding, delimiter, the name of its run, where fields stand."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field, fields
from typing import Any

from rageval_batch.dataclass import dataclass
from rageval_batch.errors import InputError

JOINED = " + "  # between the paths of a name that is made of several
RUN_OF_FILE = "{run}"  # in such a name: what the run of the file is called

MAX_ROW_BYTES = 64 << 20
Steps = tuple[str | int, ...]  # from a row to a value: names of members and places in lists
_STEP = re.compile(r"""\.?([^.\[\]"']+)|\[(-?\d{1,9})\]|\[(?:"([^"]*)"|'([^']*)')\]""")


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What a user says, or what was recognised, about a file. It is kept with a commit, which reads the same again."""

    max_row_bytes: int = MAX_ROW_BYTES  # a longer row is rejected (a record of CSV without an end within it: an error)
    encoding: str = ""  # of a text file; empty: UTF-8
    encoding_guessed: bool = False
    delimiter: str = ""  # of a CSV file; empty: a comma
    run_id: str = ""  # of rows that name no run; empty: the stem of the file
    ignores_run_column: bool = False  # all rows are of `run_id`, whatever they say
    needs_run_column: bool = False  # a row that names no run is rejected
    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # field -> paths; the first that is there
    rows: tuple[str, ...] = ()  # paths of the list of rows in a JSON document, the first that is there; empty: itself
    columns: str = ""  # path of the names of the cells, where rows are lists of cells
    left_out: tuple[str, ...] = ()  # columns that are not kept with the answers: bulky records of the tool itself
    id_from_question: bool = False  # a row without an id is called by the hash of its question
    derived: bool = False  # questions that were taken from the rows of the outputs

    def as_dict(self) -> dict[str, Any]:
        """What differs from the defaults, as JSON."""
        return {name: value for name, value in vars(self).items() if value != getattr(_DEFAULT, name)}

    @staticmethod
    def from_dict(found: Mapping[str, Any]) -> Reading:
        """What `as_dict` gave; names that a later version wrote are left out."""
        known = {one.name for one in fields(Reading)}
        given = {name: value for name, value in found.items() if name in known}
        if "fields" in given:
            given["fields"] = {name: tuple(paths) for name, paths in given["fields"].items()}
        for name in ("rows", "left_out"):
            if name in given:
                given[name] = tuple(given[name])
        return Reading(**given)

    @property
    def max_piece_bytes(self) -> int:
        """Of what a file makes its reader hold whole: a page of Parquet, a compressed batch of Arrow."""
        return 8 * self.max_row_bytes

    @property
    def maps(self) -> bool:
        """Whether fields stand elsewhere than under their names."""
        return bool(self.fields) or self.id_from_question


_DEFAULT = Reading()


def steps_of(path: str) -> Steps:
    """The steps of a path such as response.choices[0].text or doc["a.b"]; InputError where it is none."""
    steps: list[str | int] = []
    at = 0
    while at < len(path):
        found = _STEP.match(path, at)
        if found is None:
            raise InputError(f"'{path}' is no path. Write names with dots and places in lists: response.texts[0].")
        name, place, *quoted = found.groups()
        steps.append(int(place) if place is not None else name or next(part for part in quoted if part is not None))
        at = found.end()
    if not steps:
        raise InputError("A path of a field is empty. Write it as response.texts[0].")
    return tuple(steps)
