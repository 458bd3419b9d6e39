"""What `answers.Comparison` is given and what it gives back."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from rageval_batch.columnar.kernels.softmatch import Codes, Grams, Points32
    from rageval_batch.columnar.strings import Bytes, Ints, Offsets, Strings


class Fields(NamedTuple):
    """The fields of an answer: names, the kind that each must be of, and which of them are what.

    `kinds` are kinds of JSON nodes. `classes` and `lists` are numbers of fields, as are `evidence` and `sources`.
    `source_names` are the names of refs, file and anchors.
    """

    names: tuple[str, ...]
    kinds: tuple[int, ...]
    classes: tuple[int, ...]
    lists: tuple[int, ...]
    evidence: int
    sources: int
    source_names: tuple[str, ...]


class Limits(NamedTuple):
    """How answers are compared: see the parameters of a profile."""

    threshold: float
    containment_min: int
    one_to_one: bool
    list_caps: tuple[int, ...]
    enough: int
    entry_cap: int
    ref_cap: int
    anchor_cap: int
    defer: bool


class ExpectedItems(NamedTuple):
    """Expected classes and list items: the items of field f and question q are first[f, q] to last[f, q].

    Classes come first, then lists. `texts` are the items as they are written.
    """

    texts: Strings
    points: Points32
    grams: Grams
    first: Ints
    last: Ints


class DeferredItems(NamedTuple):
    """Texts of answers that the caller compares: the answer, the class or list, and where the value is written."""

    row: Ints
    field: Bytes
    kind: Bytes
    start: Offsets
    stop: Offsets
    flags: Bytes


class LastList(NamedTuple):
    """A list of the last answer: its items, and the partners (-1: none) on both sides with how they match."""

    items: Points32
    e_partner: Ints
    g_partner: Ints
    e_how: Codes
    g_how: Codes
