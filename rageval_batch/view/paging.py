"""Pages of a query: sorted, filtered and cut by the database, so that a page gets no more than it shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from rageval_batch.analysis.session import Session
from rageval_batch.report.html.blocks import Table
from rageval_batch.sql_text import identifier
from rageval_batch.view.addresses import address

ROWS = 50


@dataclass(frozen=True)
class View:
    """Where a reader is in a list: the page's address without sorting and page number, and those two."""

    path: str
    given: Mapping[str, Any] = field(default_factory=dict)
    sort: str | None = None
    _: KW_ONLY
    down: bool = False
    number: int = 1

    def at(self, **changed: Any) -> str:
        """The address of the same list, seen otherwise."""
        state: dict[str, Any] = {"sort": self.sort, "down": 1 if self.down else None, "page": self.number}
        state |= changed
        if state["page"] == 1:
            state["page"] = None
        return address(self.path, **{**self.given, **state})


def paged(
    session: Session,
    id: str,
    title: str,
    *,
    query: str,
    view: View,
    order: str,
    numbers: Sequence[str] = (),
    **more: Any,
) -> Table:
    """One page of a query, in the order that was asked for; `order` breaks ties and is the order at first.

    `numbers` are the columns that start with the largest when their heading is followed.
    """
    columns = session.table(f"{query}\nlimit 0").column_names
    sort = view.sort if view.sort in columns else None
    direction = "desc" if view.down else "asc"
    by = f"{identifier(sort)} {direction} nulls last, {order}" if sort else order
    sql = f"{query}\norder by {by}"
    total = session.rows(f"select count(*) as n from (\n{query}\n)")[0]["n"]
    last = max(1, -(-total // ROWS))
    number = min(max(1, view.number), last)
    rows = session.rows(f"{sql}\nlimit {ROWS} offset {(number - 1) * ROWS}")
    sorts = {
        name: (
            view.at(sort=name, down=1 if (not view.down if name == sort else name in numbers) else None, page=1),
            None if name != sort else "descending" if view.down else "ascending",
        )
        for name in columns
    }
    pages = []
    if number > 1:
        pages += [("First", view.at(page=1)), ("Previous", view.at(page=number - 1))]
    if number < last:
        pages += [("Next", view.at(page=number + 1)), ("Last", view.at(page=last))]
    note = more.pop("note", None)
    if last > 1:
        note = f"Page {number:,} of {last:,}. {note or ''}"
    return Table(
        id, title, tuple(columns), rows=rows, sql=sql, total=total, note=note, sorts=sorts, pages=tuple(pages), **more
    )
