"""Page headers of damaged Parquet files: what they lack is 0, and the reader of the file says what is wrong."""

import io
from dataclasses import dataclass

import pytest

from rageval_batch.columnar.parquet_pages import pages


@dataclass(frozen=True)
class Chunk:
    """The metadata of a column chunk whose pages begin the file."""

    total_compressed_size: int
    data_page_offset: int = 0
    has_dictionary_page: bool = False
    dictionary_page_offset: int | None = None


# Fields of a PageHeader in Thrift's compact protocol: a byte of (step << 4 | type), then the value; 0 ends a struct.
WHOLE = bytes([0x15, 0, 0x15, 12, 0x15, 8, 0x2C, 0x15, 6, 0, 0])  # type 0, size 6, stored 4, data page of 3 values


def test_a_whole_header() -> None:
    (page,) = pages(io.BytesIO(WHOLE + b"abcd"), Chunk(len(WHOLE) + 4))
    assert (page.size, page.values, page.place, page.stored) == (6, 3, len(WHOLE), 4)


@pytest.mark.parametrize(
    ("header", "found"),
    [
        (bytes([0x15, 0, 0x15, 12, 0x18, 1, 65, 0]), (6, 0, 0)),  # the stored size is a text
        (bytes([0x15, 0, 0x18, 1, 65, 0x15, 8, 0]), (0, 0, 4)),  # the size is a text
        (bytes([0x15, 0, 0x15, 12, 0x15, 8, 0x25, 6, 0]), (6, 0, 4)),  # the data page is a number
        (bytes([0x15, 0, 0x15, 11, 0x15, 8, 0]), (0, 0, 4)),  # the size is below 0
    ],
)
def test_a_field_of_another_kind_counts_as_nothing(header: bytes, found: tuple[int, int, int]) -> None:
    first = next(pages(io.BytesIO(header + bytes(64)), Chunk(len(header))))
    assert (first.size, first.values, first.stored) == found
