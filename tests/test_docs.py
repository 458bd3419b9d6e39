"""Pages that are written from declarations are what the declarations say; the site has them all and stands alone."""

import re
import runpy
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from support.browser import needs_browser, opened_browser, opened_page
from support.places import ROOT

DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` builds it: a link to a page, anchor or image that is not there fails it."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(DOCS, folder / "docs", ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    shutil.copy(ROOT / "zensical.toml", folder)
    tool = Path(sys.executable).with_name("zensical")
    done = subprocess.run([tool, "build", "--strict"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "site"


def test_the_pages_of_profiles_commands_and_views_are_current() -> None:
    """`make docs` writes them."""
    pages = runpy.run_path(str(DOCS / "write_pages.py"))["pages"]()
    assert pages
    assert [
        path.name for path, content in pages.items() if not path.exists() or path.read_text(encoding="utf-8") != content
    ] == []


def test_every_page_has_its_place_in_the_site() -> None:
    settings = (ROOT / "zensical.toml").read_text(encoding="utf-8")
    placed = re.findall(r'"([^"]+\.md)"', settings)
    assert sorted(placed) == sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_what_pages_of_the_checkout_link_to_is_there(name: str) -> None:
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", (ROOT / name).read_text(encoding="utf-8"))
    assert links
    assert [link for link in links if "://" not in link and not (ROOT / link).exists()] == []


def test_every_promise_names_a_test_that_is_there() -> None:
    """Of docs/guarantees.md: files of tests, or a target of the makefile; and where it says soak, a longer version."""
    page = (DOCS / "guarantees.md").read_text(encoding="utf-8").split("## Promised")[1].split("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")][1:]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert len(rows) > 30
    for promise, tests in rows:
        files = [ROOT / "tests" / name for name in re.findall(r"`([\w/]+\.py)`", tests)]
        targets = re.findall(r"`make ([\w-]+)`", tests)
        assert files or targets, promise
        assert [file for file in files if not file.exists()] == [], promise
        assert [target for target in targets if f"\n{target}:" not in makefile] == [], promise
        if "*soak*" in tests:
            texts = [file.read_text(encoding="utf-8") for file in files]
            assert any("mark.soak" in text or "hypothesis" in text for text in texts), promise


def test_the_site_names_nothing_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 60
    loaded = r'<(?:script|link|img|iframe)\b[^>]*(?:src|href)="(?:https?:)?//[^"]+"'
    assert {found for page in pages for found in re.findall(loaded, page.read_text(encoding="utf-8"))} == set()
    styles = "".join(sheet.read_text(encoding="utf-8") for sheet in site.rglob("*.css"))
    assert not re.search(r"(?:url|@import)[( \"']+(?:https?:)?//", styles)


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a folder on this machine."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.mark.browser
@needs_browser
def test_no_request_leaves_the_site(site: Path) -> None:
    with served(site) as home, opened_browser() as browser, opened_page(browser) as (page, heard):
        for path in ("", "architecture/", "performance/", "views/leaderboard/"):
            page.goto(home + path, wait_until="networkidle")
            assert page.locator("h1").count() == 1
        assert len(heard.requests) > 4
        assert [url for url in heard.requests if not url.startswith((home, "data:", "blob:"))] == []
