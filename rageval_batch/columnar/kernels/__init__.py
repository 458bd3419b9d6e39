"""Compiled loops over string columns. None has a threshold of its own, reads a file or rounds.

Text is UTF-8 in and code points inside. Modules are Cython (`*.pyx`, types in `*.pyi`); what they share is in `*.pxd`.
Columns that say where a row is may be strided; buffers of bytes, code points and bounds are contiguous.
"""

from rageval_batch.columnar.kernels import built  # noqa: F401 (raises where those below are not compiled)
from rageval_batch.columnar.kernels.broken import fenced, first_object
from rageval_batch.columnar.kernels.keywords import (
    KeywordHits,
    Keywords,
    KeywordTables,
    keyword_hits,
    keyword_tables,
    keyword_texts,
    keywords,
)
from rageval_batch.columnar.kernels.numeric import blank, numbered, unify_numbers
from rageval_batch.columnar.kernels.search import among, contains, group_hits
from rageval_batch.columnar.kernels.softmatch import (
    CONTAINED,
    EQUAL,
    SIMILAR,
    UNMATCHED,
    Assignment,
    Grams,
    Pairs,
    Points32,
    assign,
    grams_of,
    match_pairs,
    plain_points,
    span_points,
    squashed_points,
)
from rageval_batch.columnar.kernels.spaces import collapsed_length, cut, squash, strip

__all__ = [
    "CONTAINED",
    "EQUAL",
    "SIMILAR",
    "UNMATCHED",
    "Assignment",
    "Grams",
    "KeywordHits",
    "KeywordTables",
    "Keywords",
    "Pairs",
    "Points32",
    "among",
    "assign",
    "blank",
    "collapsed_length",
    "contains",
    "cut",
    "fenced",
    "first_object",
    "grams_of",
    "group_hits",
    "keyword_hits",
    "keyword_tables",
    "keyword_texts",
    "keywords",
    "match_pairs",
    "numbered",
    "plain_points",
    "span_points",
    "squash",
    "squashed_points",
    "strip",
    "unify_numbers",
]
