"""The expected side of an eval set for `eval_json_v2`, worked out once: normal forms, bigrams, keywords, contexts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rageval_batch.columnar import kernels, text
from rageval_batch.columnar.kernels import Points32
from rageval_batch.columnar.kernels.answers import ExpectedItems
from rageval_batch.columnar.strings import LARGE_STRING, Ints, Offsets, from_list
from rageval_batch.model import Params
from rageval_batch.model.schemas import EXPECTED, EvalSet, first_of
from rageval_batch.profiles.eval_json_v2.contexts import Contexts, read_contexts
from rageval_batch.profiles.eval_json_v2.declaration import CLASSES, LISTS


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
    examples: list[dict[str, Any]]
    expected_classes: dict[str, pa.Array]  # as they are, for the confusions
    _: KW_ONLY
    items: ExpectedItems  # three classes, then two lists
    evidence: text.KeywordIndex
    contexts: Contexts


def prepare(eval_set: EvalSet, params: Params) -> Prepared:
    """The expected side of all questions."""
    examples = [_example(question) for question in eval_set.objects]
    form = params["unicode_form"]
    expected_classes = {
        name: pa.array([as_text(example.get(name)) for example in examples], LARGE_STRING) for name in CLASSES
    }
    return Prepared(
        params,
        examples,
        expected_classes,
        items=_joined(
            [
                *(_class_items([as_text(example.get(name)) for example in examples], form) for name in CLASSES),
                *(_list_items([example.get(name) for example in examples], form) for name in LISTS),
            ]
        ),
        evidence=text.KeywordIndex(
            from_list([as_text(example.get("original_evidence")) for example in examples]),
            params["keywords"],
            params["keyword_cap"],
        ),
        contexts=read_contexts(pa.array([eval_set.chunks.get(name) for name in eval_set.ids], LARGE_STRING)),
    )


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


def _class_items(texts: list[str], form: str) -> Items:
    """One item a question, be it empty."""
    rows = np.arange(len(texts), dtype=np.int32)
    return Items(kernels.squashed_points(text.unicode_form(from_list(texts), form)), rows, rows + np.int32(1))


def _list_items(lists: list[Any], form: str) -> Items:
    listed = [items if isinstance(items, list) else [items] for items in lists]
    texts = [[as_text(item) for item in items if item is not None] for items in listed]
    owners = np.repeat(np.arange(len(texts), dtype=np.int32), [len(items) for items in texts])
    flat = from_list([item for items in texts for item in items])
    return filled_items(kernels.squashed_points(text.unicode_form(flat, form)), owners, len(texts))


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
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(widths)])
    return Points32(points.points, offsets, points.low[kept], points.high[kept])


def _joined(parts: Sequence[Items]) -> ExpectedItems:
    """Items of several fields as one column of them."""
    starts = np.cumsum([0, *(len(part.points.low) for part in parts)], dtype=np.int32)
    widths = np.concatenate([np.diff(part.points.offsets) for part in parts])
    points = Points32(
        np.concatenate([part.points.points[: part.points.offsets[-1]] for part in parts]),
        np.concatenate([np.zeros(1, np.int64), np.cumsum(widths)]),
        np.concatenate([part.points.low for part in parts]),
        np.concatenate([part.points.high for part in parts]),
    )
    first, last = (
        np.stack([column + start for column, start in zip(columns, starts[:-1], strict=True)]).astype(np.int32)
        for columns in ([part.first for part in parts], [part.last for part in parts])
    )
    return ExpectedItems(points, kernels.grams_of(points), first, last)


def item_texts(points: Points32, which: npt.NDArray[np.int64]) -> list[str]:
    """Items as Python strings."""
    whole = points.points.tobytes().decode("utf-32-le")
    bounds = points.offsets.tolist()
    return [whole[bounds[k] : bounds[k + 1]] for k in which.tolist()]
