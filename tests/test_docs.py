"""Pages that are written from declarations are what the declarations say."""

import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

from support.places import ROOT


def test_the_pages_of_profiles_commands_and_views_are_current() -> None:
    """`make docs` writes them."""
    pages = runpy.run_path(str(ROOT / "docs" / "write_pages.py"))["pages"]()
    assert pages
    assert [
        path.name for path, content in pages.items() if not path.exists() or path.read_text(encoding="utf-8") != content
    ] == []


def test_the_site_builds_without_warnings_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "docs", tmp_path / "docs", ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    shutil.copy(ROOT / "zensical.toml", tmp_path)
    tool = Path(sys.executable).with_name("zensical")
    done = subprocess.run([tool, "build", "--strict"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 60
    loaded = r'<(?:script|link|img|iframe)\b[^>]*(?:src|href)="(?:https?:)?//[^"]+"'
    assert {found for page in pages for found in re.findall(loaded, page.read_text(encoding="utf-8"))} == set()
    styles = "".join(sheet.read_text(encoding="utf-8") for sheet in (tmp_path / "site").rglob("*.css"))
    assert not re.search(r"(?:url|@import)[( \"']+(?:https?:)?//", styles)
