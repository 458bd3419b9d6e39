"""Which profiles the registry knows while a test runs."""

from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

from rageval_batch.profiles import registry


@contextmanager
def profiles_forgotten() -> Iterator[None]:
    """Profiles that are loaded from elsewhere meanwhile are forgotten at the end."""
    tables: list[MutableMapping[str, Any]] = [registry.PROFILES, registry._REFERENCES, registry._STORED]
    before = [dict(table) for table in tables]
    try:
        yield
    finally:
        for table, content in zip(tables, before, strict=True):
            table.clear()
            table.update(content)
