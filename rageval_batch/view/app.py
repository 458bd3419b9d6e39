"""The pages of the viewer by their addresses."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from rageval_batch.analysis.read_only import single_query
from rageval_batch.analysis.session import Session
from rageval_batch.answering import DamageFound, answered
from rageval_batch.errors import InputError, RagevalError
from rageval_batch.report.cells import count_text
from rageval_batch.report.html.blocks import Table
from rageval_batch.report.html.pages import asset, page
from rageval_batch.report.html.report import Limits
from rageval_batch.report.html.sections import Lister
from rageval_batch.report.html.texts import cut, direction, language
from rageval_batch.report.readable import ESCAPES_SHOWN, has_shown_escapes, readable
from rageval_batch.view import contents
from rageval_batch.view.addresses import KEY, address, sql_address
from rageval_batch.view.contents import Content
from rageval_batch.view.live import LiveStore, limited_query
from rageval_batch.view.marking import MOST_TEXT, marked_answer, marked_sections
from rageval_batch.view.paging import View, paged_lister
from rageval_batch.view.queries import EXAMPLES, Result, Views, described_views, result_page, written_result
from rageval_batch.view.two_runs import compare_content
from rageval_batch.view.waiting import RunningQueries, StillRunning

_TEMPLATES = Path(__file__).parent / "templates"
_LIMITS = Limits(cell=600)
_STATIC = {
    "style.css": "text/css",
    "early.js": "text/javascript",
    "script.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}
_FILE_TYPES = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet"}
_FILE_NAMES = {"csv": "CSV", "parquet": "Parquet"}


class Viewer:
    """The pages over one store."""

    def __init__(self, store: LiveStore) -> None:
        self._store = store
        self._queries: RunningQueries[tuple[Result | None, str | None]] = RunningQueries()
        self._views: Views = []  # as they were last seen
        self._long_pages: RunningQueries[Response] = RunningQueries()

    def close(self) -> None:
        """Begin no more queries and pages."""
        self._queries.close()
        self._long_pages.close()

    def app(self) -> Starlette:
        """The pages, each under its address."""
        pages: dict[str, Callable[[Request], Response]] = {
            "/": self.runs, "/set": self.set, "/run": self.run, "/question": self.question, "/answer": self.answer,
            "/compare": self.compare, "/gates": self.gates, "/rejects": self.rejects, "/sql": self.sql,
            "/sql/{name}": self.download, "/static/{name}": self.static, "/{rest:path}": self.unknown,
        }  # fmt: skip
        return Starlette(routes=[Route(path, self._said(one), methods=["GET"]) for path, one in pages.items()])

    def _said(self, one: Callable[[Request], Response]) -> Callable[[Request], Response]:
        """A page whose expected errors are pages too."""

        def answer(request: Request) -> Response:
            try:
                return answered(lambda: one(request))
            except RagevalError as error:
                content = Content(title="That cannot be shown", sections=())
                return self._page(request, "error.html", content, status=400, error=error.what)

        return answer

    def _page(self, request: Request, template: str, content: Content, *, status: int = 200, **values: Any) -> Response:
        html = page(
            template, (_TEMPLATES,), content=content, link=content.links, limits=_LIMITS, sql_address=sql_address,
            store=self._store.name, path=request.url.path, **values,
        )  # fmt: skip
        return HTMLResponse(str(html).encode("utf-8", "replace"), status)

    def _waited_for(self, request: Request, one: Callable[[Request], Response]) -> Response:
        """A page that reads inputs again or tests many runs; where that takes long, that it is still being made."""
        found = self._long_pages.result(str(request.url), lambda: one(request))
        if isinstance(found, StillRunning):
            content = Content(title="Still being made", sections=())
            return self._page(request, "waiting.html", content, status=202, waited=found)
        return found

    # --- pages -------------------------------------------------------------------------------------------------------

    def runs(self, request: Request) -> Response:
        """All runs; two that were picked are compared."""
        given = request.query_params
        picks = tuple(dict.fromkeys(given.getlist("pick")))
        asked = given.get("do") == "compare"
        of_one_profile = len({_picked(pick)["profile"] for pick in picks}) == 1
        if asked and len(picks) == 2 and of_one_profile:
            first, second = map(_picked, picks)
            about = {name: first[name] for name in ("profile", "eval_set")}
            return RedirectResponse(address("/compare", base=first["run"], cand=second["run"], **about), 303)
        text, profile = given.get("q"), given.get("profile")
        with self._store.session() as session:
            view = _view(request, "q", "profile", pick=picks)
            content, profiles = contents.runs_content(session, text, profile, view=view, picks=picks)
        here = {pick for block in content.sections[0].blocks if isinstance(block, Table) for pick in block.picks}
        elsewhere = [
            (pick, _picked(pick)["run"] or "", view.at(pick=tuple(one for one in picks if one != pick)))
            for pick in picks
            if pick not in here
        ]
        state = [(name, given[name]) for name in ("q", "profile", "sort", "down", "page") if given.get(name)]
        of_one = " of one profile" if len(picks) == 2 else ""
        said = f"Pick two runs{of_one} to compare them: {count_text(len(picks), 'run')} picked." if asked else None
        return self._page(
            request, "runs.html", content, text=text or "", profile=profile or "", profiles=profiles, said=said,
            picks=picks, elsewhere=elsewhere, state=state,
        )  # fmt: skip

    def set(self, request: Request) -> Response:
        """One section about a profile and eval set."""
        given = request.query_params
        name = given.get("section", "leaderboard")
        if name not in contents.SET_SECTIONS:
            return self.unknown(request)
        return self._waited_for(request, self._set) if name in contents.LONG_SECTIONS else self._set(request)

    def _set(self, request: Request) -> Response:
        given = request.query_params
        name = given.get("section", "leaderboard")
        asked = _needed(request, "profile", "eval_set")
        with self._store.session(may_take_long=name in contents.LONG_SECTIONS) as session:
            content = contents.set_content(session, *asked, name=name, base=given.get("base"), listed=_lister(request))
        return self._page(request, "page.html", content)

    def run(self, request: Request) -> Response:
        """One run and its answers."""
        given = request.query_params
        (name,) = _needed(request, "run")
        view = _view(request, "run", "profile", "eval_set", "fail_reason", "q")
        with self._store.session(name) as session:
            content = contents.run_content(
                session,
                name,
                given.get("profile"),
                eval_set=given.get("eval_set"),
                reason=given.get("fail_reason"),
                text=given.get("q"),
                view=view,
            )
        return self._page(
            request,
            "run.html",
            content,
            given={k: given.get(k, "") for k in ("run", "profile", "eval_set", "fail_reason", "q")},
        )

    def question(self, request: Request) -> Response:
        """One question in all runs."""
        profile, eval_set, question = _needed(request, "profile", "eval_set", "question")
        view = _view(request, "profile", "eval_set", "question")
        with self._store.session() as session:
            content = contents.question_content(session, profile, eval_set, question=question, view=view)
        return self._page(request, "page.html", content)

    def answer(self, request: Request) -> Response:
        """One answer, taken apart."""
        return self._waited_for(request, self._answer)

    def _answer(self, request: Request) -> Response:
        given = request.query_params
        keys = {name.removeprefix(KEY): value for name, value in given.items() if name.startswith(KEY)}
        about = {"profile": given.get("profile"), "eval_set": given.get("eval_set")}
        name, question = _needed(request, "run", "question")
        with self._store.session(name, may_take_long=True) as session:
            if not keys and contents.has_several_rows(session, name, about, question=question):
                return RedirectResponse(address("/run", run=name, q=question, **about), 303)
            content, found = contents.answer_content(
                session,
                name,
                about,
                question=question,
                repeat=_counted("repeat", given.get("repeat"), first=0) or 0,
                keys=keys,
                number=_counted("row", given.get("row"), first=1) or 1,
            )
        parts = marked_sections(found.explanation) if found.explanation else []
        shown = None if found.output is None else readable(found.output)
        spans = [] if shown is None else marked_answer(shown, parts)
        raw = found.output if found.output != shown else None
        row = {name: value for name, value in found.row.items() if value is not None}
        return self._page(
            request, "answer.html", content, row=row, parts=parts, spans=spans, note=found.note,
            raw=None if raw is None else cut(raw, MOST_TEXT), has_output=found.output is not None,
            escapes=ESCAPES_SHOWN if raw is not None and has_shown_escapes(raw) else None,
            direction=direction(shown or ""), answer_language=language(shown or ""),
            blank=found.output is not None and not found.output.strip(),
        )  # fmt: skip

    def compare(self, request: Request) -> Response:
        """A run against a run."""
        asked = bool(request.query_params.get("answers"))
        return self._waited_for(request, self._compare) if asked else self._compare(request)

    def _compare(self, request: Request) -> Response:
        given = request.query_params
        base, cand = _needed(request, "base", "cand")
        about = {name: given.get(name) for name in ("profile", "eval_set")}
        view = _view(request, "base", "cand", "profile", "eval_set", "answers")
        answers = bool(given.get("answers"))
        with self._store.session(base, cand, may_take_long=answers) as session:
            content = compare_content(session, base, cand, about=about, view=view, answers=answers)
        return self._page(request, "page.html", content)

    def gates(self, request: Request) -> Response:
        """The verdicts of the gates."""
        with self._store.session() as session:
            content = contents.gates_content(session, _lister(request))
        return self._page(request, "page.html", content)

    def rejects(self, request: Request) -> Response:
        """Input rows that could not be used."""
        with self._store.session() as session:
            content = contents.rejects_content(session, _view(request))
        return self._page(request, "page.html", content)

    # --- SQL ---------------------------------------------------------------------------------------------------------

    def sql(self, request: Request) -> Response:
        """A query and its result; where it takes long, that it still runs."""
        given = request.query_params
        query = given.get("q", "").strip()
        x, y, view = given.get("x"), given.get("y"), _view(request, "q", "x", "y")

        def run() -> tuple[Result | None, str | None]:
            try:
                with self._store.query_session() as session:
                    self._views = _views_of(session)
                    if not query:
                        return None, None
                    with limited_query(session, query):
                        return result_page(session, query, view, x=x, y=y), None
            except DamageFound:
                raise
            except RagevalError as failed:
                return None, str(failed)

        result = waited = None
        error = _refusal(query) if query and self._views else None
        if error is None:
            found = self._queries.result((query, view.number, x, y), lambda: answered(run))
            if isinstance(found, StillRunning):
                waited = found
            else:
                result, error = found
        files = [(f"Download {said}", address(f"/sql/result.{name}", q=query)) for name, said in _FILE_NAMES.items()]
        return self._page(
            request,
            "sql.html",
            Content(title="SQL", sections=()),
            status=400 if error else 200 if waited is None else 202,
            query=query or EXAMPLES[0][1],
            result=result,
            error=error,
            waited=waited,
            views=self._views,
            files=files,
            examples=EXAMPLES,
            x=x,
            y=y,
        )

    def download(self, request: Request) -> Response:
        """The whole result of a query as a file."""
        name = request.path_params["name"]
        format = name.removeprefix("result.")
        if format not in _FILE_TYPES:
            return self.unknown(request)
        query = single_query(request.query_params.get("q", ""))
        with self._store.query_session() as session, limited_query(session, query):
            path = written_result(session, query, format)
        return FileResponse(
            path, media_type=_FILE_TYPES[format], filename=name, background=BackgroundTask(os.unlink, path)
        )

    # --- others ------------------------------------------------------------------------------------------------------

    def static(self, request: Request) -> Response:
        """The style sheet, the script or the icon."""
        name = request.path_params["name"]
        if name not in _STATIC:
            return self.unknown(request)
        return Response(asset(name), media_type=_STATIC[name])

    def unknown(self, request: Request) -> Response:
        """An address without a page."""
        return self._page(
            request,
            "error.html",
            Content(title="No such page", sections=()),
            status=404,
            error="There is no page at this address.",
        )


@lru_cache(maxsize=1)
def _views_of(session: Session) -> Views:
    """The views of a session: they do not change while it is open."""
    return described_views(session)


def _refusal(query: str) -> str | None:
    """Why a query is refused whatever the store holds: that need not wait for the queries before it."""
    try:
        single_query(query)
    except InputError as error:
        return str(error)
    return None


def _picked(pick: str) -> dict[str, str | None]:
    values = parse_qs(pick.removeprefix("?"))
    return {name: values.get(name, [None])[0] for name in ("run", "profile", "eval_set")}


def _needed(request: Request, *names: str) -> list[str]:
    """What an address must say; InputError where it does not."""
    given = request.query_params
    if lacking := [name for name in names if not given.get(name)]:
        raise InputError(f"The address of this page does not say which {' and '.join(lacking)}. Begin with the runs.")
    return [given[name] for name in names]


def _whole_number(text: str | None, other: int) -> int:
    return int(text) if text and text.isdecimal() and text.isascii() and len(text) < 10 else other


def _counted(name: str, text: str | None, *, first: int) -> int | None:
    """The number that an address gives of something, null where it gives none; InputError for what is none."""
    if not text:
        return None
    number = _whole_number(text, -1)
    if number < first:
        raise InputError(f"{name}={text} is no {name}: they are counted from {first}.")
    return number


def _lister(request: Request) -> Lister:
    """What makes tables of a page that has several lists: where the reader is in each stands behind its id."""
    given = request.query_params

    def view(id: str) -> View:
        prefix = f"{id}."
        others = {name: value for name, value in given.items() if not name.startswith(prefix)}
        return View(
            request.url.path, others, given.get(f"{prefix}sort"), down=given.get(f"{prefix}down") == "1",
            number=_whole_number(given.get(f"{prefix}page"), 1), prefix=prefix,
        )  # fmt: skip

    return paged_lister(view)


def _view(request: Request, *names: str, **more: Any) -> View:
    """Where the reader is in the page's list."""
    given = request.query_params
    known = {name: given.get(name) for name in names} | more
    return View(
        request.url.path, known, given.get("sort"), down=given.get("down") == "1",
        number=_whole_number(given.get("page"), 1),
    )  # fmt: skip
