"""The server of the viewer: on the loopback address, for one token, until it is told to end."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable
from pathlib import Path

import uvicorn

from rageval_batch.errors import InputError
from rageval_batch.runs.store import Store
from rageval_batch.view.app import Viewer
from rageval_batch.view.guard import HOSTS, Guard
from rageval_batch.view.live import LiveStore

_TOKEN_BYTES = 24


def serve(store: str, port: int, ready: Callable[[str], None]) -> None:
    """Serve the pages until Ctrl-C; `ready` gets the address with its token. Port 0 is any that is free."""
    Store(store).require()
    listening = _listening(port)
    bound: int = listening.getsockname()[1]
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    live = LiveStore(Path(store))
    server = uvicorn.Server(
        uvicorn.Config(
            Guard(Viewer(live).app(), token, bound), log_level="error", access_log=False, lifespan="off", ws="none",
            server_header=False, proxy_headers=False, timeout_graceful_shutdown=1, limit_concurrency=100,
        )  # fmt: skip
    )
    try:
        ready(f"http://{HOSTS[0]}:{bound}/?token={token}")
        server.run([listening])
    finally:
        listening.close()
        live.close()


def _listening(port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOSTS[0], port))
    except OSError as error:
        listening.close()
        raise InputError(f"Cannot listen on port {port}: {error.strerror}. Choose another with --port.") from error
    return listening
