"""Pages that are written from declarations are what the declarations say."""

import runpy

from support.places import ROOT


def test_the_pages_of_the_profiles_are_current() -> None:
    """`make docs` writes them."""
    pages = runpy.run_path(str(ROOT / "docs" / "write_profiles.py"))["pages"]()
    assert pages
    assert [path.name for path, content in pages.items() if path.read_text(encoding="utf-8") != content] == []
