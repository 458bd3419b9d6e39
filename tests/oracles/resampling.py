"""The random numbers of resampling, slow and plain: which places a resample has, which signs a flip."""

DRAWING, FLIPPING = 1, 2  # the streams of a seed
MASK = 2**64 - 1


def stream_of(seed: int, purpose: int) -> int:
    """The seed of a stream, far from its neighbours."""
    return ((seed * 3 + purpose) * 0xD1342543DE82EF95 + 0x63652362D2C1B4A5) & MASK


def random_word(seed: int, k: int) -> int:
    """SplitMix64 as its author wrote it, the k-th number of a seed."""
    z = (seed + (k + 1) * 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def resample_places(n: int, resamples: int, seed: int) -> list[list[int]]:
    """The questions of every resample: two of each random word, the low half first."""
    stream = stream_of(seed, DRAWING)
    pairs = (n + 1) // 2
    rows = []
    for r in range(resamples):
        words = [random_word(stream, r * pairs + j) for j in range(pairs)]
        halves = [half for w in words for half in (w & 0xFFFFFFFF, w >> 32)]
        rows.append([(half * n) >> 32 for half in halves[:n]])
    return rows


def flipped_signs(n: int, flips: int, seed: int) -> list[list[int]]:
    """The signs of every flip: a bit each, the lowest first."""
    stream = stream_of(seed, FLIPPING)
    words = (n + 63) // 64
    return [
        [1 if random_word(stream, r * words + j // 64) >> (j % 64) & 1 else -1 for j in range(n)] for r in range(flips)
    ]
