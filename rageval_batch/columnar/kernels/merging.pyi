from rageval_batch.columnar.strings import Bytes, Ints, Offsets

def merged_places(
    left: Bytes, left_offsets: Offsets, left_ended: bool, right: Bytes, right_offsets: Offsets, right_ended: bool
) -> tuple[Ints, Ints] | None: ...
