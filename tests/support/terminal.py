"""A standard output that says it is a terminal."""

from __future__ import annotations

import sys

import pytest


def on_terminal(monkeypatch: pytest.MonkeyPatch, columns: int = 80, colour: bool = False) -> None:
    """From here on standard output, captured or not, is a terminal of so many columns."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm")
    if colour:
        monkeypatch.delenv("NO_COLOR", raising=False)
    else:
        monkeypatch.setenv("NO_COLOR", "1")
