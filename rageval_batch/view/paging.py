"""Pages of a query: sorted, filtered and cut by the database, so that a page gets no more than it shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, field
from typing import Any

from rageval_batch.analysis.session import Session
from rageval_batch.dataclass import dataclass
from rageval_batch.report.html.blocks import Table
from rageval_batch.report.html.pages import is_number
from rageval_batch.report.html.sections import Lister, OfRuns, count_rows, queried, some_rows
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
    prefix: str = ""  # before the names of sorting and page number, where a page has several lists

    def at(self, **changed: Any) -> str:
        """The address of the same list, seen otherwise."""
        state: dict[str, Any] = {"sort": self.sort, "down": 1 if self.down else None, "page": self.number}
        state |= changed
        if state["page"] == 1:
            state["page"] = None
        return address(self.path, **{**self.given, **{f"{self.prefix}{name}": value for name, value in state.items()}})


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
    """One page of a query, in the order that was asked for; `order` breaks ties and is the order at first. It must
    leave no two rows alike that are shown differently, or pages would repeat one and never show the other.

    `numbers` are the columns that start with the largest when their heading is followed.
    """
    columns = session.table(f"{query}\nlimit 0").column_names
    sort = view.sort if view.sort in columns else None
    direction = "desc" if view.down else "asc"
    by = f"{identifier(sort)} {direction} nulls last, {order}" if sort else order
    sql = f"{query}\norder by {by}"
    total = session.rows(f"select count(*) as n from (\n{query}\n)")[0]["n"]
    number = _page(view, total)
    rows = session.rows(f"{sql}\nlimit {ROWS} offset {(number - 1) * ROWS}")
    return _table(view, number, columns, id=id, title=title, rows=rows, sql=sql, total=total, numbers=numbers, **more)


def _page(view: View, total: int) -> int:
    """The number of the page that is shown of so many rows."""
    return min(max(1, view.number), max(1, -(-total // ROWS)))


def _table(
    view: View,
    number: int,
    columns: Sequence[str],
    *,
    id: str,
    title: str,
    rows: list[dict[str, Any]],
    sql: str,
    total: int,
    numbers: Sequence[str],
    unsorted: Sequence[str] = (),
    **more: Any,
) -> Table:
    """One page of a list with the addresses of others."""
    sort = view.sort if view.sort in columns else None
    last = max(1, -(-total // ROWS))
    sorts = {
        name: (
            view.at(sort=name, down=1 if (not view.down if name == sort else name in numbers) else None, page=1),
            None if name != sort else "descending" if view.down else "ascending",
        )
        for name in columns
        if name not in unsorted
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


_INTERVAL = ("low", "high")  # computed for the runs of a page alone: nothing can be sorted by them


def paged_lister(view_of: Callable[[str], View]) -> Lister:
    """What makes the tables of sections that report and viewer share: one that is longer than a page has pages, sorted
    and cut by the database. `view_of`: where the reader is in the list of an id."""

    def listed(
        session: Session,
        id: str,
        title: str,
        *,
        sql: str,
        most: int = ROWS,
        of_runs: OfRuns | None = None,
        **more: Any,
    ) -> Table:
        total = count_rows(session, sql, of_runs)
        if total <= ROWS:
            return queried(session, id, title, sql=sql, most=ROWS, of_runs=of_runs, **more)
        view = view_of(id)
        columns = session.table(f"{of_runs(()) if of_runs else sql}\nlimit 0").column_names
        unsorted = _INTERVAL if of_runs else ()
        number = _page(view, total)

        def ordered(query: str) -> str:
            if view.sort is None or view.sort not in columns or view.sort in unsorted:
                return query
            others = ", ".join(identifier(name) for name in columns if name != view.sort and name not in unsorted)
            by = f"{identifier(view.sort)} {'desc' if view.down else 'asc'} nulls last"
            return f"from (\n{query}\n)\norder by {by}, {others}"

        found = some_rows(
            session, ordered(sql), (lambda names: ordered(of_runs(names))) if of_runs else None,
            limit=f"limit {ROWS} offset {(number - 1) * ROWS}",
        )  # fmt: skip
        rows = found.to_pylist()
        return _table(
            view, number, columns, id=id, title=title, rows=rows, sql=ordered(sql), total=total,
            numbers=[name for name in columns if any(is_number(row[name]) for row in rows)], unsorted=unsorted, **more,
        )  # fmt: skip

    return listed
