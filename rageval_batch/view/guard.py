"""Who may read the pages: a browser of this machine that has the token, and no page of anybody else's."""

from __future__ import annotations

import secrets

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOSTS = ("127.0.0.1", "localhost")
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Guard:
    """Lets only requests through that come to this address, from this address, to read, and with the token."""

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self._app, self._token = app, token
        self._hosts = {f"{name}:{port}" for name in HOSTS}
        self._cookie = f"rageval_{port}"  # cookies are shared by all ports of an address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        answer = self._answer(scope)
        await (answer or self._app)(scope, receive, with_headers)

    def _answer(self, scope: Scope) -> Response | None:
        """What is said in place of the page; null where the request may have it."""
        headers = Headers(scope=scope)
        if headers.get("host") not in self._hosts:
            return PlainTextResponse("This viewer answers to its own address only.\n", 403)
        origin = headers.get("origin")
        if origin is not None and origin not in {f"http://{host}" for host in self._hosts}:
            return PlainTextResponse("Another site asked for this page.\n", 403)
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return PlainTextResponse("Another site asked for this page.\n", 403)
        if scope["method"] not in ("GET", "HEAD"):
            return PlainTextResponse("The viewer only reads.\n", 405, {"Allow": "GET, HEAD"})
        query = QueryParams(scope["query_string"])
        if self._right(query.get("token")):
            return self._let_in(scope["path"], query)
        if self._right(_cookies(headers).get(self._cookie)):
            return None
        return PlainTextResponse("Open the address that `rageval view` printed: it has the token.\n", 403)

    def _right(self, token: str | None) -> bool:
        return token is not None and secrets.compare_digest(token.encode(), self._token.encode())

    def _let_in(self, path: str, query: QueryParams) -> Response:
        """The same address without the token, which the browser keeps aside from now on."""
        rest = QueryParams([(name, value) for name, value in query.multi_items() if name != "token"])
        there = "/" + path.lstrip("/")  # two slashes would name another host
        answer = RedirectResponse(f"{there}?{rest}" if str(rest) else there, 303)
        answer.set_cookie(self._cookie, self._token, httponly=True, samesite="strict", path="/")
        return answer


def _cookies(headers: Headers) -> dict[str, str]:
    parts = (part.strip().partition("=") for part in headers.get("cookie", "").split(";"))
    return {name: value for name, _, value in parts}
