from rageval_batch.columnar.strings import Bytes, Flags, Ints, Offsets

def folded(data: Bytes, offsets: Offsets, table: Ints) -> tuple[Bytes, Offsets, Flags]: ...
def whole_parts(
    hay: Bytes,
    hay_offsets: Offsets,
    which: Offsets,
    parts: Bytes,
    part_offsets: Offsets,
    part: Offsets,
    spaced: Bytes,
) -> Flags: ...
def main_script(data: Bytes, offsets: Offsets, scripts: Bytes, count: int, han: int, kana: int) -> Bytes: ...
