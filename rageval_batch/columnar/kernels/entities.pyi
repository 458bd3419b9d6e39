from rageval_batch.columnar.strings import Bytes, Flags, Ints, Offsets

ITSELF: int
ASK: int

def fold(data: Bytes, offsets: Offsets, folding: Ints, pool: Bytes) -> tuple[Bytes, Offsets, Flags]: ...
def find_words(
    data: Bytes,
    offsets: Offsets,
    text_bounds: Offsets,
    which: Ints,
    words: Bytes,
    word_offsets: Offsets,
    word_bounds: Offsets,
    bound_before: Flags,
    bound_behind: Flags,
    joins: Flags,
) -> tuple[Flags, Offsets]: ...
