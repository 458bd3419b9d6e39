"""A viewer that runs, and a client of it."""

from __future__ import annotations

import http.client
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from rageval_batch.view.addresses import address
from rageval_batch.view.server import ViewServer


@dataclass
class Client:
    """A browser without a screen: it keeps the cookie."""

    host: str
    token: str
    headers: dict[str, str] = field(default_factory=dict)

    def ask(self, path: str, method: str = "GET", **headers: str) -> tuple[int, str, dict[str, str]]:
        """What the viewer answers; a query that still runs is asked for again, as the page does."""
        status, body, found = self.bytes(path, method, **headers)
        while status == 202:
            time.sleep(0.1)
            status, body, found = self.bytes(path, method, **headers)
        return status, body.decode(), found

    def bytes(self, path: str, method: str = "GET", **headers: str) -> tuple[int, bytes, dict[str, str]]:
        connection = http.client.HTTPConnection(self.host, timeout=120)
        given = {**self.headers, **{name.replace("_", "-"): value for name, value in headers.items()}}
        connection.request(method, path, headers=given)
        answer = connection.getresponse()
        found = answer.status, answer.read(), {name.lower(): value for name, value in answer.getheaders()}
        connection.close()
        return found

    def get(self, path: str, **values: str) -> str:
        status, body, _ = self.ask(address(path, **values))
        assert status == 200, re.sub(r"<[^>]+>", "", body)[-400:]
        return body


@contextmanager
def viewing(store: Path) -> Iterator[Client]:
    """A viewer in a thread of its own, and a client that showed the token once."""
    server = ViewServer(str(store))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield let_in(server.address)
    finally:
        server.stop()
        thread.join()


def let_in(printed: str) -> Client:
    """A client that followed the address that the viewer printed."""
    parts = urlsplit(printed)
    assert parts.hostname == "127.0.0.1"
    client = Client(parts.netloc, parts.query.removeprefix("token="))
    status, _, headers = client.ask(f"/?token={client.token}")
    assert status == 303 and headers["location"] == "/"
    assert {"httponly", "samesite=strict"} <= {part.strip().lower() for part in headers["set-cookie"].split(";")}
    client.headers["Cookie"] = headers["set-cookie"].split(";")[0]
    return client
