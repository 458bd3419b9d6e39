"""A real browser for tests, and a page that nobody but us may hear from."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Dialog, Page, sync_playwright

CHROMIUM = next((found for name in ("chromium", "chromium-browser") if (found := shutil.which(name))), None)
needs_browser = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium here: apt-get install chromium fonts-noto-cjk, then pages are tested too"
)
SERIOUS = ("serious", "critical")


@contextmanager
def opened_browser() -> Iterator[Browser]:
    """Chromium without a window."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@dataclass
class Heard:
    """What a page said and asked for."""

    messages: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@contextmanager
def opened_page(browser: Browser, width: int = 1280, **options: Any) -> Iterator[tuple[Page, Heard]]:
    """An empty page, and what is heard from it."""
    context = browser.new_context(viewport={"width": width, "height": 900}, **options)
    heard = Heard()
    page = context.new_page()
    page.on("console", lambda message: heard.messages.append(message.text))
    page.on("pageerror", lambda error: heard.messages.append(str(error)))

    def dismiss(dialog: Dialog) -> None:
        heard.messages.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", dismiss)
    page.on("request", lambda request: heard.requests.append(request.url))
    yield page, heard
    context.close()


PAPER = 688  # pixels between the margins of an A4 page


def beyond_the_paper(page: Page) -> list[str]:
    """Cells and figures of the page that would be cut at the right of an A4 page, as they are printed."""
    page.emulate_media(media="print")
    page.set_viewport_size({"width": PAPER, "height": 980})
    found: list[str] = page.evaluate(
        """paper => [...document.querySelectorAll("th, td, figure, svg, .answer, .tile, pre")]
            .filter(one => one.getClientRects().length && one.getBoundingClientRect().right > paper + 0.5)
            .map(one => `${one.closest("[id]")?.id}: ${one.textContent.trim().slice(0, 40)}`)""",
        PAPER,
    )
    page.emulate_media(media="screen")
    return found


def serious_violations(page: Page, *rules: str) -> list[str]:
    """What axe-core finds that keeps people from using the page; by these rules, whatever they find.

    Rows like those before them are taken off first: every element costs time, and they would say the same again.
    """
    page.evaluate("document.querySelectorAll('tbody tr:nth-child(n+5), .moved ~ .moved').forEach(e => e.remove())")
    found = Axe().run(page, options={"runOnly": list(rules)} if rules else None).response["violations"]
    return [
        f"{one['id']}: {node['html'][:150]} {node['failureSummary'][:200]}"
        for one in found if rules or one["impact"] in SERIOUS
        for node in one["nodes"][:2]
    ]  # fmt: skip


_NAMED = frozenset(
    ("button", "link", "textbox", "searchbox", "checkbox", "combobox", "image", "table", "region", "figure")
)


def nameless(page: Page) -> list[str]:
    """The roles of controls, figures, tables and regions that a screen reader would have no name for."""
    nodes = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
    shown = (node for node in nodes if not node["ignored"] and node["role"]["value"] in _NAMED)
    return [node["role"]["value"] for node in shown if not node.get("name", {}).get("value", "").strip()]


def scrolls_sideways(page: Page) -> bool:
    """Whether the page is wider than the screen."""
    return bool(page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"))
