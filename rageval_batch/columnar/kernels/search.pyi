from rageval_batch.columnar.strings import Bytes, Flags, Ints, Offsets

def contains(
    hay: Bytes, h_starts: Offsets, h_ends: Offsets, needle: Bytes, n_starts: Offsets, n_ends: Offsets
) -> Flags: ...
def group_hits(
    hay: Bytes,
    starts: Offsets,
    ends: Offsets,
    which: Ints,
    set_bounds: Offsets,
    group_bounds: Offsets,
    needle: Bytes,
    needle_offsets: Offsets,
) -> tuple[Ints, Ints]: ...
def among(
    data: Bytes,
    starts: Offsets,
    ends: Offsets,
    which: Ints,
    members: Bytes,
    member_offsets: Offsets,
    set_bounds: Offsets,
) -> Flags: ...
