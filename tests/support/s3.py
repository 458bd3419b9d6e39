"""An S3 server on this machine: moto, in a process of its own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

HOST = "127.0.0.1"
BUCKET = "answers"
_SERVE = "import sys; from moto.server import main; main(['-H', sys.argv[1], '-p', sys.argv[2]])"


@contextmanager
def s3_server(port: int | None = None) -> Iterator[dict[str, str]]:
    """A server with an empty bucket; the variables of the environment by which Arrow finds it."""
    if port is None:
        with socket.socket() as found:
            found.bind((HOST, 0))
            port = found.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-c", _SERVE, HOST, str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    address = f"http://{HOST}:{port}"
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                urllib.request.urlopen(urllib.request.Request(f"{address}/{BUCKET}", method="PUT")).close()
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
        yield {
            **dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "test"),
            "AWS_ENDPOINT_URL": address,
            "AWS_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
            "no_proxy": f"{HOST},{os.environ.get('no_proxy', '')}",
        }
    finally:
        process.kill()
        process.wait()
