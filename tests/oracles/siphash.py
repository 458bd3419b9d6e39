"""SipHash-2-4 with 128 bits and NH, as their papers have them, and the message of a row of texts."""

from __future__ import annotations

from collections.abc import Sequence

_WORD = (1 << 64) - 1


def _turned(word: int, bits: int) -> int:
    return (word << bits | word >> (64 - bits)) & _WORD


def _rounds(v: list[int], count: int) -> None:
    for _ in range(count):
        v[0] = (v[0] + v[1]) & _WORD
        v[1] = _turned(v[1], 13) ^ v[0]
        v[0] = _turned(v[0], 32)
        v[2] = (v[2] + v[3]) & _WORD
        v[3] = _turned(v[3], 16) ^ v[2]
        v[0] = (v[0] + v[3]) & _WORD
        v[3] = _turned(v[3], 21) ^ v[0]
        v[2] = (v[2] + v[1]) & _WORD
        v[1] = _turned(v[1], 17) ^ v[2]
        v[2] = _turned(v[2], 32)


def siphash128(key: tuple[int, int], message: bytes) -> tuple[int, int]:
    """The digest as two words."""
    v = [
        key[0] ^ 0x736F6D6570736575,
        key[1] ^ 0x646F72616E646F6D ^ 0xEE,
        key[0] ^ 0x6C7967656E657261,
        key[1] ^ 0x7465646279746573,
    ]
    whole = len(message) // 8 * 8
    words = [int.from_bytes(message[k : k + 8], "little") for k in range(0, whole, 8)]
    words.append(int.from_bytes(message[whole:], "little") | (len(message) & 0xFF) << 56)
    for word in words:
        v[3] ^= word
        _rounds(v, 2)
        v[0] ^= word
    v[2] ^= 0xEE
    _rounds(v, 4)
    first = v[0] ^ v[1] ^ v[2] ^ v[3]
    v[1] ^= 0xDD
    _rounds(v, 4)
    return first, v[0] ^ v[1] ^ v[2] ^ v[3]


def _word(number: int) -> bytes:
    return (number & _WORD).to_bytes(8, "little")


def nh(keys: Sequence[int], content: bytes) -> int:
    """The sum of NH, of 128 bits, over whole pairs of words."""
    words = [int.from_bytes(content[k : k + 8], "little") for k in range(0, len(content), 8)]
    summed = [(word + key) & _WORD for word, key in zip(words, keys, strict=False)]
    return sum(one * two for one, two in zip(summed[::2], summed[1::2], strict=True)) % (1 << 128)


def row_message(key: tuple[int, int], number: int, texts: Sequence[str | None]) -> bytes:
    """A number, and of each text the length, -1 for null, and two sums of NH for every 1024 bytes; in words."""
    keys = [word for k in range(65) for word in siphash128(key, _word((1 << 63) + k))]
    message = _word(number)
    for text in texts:
        content = (text or "").encode()
        message += _word(-1 if text is None else len(content))
        for at in range(0, len(content), 1024):
            block = content[at : at + 1024]
            block += bytes(-len(block) % 16)
            message += b"".join(nh(keys[skipped:], block).to_bytes(16, "little") for skipped in (0, 2))
    return message
