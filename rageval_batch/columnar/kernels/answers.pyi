from typing import NamedTuple

from rageval_batch.columnar.kernels.citations import Citations
from rageval_batch.columnar.kernels.keywords import KeywordTables
from rageval_batch.columnar.kernels.softmatch import Codes, Grams, Points32
from rageval_batch.columnar.strings import Bytes, Flags, Ints, Offsets, Strings

class Fields(NamedTuple):
    names: tuple[str, ...]
    kinds: tuple[int, ...]
    classes: tuple[int, ...]
    lists: tuple[int, ...]
    evidence: int
    sources: int
    source_names: tuple[str, ...]

class Limits(NamedTuple):
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
    texts: Strings
    points: Points32
    grams: Grams
    first: Ints
    last: Ints

class DeferredItems(NamedTuple):
    row: Ints
    field: Bytes
    kind: Bytes
    start: Offsets
    stop: Offsets
    flags: Bytes

class LastList(NamedTuple):
    items: Points32
    e_partner: Ints
    g_partner: Ints
    e_how: Codes
    g_how: Codes

class Comparison:
    status: Bytes
    error_at: Offsets
    usable: Flags
    ok: Flags
    absent: Bytes
    other: Bytes
    deferred: Flags
    class_how: Codes
    class_width: Offsets
    class_start: Offsets
    class_stop: Offsets
    class_flags: Bytes
    e_count: Ints
    g_count: Ints
    e_matched: Ints
    g_matched: Ints
    hits: Ints
    last_row: Ints
    length: Offsets
    evidence_start: Offsets
    evidence_stop: Offsets
    evidence_flags: Bytes
    citations: Citations
    def __init__(
        self,
        rows: int,
        fields: Fields,
        expected: ExpectedItems,
        limits: Limits,
        tables: KeywordTables | None,
        contexts: object,
    ) -> None: ...
    def run(self, texts: Bytes, starts: Offsets, ends: Offsets, rows: Ints, question: Ints, context: Ints) -> None: ...
    def deferred_items(self) -> DeferredItems: ...
    def last_list(self, k: int) -> LastList: ...
