"""Which profiles the registry knows while a test runs."""

from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

import pytest

from rageval_batch.profiles import registry


@contextmanager
def profiles_forgotten() -> Iterator[None]:
    """Profiles that are loaded from elsewhere meanwhile are forgotten at the end."""
    tables: list[MutableMapping[str, Any]] = [
        registry.PROFILES,
        registry._REFERENCES,
        registry._STORED,
        registry._KEPT,
    ]
    before = [dict(table) for table in tables]
    try:
        yield
    finally:
        for table, content in zip(tables, before, strict=True):
            table.clear()
            table.update(content)


def forget_profiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make this process know only the profiles of the package, as a fresh one does, until the test ends."""
    packaged = {name: one for name, one in registry.PROFILES.items() if registry.profile_reference(one) is None}
    for name in ("_REFERENCES", "_STORED", "_KEPT"):
        monkeypatch.setattr(registry, name, {})
    monkeypatch.setattr(registry, "PROFILES", packaged)
