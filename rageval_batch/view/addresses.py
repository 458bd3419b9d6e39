"""Every state of the viewer has an address; they are made here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any
from urllib.parse import quote, urlencode

from rageval_batch.dataclass import dataclass

KEY = "key."  # before the name of a column that picks one of several rows of a question


def address(path: str, **values: Any) -> str:
    """A path with what is not null behind it; each value of a tuple stands by itself."""
    given = {name: value for name, value in values.items() if value not in (None, "", ())}
    return f"{path}?{urlencode(given, doseq=True)}" if given else path


def sql_address(query: str) -> str:
    """The page that shows a query and its result."""
    return address("/sql", q=query)


@dataclass(frozen=True)
class Links:
    """Where the cells of a table lead: rows say which run and question they are of, or the page does."""

    profile: str | None = None
    eval_set: str | None = None
    run: str | None = None
    _: KW_ONLY
    keys: tuple[str, ...] = ()
    base: str | None = None  # that the candidates of a table are compared with

    def __call__(self, column: str, row: Mapping[str, Any]) -> str | None:
        value = row.get(column)
        if not isinstance(value, str):
            return None
        about = {"profile": row.get("profile") or self.profile, "eval_set": row.get("eval_set") or self.eval_set}
        if column == "candidate" and self.base is not None:
            return address("/compare", base=self.base, cand=value, **about)
        if column in ("run_id", "candidate"):
            return address("/run", run=value, **about)
        if column == "question_id" and about["profile"]:
            run = row.get("run_id") or self.run
            if run is None:
                return address("/question", question=value, **about)
            keys = {f"{KEY}{name}": row.get(name) for name in self.keys}
            none = "".join(f"&{quote(name)}=" for name, key in keys.items() if key in (None, ""))
            return address("/answer", run=run, question=value, repeat=row.get("repeat"), **about, **keys) + none
        if column == "fail_reason" and "runs" not in row and (run := row.get("run_id") or self.run):
            return address("/run", run=run, **about, fail_reason=value)
        if column == "eval_set":
            return address("/set", **about)
        return None
