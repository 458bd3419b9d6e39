"""Stages of a pipeline as answers tell of them: by counts, by names, as a map or as a list of records."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch.columnar.json_tape import Tape
from rageval_batch.columnar.json_values import (
    coded,
    counts,
    filled,
    filled_texts,
    ids,
    labels,
    members,
    new_in_row,
    objects,
    words,
)
from rageval_batch.columnar.kernels.json import ARRAY, OBJECT
from rageval_batch.columnar.strings import LARGE_STRING, Flags, Ints, from_arrow
from rageval_batch.dataclass import dataclass

DONE = ("done", "ok", "success", "completed", "passed", "true")

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class States:
    """Named stages, in order: the answer each stands in, whether it is done, what it is called, its error or null."""

    row: Ints
    done: Flags
    name: pa.Array
    _: KW_ONLY
    error: pa.Array

    def lines(self) -> list[dict[str, Any]]:
        """The stages, for explaining an answer."""
        columns = (self.name.to_pylist(), self.done.tolist(), self.error.to_pylist())
        return [{"stage": name, "done": done, "error": error} for name, done, error in zip(*columns, strict=True)]


@dataclass(frozen=True)
class Stages:
    """Of each answer how many stages are completed and expected, 0 of 0 where it has none; and those with names."""

    completed: Counts
    expected: Counts
    states: States

    def failed(self) -> pa.Array:
        """The first stage of each answer that is not done, with its error; null where there is none."""
        states = self.states
        open_ = np.flatnonzero(~states.done)
        rows, first = np.unique(states.row[open_], return_index=True)
        chosen = pa.array(open_[first])
        name, error = states.name.take(chosen), states.error.take(chosen)
        both = pc.binary_join_element_wise(name, error, pa.scalar(": ", LARGE_STRING))
        place = np.full(len(self.expected), -1, np.int64)
        place[rows] = np.arange(len(rows))
        return pc.coalesce(both, name).take(pa.array(place, mask=place < 0))


def read_stages(tape: Tape, nodes: Ints) -> Stages:
    """The stages of answers from the node of each, -1 where it has none."""
    rows = len(nodes)
    expected, completed = members(tape, nodes, "expected", "completed")
    e_list, c_list = tape.kinds(expected) == ARRAY, tape.kinds(completed) == ARRAY
    e_count, e_whole = counts(tape, expected)
    c_count, _ = counts(tape, completed)
    by_names = e_list & c_list
    by_count = (e_list | e_whole) & ~by_names
    as_map = (tape.kinds(nodes) == OBJECT) & ~by_names & ~by_count
    states = _by_answer(
        [
            _from_records(tape, nodes),
            _from_names(tape, _chosen_nodes(expected, by_names), _chosen_nodes(completed, by_names)),
            _from_map(tape, _chosen_nodes(nodes, as_map)),
        ]
    )
    total = np.where(by_count, e_count + _distinct(tape, _chosen_nodes(expected, by_count)), 0)
    finished = np.where(by_count, c_count + _distinct(tape, _chosen_nodes(completed, by_count)), 0)
    return Stages(
        np.minimum(finished, total) + np.bincount(states.row[states.done], minlength=rows),
        total + np.bincount(states.row, minlength=rows),
        states,
    )


def _chosen_nodes(nodes: Ints, chosen: Flags) -> Ints:
    return np.where(chosen, nodes, -1).astype(np.int32)


def _by_answer(parts: list[States]) -> States:
    """The stages of all forms by answer; each answer has one form."""
    row = np.concatenate([part.row for part in parts])
    order = np.argsort(row, kind="stable")
    return States(
        row[order],
        np.concatenate([part.done for part in parts])[order],
        pa.concat_arrays([part.name for part in parts]).take(pa.array(order)),
        error=pa.concat_arrays([part.error for part in parts]).take(pa.array(order)),
    )


def _is_done(tape: Tape, nodes: Ints) -> Flags:
    done: Flags = (labels(tape, nodes) == 1) | (words(tape, nodes, DONE) >= 0)
    return done


def _with_place_names(name: pa.Array, place: npt.NDArray[np.integer]) -> pa.Array:
    """A stage without a name is called by its place."""
    if name.null_count == 0:
        return name
    places = pc.binary_join_element_wise(
        pa.scalar("#", LARGE_STRING), pa.array(place).cast(LARGE_STRING), pa.scalar("", LARGE_STRING)
    )
    return pc.coalesce(name, places)


def _from_records(tape: Tape, nodes: Ints) -> States:
    """[{name, status, error}]; a stage without a name is called by its place."""
    found, row = objects(tape, nodes)
    name, status, error = members(tape, found, "name", "status", "error")
    named = _with_place_names(ids(tape, name), tape.position[found] + 1)
    return States(row, _is_done(tape, status), named, error=filled_texts(tape, error))


def _from_names(tape: Tape, expected: Ints, completed: Ints) -> States:
    """{expected: [name], completed: [name]}; a name that is expected twice is one stage."""
    expected_nodes, row = tape.elements(expected)
    completed_nodes, completed_row = tape.elements(completed)
    texts = pa.concat_arrays([filled_texts(tape, expected_nodes), filled_texts(tape, completed_nodes)])
    names = coded(texts)
    width = len(names.distinct)
    expected_code, completed_code = names.codes[: len(expected_nodes)], names.codes[len(expected_nodes) :]
    first = new_in_row(row, names._replace(codes=expected_code))
    key = row.astype(np.int64) * width + expected_code
    done = np.isin(key, (completed_row.astype(np.int64) * width + completed_code)[completed_code >= 0])
    stages = texts.slice(0, len(expected_nodes)).filter(pa.array(first))
    return States(row[first], done[first], stages, error=pa.nulls(len(stages), LARGE_STRING))


def _from_map(tape: Tape, nodes: Ints) -> States:
    """{name: done?}; of a repeated name the first place and the last value count, as in Python."""
    value, row, keys = tape.names(nodes)
    names = keys.to_arrow()
    found = coded(names)
    first = new_in_row(row, found)
    if not first.all():
        key = row.astype(np.int64) * len(found.distinct) + found.codes
        _, group = np.unique(key, return_inverse=True)
        last = np.zeros(len(key), np.int64)
        last[group] = np.arange(len(key))  # the last one written stays
        value, row, names = value[last[group[first]]], row[first], names.filter(pa.array(first))
    begin = np.searchsorted(row, row)  # rows stand together
    shown = pc.if_else(pa.array(filled(from_arrow(names))), names, pa.scalar(None, LARGE_STRING))
    return States(
        row,
        _is_done(tape, value),
        _with_place_names(shown, np.arange(len(row)) - begin + 1),
        error=pa.nulls(len(row), LARGE_STRING),
    )


def _distinct(tape: Tape, lists: Ints) -> Counts:
    """How many different texts that are not blank each list has."""
    nodes, row = tape.elements(lists)
    new = new_in_row(row, coded(filled_texts(tape, nodes)))
    return np.bincount(row[new], minlength=len(lists))
