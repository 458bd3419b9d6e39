"""The server of the viewer: on the loopback address, for one token, until it is told to end."""

from __future__ import annotations

import secrets
import socket

import uvicorn

from rageval_batch.errors import InputError
from rageval_batch.runs.store import Store
from rageval_batch.view.app import Viewer
from rageval_batch.view.guard import HOSTS, Guard
from rageval_batch.view.live import LiveStore

_TOKEN_BYTES = 24


class ViewServer:
    """The pages of a store at an address that has a token in it. Port 0 is any that is free."""

    def __init__(self, store: str, port: int = 0) -> None:
        Store(store).require()
        self._listening = _listening(port)
        bound: int = self._listening.getsockname()[1]
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        self.address = f"http://{HOSTS[0]}:{bound}/?token={token}"
        self._live = LiveStore(Store(store))
        self._viewer = Viewer(self._live)
        self._server = uvicorn.Server(
            uvicorn.Config(
                Guard(self._viewer.app(), token, bound),
                log_level="error",
                access_log=False,
                lifespan="off",
                ws="none",
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=1,
                limit_concurrency=100,
            )
        )

    def run(self) -> None:
        """Serve until Ctrl-C, or until another thread calls `stop`."""
        try:
            self._server.run([self._listening])
        finally:
            self._listening.close()
            self._viewer.close()
            self._live.close()

    def stop(self) -> None:
        """Let `run` come to its end."""
        self._server.should_exit = True


def _listening(port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOSTS[0], port))
        listening.listen()  # before the address is known: whoever is faster than the server waits
    except OSError as error:
        listening.close()
        raise InputError(f"Cannot listen on port {port}: {error.strerror}. Choose another with --port.") from error
    return listening
