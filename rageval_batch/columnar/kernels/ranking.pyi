from rageval_batch.columnar.strings import Floats, Ints, Offsets

def rank_scores(
    question: Ints,
    bounds: Offsets,
    ids: Ints,
    id_count: int,
    known: Ints,
    gold_bounds: Offsets,
    gold: Ints,
    grades: Floats,
    gold_count: int,
    ideal: Floats,
    discounts: Floats,
) -> tuple[Floats, Floats]: ...
