from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rageval_batch.columnar.strings import Bytes, Ints, Offsets, Strings

NO_CAP: int

class Keywords(NamedTuple):
    data: Bytes
    keys: npt.NDArray[np.uint64]
    froms: Offsets
    tos: Offsets
    bounds: Offsets

    def counts(self) -> Offsets: ...

class KeywordTables(NamedTuple):
    found: Keywords
    table: Ints
    table_bounds: Offsets

class KeywordHits(NamedTuple):
    counts: Ints
    last_row: Ints

def keywords(column: Strings, cap: int = ..., kana: bool = False) -> Keywords: ...
def keyword_texts(found: Keywords) -> Strings: ...
def keyword_tables(found: Keywords) -> KeywordTables: ...
def keyword_hits(tables: KeywordTables, which: Ints, got: Strings, kana: bool = False) -> KeywordHits: ...
def keyword_codes(
    found: Keywords, texts: Strings
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], Offsets, int]: ...
