"""The expected side of an eval set for `eval_json_v2`, worked out once: normal forms, bigrams, keywords, contexts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import KW_ONLY
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rageval_batch.columnar import kernels, text
from rageval_batch.columnar.kernels import Points32
from rageval_batch.columnar.kernels.answer_fields import ExpectedItems
from rageval_batch.columnar.strings import LARGE_STRING, Ints, Offsets, bounds_of, from_arrow, release_unused_memory
from rageval_batch.dataclass import dataclass
from rageval_batch.model import Params
from rageval_batch.model.schemas import EXPECTED, EvalSet, first_of
from rageval_batch.profiles.eval_json_v2.contexts import Contexts, joined_contexts, read_contexts
from rageval_batch.profiles.eval_json_v2.declaration import CLASSES, LISTS

EVIDENCE = "original_evidence"
_AT_ONCE = 1_024  # questions whose fields become columns together


@dataclass(frozen=True)
class Items:
    """Items of lists as squashed code points, none of them empty, and the range that each list has of them."""

    points: Points32
    first: Ints
    last: Ints


@dataclass(frozen=True)
class Prepared:
    """All that answers are compared with."""

    params: Params
    expected_classes: dict[str, pa.Array]  # as they are, for the confusions
    _: KW_ONLY
    items: ExpectedItems  # three classes, then two lists
    evidence: text.KeywordIndex
    contexts: Contexts


def prepare(eval_set: EvalSet, params: Params) -> Prepared:
    """The expected side of all questions."""
    examples = _Examples(_example(question) for question in eval_set.objects_once())
    contexts = joined_contexts([read_contexts(part) for part in eval_set.chunk_columns(forget=True)])
    release_unused_memory()  # of the parts that were joined
    evidence = text.KeywordIndex(from_arrow(examples.texts[EVIDENCE]), params["keywords"], params["keyword_cap"])
    return Prepared(
        params,
        {name: examples.texts[name] for name in CLASSES},
        items=_expected_items(examples, len(eval_set), params["unicode_form"]),
        evidence=evidence,
        contexts=contexts,
    )


class _Examples:
    """The fields of expected answers as columns, made some questions at a time: as objects they are much larger."""

    def __init__(self, examples: Iterator[dict[str, Any]]) -> None:
        columns: dict[str, list[pa.Array]] = {name: [] for name in (*CLASSES, EVIDENCE, *LISTS)}
        counts: dict[str, list[int]] = {name: [] for name in LISTS}
        while part := list(islice(examples, _AT_ONCE)):
            for name in (*CLASSES, EVIDENCE):
                columns[name].append(pa.array([as_text(example.get(name)) for example in part], LARGE_STRING))
            for name in LISTS:
                lists = [_items(example.get(name)) for example in part]
                columns[name].append(pa.array([item for items in lists for item in items], LARGE_STRING))
                counts[name] += map(len, lists)
        joined = {name: pa.concat_arrays(parts) for name, parts in columns.items()}
        self.texts = {name: joined[name] for name in (*CLASSES, EVIDENCE)}
        self.items = {name: joined[name] for name in LISTS}
        self._counts = counts
        release_unused_memory()

    def owners(self, name: str) -> Ints:
        """The question of every item of a list."""
        return np.repeat(np.arange(len(self._counts[name]), dtype=np.int32), self._counts[name])


def _items(given: Any) -> list[str]:
    """The items of a list as texts; another value is a list of one, and null is none."""
    return [as_text(item) for item in (given if isinstance(given, list) else [given]) if item is not None]


def _example(question: dict[str, Any]) -> dict[str, Any]:
    """The expected answer: under `answer_example`, or in `expected` itself."""
    expected: dict[str, Any] = first_of(question, EXPECTED)
    example: dict[str, Any] = expected.get("answer_example", expected)
    return example


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else json_text(value)


def json_text(value: Any) -> str:
    """A value that is not a string as its JSON text, the same for equal values."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _expected_items(examples: _Examples, count: int, form: str) -> ExpectedItems:
    """The items of all fields: of a class one a question, be it empty, of a list those that are not.

    All texts are one column from the start: columns of single fields would be there twice while they are joined.
    """
    fields = [*(examples.texts[name] for name in CLASSES), *(examples.items.pop(name) for name in LISTS)]
    starts = np.cumsum([0, *map(len, fields)])
    texts = pa.concat_arrays(fields)
    del fields  # the items are in `texts` now
    points = _points(texts, form)
    widths = np.diff(points.offsets)
    kept = widths > 0
    kept[: len(CLASSES) * count] = True
    owned = [np.ones(count, np.int64) for _ in CLASSES]
    for name, start in zip(LISTS, starts[len(CLASSES) :], strict=False):
        owners = examples.owners(name)
        owned.append(np.bincount(owners[kept[start : start + len(owners)]], minlength=count))
    if not kept.all():
        points, texts = _of_widths(points, widths[kept], kept), texts.filter(pa.array(kept))
    bounds = bounds_of(np.concatenate(owned)).astype(np.int32)  # the questions of the first field, of the second, …
    shape = (len(CLASSES) + len(LISTS), count)
    first, last = bounds[:-1].reshape(shape), bounds[1:].reshape(shape)
    return ExpectedItems(
        texts=from_arrow(texts), points=points, grams=kernels.grams_of(points), first=first.copy(), last=last.copy()
    )


def _points(texts: pa.Array, form: str) -> Points32:
    return kernels.squashed_points(text.unicode_form(from_arrow(texts), form))


def filled_items(points: Points32, owners: Ints, count: int) -> Items:
    """Items in the order of their owners, those that are empty after squash dropped."""
    widths = np.diff(points.offsets)
    filled = widths > 0
    if not filled.all():
        points, owners = _of_widths(points, widths[filled], filled), owners[filled]
    last = np.cumsum(np.bincount(owners, minlength=count)).astype(np.int32)
    first = np.concatenate([np.zeros(1, np.int32), last[:-1]]) if count else last
    return Items(points, first, last)


def _of_widths(points: Points32, widths: Offsets, kept: npt.NDArray[np.bool_]) -> Points32:
    offsets = bounds_of(widths)
    return Points32(points.points, offsets, points.low[kept], points.high[kept])


def item_texts(points: Points32, which: npt.NDArray[np.int64]) -> list[str]:
    """Items as Python strings."""
    whole = points.points.tobytes().decode("utf-32-le")
    bounds = points.offsets.tolist()
    return [whole[bounds[k] : bounds[k + 1]] for k in which.tolist()]
