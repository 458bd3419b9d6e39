"""Inputs for fuzzers: seeds with random edits, which reach further into a format than random bytes."""

from __future__ import annotations

import random
from collections.abc import Sequence

from hypothesis import strategies as st

TOKENS = (
    b"", b"\0", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", b'"', b"\\", b"\\u", b"\\ud800", b"{", b"}", b"[", b"]",
    b",", b":", b"\n", b"\r", b"\t", b";", b"'", b"--", b"/*", b"1e999", b"-0", b"NaN", b"null", b"9" * 40, b"[" * 200,
    b"\xe2\x80\xae", b"\x1b[31m", b"$", b"=", b"#", b"\x28\xb5\x2f\xfd", b"PAR1", b" " * 70,
)  # fmt: skip


KINDS = ("insert", "cut", "flip", "repeat", "splice")


def mutated(seeds: Sequence[bytes]) -> st.SearchStrategy[bytes]:
    """A seed with up to eight edits: bytes put in, cut out, changed, repeated, or taken from another seed."""
    place = st.floats(0, 1, exclude_max=True)
    edit = st.tuples(
        st.sampled_from(KINDS), place, st.integers(1, 60),
        st.sampled_from(TOKENS) | st.binary(max_size=8), st.sampled_from(seeds),
    )  # fmt: skip
    return st.builds(_edited, st.sampled_from(seeds), st.lists(edit, max_size=8))


def _edited(content: bytes, edits: list[tuple[str, float, int, bytes, bytes]]) -> bytes:
    for kind, place, width, token, other in edits:
        at = int(place * (len(content) + 1))
        head, middle, tail = content[:at], content[at : at + width], content[at + width :]
        if kind == "insert":
            middle = token + middle
        elif kind == "cut":
            middle = b""
        elif kind == "flip":
            middle = bytes(byte ^ (1 << width % 8) for byte in middle[:1]) + middle[1:]
        elif kind == "repeat":
            middle *= 3
        else:
            middle = other[int(place * len(other)) :][:width]
        content = head + middle + tail
    return content


def random_edits(content: bytes, seeds: Sequence[bytes], chance: random.Random) -> bytes:
    """The same edits by a generator of random numbers, for runs by the clock."""
    edits = [
        (
            chance.choice(KINDS), chance.random(), chance.randint(1, 60),
            chance.choice(TOKENS) if chance.random() < 0.5 else chance.randbytes(chance.randint(0, 8)),
            chance.choice(seeds),
        )
        for _ in range(chance.randint(0, 8))
    ]  # fmt: skip
    return _edited(content, edits)
