"""Small blocks put together, so that a thousand files of a row each are scored and kept as one block."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from rageval_batch.inputs.extras import joined_extras
from rageval_batch.inputs.outputs import Ingested
from rageval_batch.inputs.readers import blocks as limits

_SMALL = 4  # of so many blocks of its rows or bytes, one is made


def joined_blocks(blocks: Iterator[Ingested]) -> Iterator[Ingested]:
    """The same rows in the same order; neighbours that are small are one block, of bounded size as any other."""
    waiting: list[Ingested] = []
    rows = size = 0
    for block in blocks:
        more = block.batch.nbytes + block.rejects.nbytes + (block.extras.nbytes if block.extras else 0)
        small = _SMALL * block.rows <= limits.BLOCK_ROWS and _SMALL * more <= limits.BLOCK_BYTES
        if waiting and not (small and rows + block.rows <= limits.BLOCK_ROWS and size + more <= limits.BLOCK_BYTES):
            yield _joined(waiting)
            waiting, rows, size = [], 0, 0
        if small:
            waiting.append(block)
            rows, size = rows + block.rows, size + more
        else:
            yield block
    if waiting:
        yield _joined(waiting)


def _joined(blocks: list[Ingested]) -> Ingested:
    if len(blocks) == 1:
        return blocks[0]
    extras = [block.extras for block in blocks if block.extras is not None]
    return Ingested(
        pa.concat_batches([block.batch for block in blocks]),
        pa.concat_tables([block.rejects for block in blocks]),
        sum(block.rows for block in blocks),
        extras=joined_extras(extras) if extras else None,
    )
