from rageval_batch.columnar.kernels.answer_fields import DeferredItems, ExpectedItems, Fields, LastList, Limits
from rageval_batch.columnar.kernels.citations import Citations
from rageval_batch.columnar.kernels.keywords import KeywordTables
from rageval_batch.columnar.kernels.softmatch import Codes
from rageval_batch.columnar.strings import Bytes, Flags, Ints, Offsets

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
        wide: bool = ...,
    ) -> None: ...
    def run(self, texts: Bytes, starts: Offsets, ends: Offsets, rows: Ints, question: Ints, context: Ints) -> None: ...
    def deferred_items(self) -> DeferredItems: ...
    def last_list(self, k: int) -> LastList: ...
