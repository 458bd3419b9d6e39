"""How large the pages of a Parquet file are without their compression, told before they are read.

A page is decompressed whole, by the size that its own header says, whatever the file's metadata says. The headers
(Thrift, compact protocol, by parquet.thrift) stand before the pages; pyarrow does not give them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import IO, Any

import pyarrow as pa

from rageval_batch.dataclass import dataclass

_HEADER_BYTES = 1 << 13  # enough as a rule: statistics of long values are left out by most writers
_MOST_HEADER_BYTES = 1 << 24  # of a header that Arrow reads
_UNCOMPRESSED, _COMPRESSED, _DATA, _DICTIONARY, _DATA_V2 = 2, 3, 5, 7, 8  # fields of a PageHeader
_NUM_VALUES = 1  # of a header of a data page
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12
_MOST_NESTED = 16


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page: its bytes without compression, its values, and where it lies with how many bytes."""

    size: int
    values: int
    is_dictionary: bool
    place: int
    stored: int


def pages(file: IO[bytes], chunk: Any) -> Iterator[Page]:
    """The pages of a column chunk by its metadata, as far as their headers can be read."""
    place: int = chunk.data_page_offset
    if chunk.has_dictionary_page and chunk.dictionary_page_offset:
        place = min(place, chunk.dictionary_page_offset)
    end = place + chunk.total_compressed_size
    while place < end:
        header = _header(file, place)
        if header is None:
            return  # what is wrong with the file is for its reader to say
        fields, header_bytes = header
        values = next(
            (found for kind in (_DATA, _DATA_V2, _DICTIONARY) if isinstance(found := fields.get(kind), dict)), {}
        )
        page = Page(
            size=_count(fields, _UNCOMPRESSED),
            values=_count(values, _NUM_VALUES),
            is_dictionary=_DICTIONARY in fields,
            place=place + header_bytes,
            stored=_count(fields, _COMPRESSED),
        )
        yield page
        place = page.place + page.stored


def _count(fields: dict[int, Any], number: int) -> int:
    """The whole number of a field; 0 where a damaged header has none, or something else."""
    found = fields.get(number)
    return max(0, found) if isinstance(found, int) else 0


def longest_text(file: IO[bytes], chunk: Any, page: Page) -> int:
    """The bytes of the longest text of a dictionary page; where it cannot be read, no fewer than that."""
    try:
        file.seek(page.place)
        content = file.read(page.stored)
        if chunk.compression != "UNCOMPRESSED":
            content = pa.Codec(chunk.compression.lower()).decompress(content, page.size, asbytes=True)
        place = longest = 0
        while place < len(content):
            (size,) = struct.unpack_from("<I", content, place)
            longest = max(longest, size)
            place += 4 + size
    except (OSError, ValueError, struct.error, pa.ArrowException):
        return page.size
    return longest


def _header(file: IO[bytes], place: int) -> tuple[dict[int, Any], int] | None:
    """(the fields of the page header at a place, its bytes); None where there is none."""
    for size in (_HEADER_BYTES, _MOST_HEADER_BYTES):
        try:
            file.seek(place)
            reader = _Reader(file.read(size))
            return reader.struct(), reader.at
        except IndexError:
            continue  # it goes on behind what was read
        except (ValueError, OSError):
            return None
    return None


class _Reader:
    """Reads structs of the compact protocol; IndexError behind the end, ValueError for what is none."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """The whole numbers, flags and structs by the numbers of their fields; other values are passed over."""
        found: dict[int, Any] = {}
        number = 0
        while kind := self._byte():
            number = number + (kind >> 4) if kind >> 4 else self._number()
            found[number] = self._value(kind & 15, depth + 1)
        return found

    def _value(self, kind: int, depth: int, in_list: bool = False) -> Any:
        if depth > _MOST_NESTED:
            raise ValueError("nested too deeply")
        if kind in (_TRUE, _FALSE):
            return self._byte() == _TRUE if in_list else kind == _TRUE
        if kind == _BYTE:
            return self._byte()
        if _BYTE < kind < _DOUBLE:
            return self._number()
        if kind == _STRUCT:
            return self.struct(depth)
        if kind in (_LIST, _SET):
            head = self._byte()
            for _ in range(head >> 4 if head >> 4 < 15 else self._varint()):
                self._value(head & 15, depth + 1, in_list=True)
        elif kind in (_BINARY, _DOUBLE):
            size = 8 if kind == _DOUBLE else self._varint()
            self.at += size
            if self.at > len(self._data):
                raise IndexError
        else:
            raise ValueError(f"{kind} is no type of a page header")  # a map is in none
        return None

    def _byte(self) -> int:
        self.at += 1
        return self._data[self.at - 1]

    def _varint(self) -> int:
        value = shift = 0
        while shift < 64:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
        raise ValueError("a number without an end")

    def _number(self) -> int:
        """A signed number: zigzag."""
        value = self._varint()
        return value >> 1 ^ -(value & 1)
