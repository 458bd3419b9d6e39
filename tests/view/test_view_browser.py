"""The viewer in a real browser: from the address that it prints to a single answer, with eyes, keys and a phone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from rageval_batch.view import waiting
from support.browser import (
    beyond_the_paper,
    nameless,
    needs_browser,
    opened_browser,
    opened_page,
    scrolls_sideways,
    serious_violations,
)
from support.pages import hostile_store, samples_store
from support.viewing import Client, viewing

pytestmark = [pytest.mark.browser, needs_browser]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with opened_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder: Path = tmp_path_factory.mktemp("view")
    samples_store(folder)
    with viewing(hostile_store(folder)) as client:
        yield client


def test_a_walk_from_the_runs_to_an_answer(
    browser: Browser, client: Client, keep_screenshot: Callable[[Page, str], None]
) -> None:
    home = f"http://{client.host}/"
    with opened_page(browser) as (page, heard):
        page.set_default_timeout(60_000)
        page.goto(f"{home}?token={client.token}")
        assert page.url == home
        page.get_by_label("Profile").select_option("eval_json_v2")
        page.get_by_role("button", name="Filter").click()
        page.get_by_label("Pick adapter-good").check()
        page.get_by_label("Pick adapter-weak").check()
        page.get_by_role("button", name="Compare the two picked runs").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("adapter-")
        page.goto(f"{home}run?run=adapter-weak&q=tc-03")
        page.get_by_role("link", name="tc-03").click()
        expect(page.locator("mark.pair0").first).to_have_text("入住與退房")
        page.locator(".brand bdi").evaluate("name => { name.textContent = 'runs' }")  # not the folder of this test
        keep_screenshot(page, "viewer")
        page.get_by_role("link", name="The same question in all runs").click()
        expect(page.locator("tbody tr")).to_have_count(4)
        page.goto(f"{home}sql")
        page.get_by_role("textbox").fill("select run_id, score from leaderboard")
        page.keyboard.press("Control+Enter")
        page.get_by_role("button", name="run id").click()
        expect(page.locator("th[aria-sort=ascending]")).to_have_count(1)
        assert heard.messages == []
        assert all(url.startswith(home) for url in heard.requests)


def test_hostile_answers_run_nothing(browser: Browser, client: Client) -> None:
    home = f"http://{client.host}/"
    with opened_page(browser) as (page, heard):
        page.set_default_timeout(60_000)
        page.goto(f"{home}?token={client.token}")
        page.get_by_role("link", name="drop table runs").click()
        page.wait_for_selector("a[href^='/answer']")
        links = page.locator("a[href^='/answer']").evaluate_all("all => all.map(a => a.href)")
        assert len(links) >= 10
        for link in (
            *links[:13],
            f"{home}sql?q=" + "select+'<script>window.attacked=9</script>'+as+\"<img src=x onerror=alert(1)>\"",
        ):
            page.goto(link)
            page.wait_for_selector("h2")  # a page that still reads the input has none
            assert page.evaluate("window.attacked") is None
            assert page.locator("main script, main img, main style").count() == 0
        assert heard.messages == [] and all(url.startswith(home) for url in heard.requests)


def test_pages_fit_a_phone_and_axe_finds_nothing_serious(browser: Browser, client: Client) -> None:
    home = f"http://{client.host}"
    pages = (
        "/",
        "/run?run=adapter-weak",
        "/run?run=%27;%20drop%20table%20runs;%20--",
        "/answer?run=adapter-weak&question=tc-03",
        "/sql?q=from+leaderboard&x=run_id&y=score",
        "/sql?q=select+repeat('adapter/',6)+as+name,+1.5+as+score&x=name&y=score",
    )
    with opened_page(browser, width=360, bypass_csp=True, color_scheme="dark") as (page, _):
        page.set_default_timeout(60_000)
        page.goto(f"{home}/?token={client.token}")
        for path in pages:
            page.goto(home + path)
            page.wait_for_selector("table")  # a page that still reads the input has none
            assert not scrolls_sideways(page), path
            assert nameless(page) == [], path
            texts = page.locator("table.bars :is(th, .num)").evaluate_all(
                "all => all.map(one => one.getBoundingClientRect().height)"
            )
            assert bool(texts) == ("&y=" in path) and all(text > 8 for text in texts), "names of bars can be read"
            assert serious_violations(page) == [], path


def test_long_texts_do_not_make_high_rows_of_wide_tables(browser: Browser, client: Client) -> None:
    home = f"http://{client.host}"
    with opened_page(browser) as (page, _):
        page.set_default_timeout(60_000)
        page.goto(f"{home}/?token={client.token}")
        page.goto(f"{home}/sql?q=from+runs+where+run_id+like+'adapter-%25'")
        rows = page.locator("table.data tbody tr")
        rows.first.wait_for()
        assert max(rows.evaluate_all("all => all.map(row => row.getBoundingClientRect().height)")) < 55, "two lines"


def test_no_page_is_cut_on_paper(browser: Browser, client: Client) -> None:
    """Tables of many columns, as a view of all metrics, become paragraphs that name each value."""
    home = f"http://{client.host}"
    with opened_page(browser) as (page, _):
        page.set_default_timeout(60_000)
        page.goto(f"{home}/?token={client.token}")
        for path in (
            "/", "/gates", "/run?run=adapter-weak", "/compare?base=adapter-good&cand=adapter-weak",
            "/answer?run=adapter-weak&question=tc-03", "/sql?q=from+leaderboard&x=run_id&y=score",
            "/sql?q=from+eval_json_v2", "/sql?q=from+runs",
        ):  # fmt: skip
            page.goto(home + path)
            page.wait_for_selector("table")
            assert beyond_the_paper(page) == [], path
        page.emulate_media(media="print")
        named = page.locator("tbody tr").first.evaluate(
            "row => getComputedStyle(row.cells[1], '::before').content + row.cells[1].textContent"
        )
        assert named.startswith('"profile: "')


def test_a_page_that_was_waited_for_begins_at_its_top(
    browser: Browser, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "WAIT", 0.0)
    home = f"http://{client.host}/"
    with opened_page(browser) as (page, _):
        page.set_default_timeout(60_000)
        page.goto(f"{home}?token={client.token}")
        page.goto(f"{home}answer?run=adapter-weak&question=tc-03")
        expect(page.get_by_role("heading", level=1)).to_have_text("Still being made")
        monkeypatch.undo()
        page.wait_for_selector("h2")
        assert page.evaluate("scrollY") == 0
        page.go_back()
        expect(page.get_by_role("heading", level=1)).to_contain_text("runs")
