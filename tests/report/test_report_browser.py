"""The report in a real browser: opened from a file, without a network, by people with and without sight."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from rageval_batch.analysis.catalog import open_store
from rageval_batch.report.html.report import build_report, report_html
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
from support.stores import publish, simple_run

pytestmark = [pytest.mark.browser, needs_browser]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with opened_browser() as browser:
        yield browser


def written(folder: Path, store: Path, *runs: str) -> str:
    with open_store(store, functions=False) as session:
        html = report_html(build_report(session, runs, None))
    target = folder / f"report-{len(runs)}.html"
    target.write_text(html, encoding="utf-8")
    return target.as_uri()


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return samples_store(tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="module")
def report(samples: Path) -> str:
    return written(samples.parent, samples)


@pytest.fixture(scope="module")
def small(samples: Path) -> str:
    return written(samples.parent, samples, "baseline", "regressed")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("hostile")
    return written(folder, hostile_store(folder))


def test_it_opens_offline_sorts_filters_links_and_copies(
    browser: Browser, report: str, keep_screenshot: Callable[[Page, str], None]
) -> None:
    with opened_page(browser, offline=True, permissions=["clipboard-read", "clipboard-write"]) as (page, heard):
        page.goto(report)
        keep_screenshot(page, "report")
        board = page.locator("#eval_json_v2-leaderboard-table")
        names = board.locator("tbody tr td:nth-child(2)")
        assert names.all_inner_texts()[0] == "adapter-good"
        board.get_by_role("button", name="score").click()  # numbers start with the largest
        assert names.all_inner_texts()[0] == "adapter-good"
        board.get_by_role("button", name="score").click()
        assert names.all_inner_texts()[0] == "adapter-weak"
        expect(board.locator("th[aria-sort=ascending]")).to_have_count(1)

        hardest = page.locator("#include_rate-hardest-table")
        hardest.locator("input[data-filter]").fill("R16")
        expect(hardest.locator("tbody tr:visible")).to_have_count(1)

        board.get_by_role("button", name="Copy as CSV").click()
        expect(board.get_by_role("button", name="Copied")).to_be_visible()
        lines = page.evaluate("navigator.clipboard.readText()").splitlines()
        assert lines[0] == "rank,run_id,n,score,stat,low,high"
        assert lines[1].startswith("4,adapter-weak,32,57.7") and len(lines[1].split(",")[3]) > 8  # unrounded

        page.get_by_role("navigation").get_by_role("link", name="Rejects").click()
        assert page.url.endswith("#rejects")
        expect(page.locator("#rejects h2")).to_be_in_viewport()
        for target in page.locator("a[href^='#']").evaluate_all("links => links.map(a => a.hash.slice(1))"):
            assert page.locator(f"[id='{target}']").count() == 1
        assert (heard.messages, heard.requests) == ([], [report])


def test_axe_finds_nothing_serious(browser: Browser, small: str) -> None:
    with opened_page(browser, color_scheme="light", bypass_csp=True) as (page, _):
        page.goto(small)
        page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
        assert nameless(page) == []
        assert serious_violations(page) == []
        page.emulate_media(color_scheme="dark")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 26)"
        assert serious_violations(page, "color-contrast") == []


def test_landmarks_of_several_profiles_have_names_of_their_own(browser: Browser, report: str) -> None:
    with opened_page(browser, bypass_csp=True) as (page, _):
        page.goto(report)
        boards = page.get_by_role("region", name="Leaderboard")
        assert boards.count() == 2, "one of each profile"
        assert serious_violations(page, "landmark-unique") == []


def test_a_button_turns_the_colours(browser: Browser, report: str) -> None:
    with opened_page(browser, color_scheme="light") as (page, _):
        page.goto(report)
        page.get_by_role("button", name="Light or dark").press("Enter")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 26)"


# How far what was seen has moved by itself: the sum that browsers call cumulative layout shift.
_SHIFTED = """new Promise(done => {
    let sum = 0;
    new PerformanceObserver(list => { for (const one of list.getEntries()) sum += one.value; })
        .observe({type: "layout-shift", buffered: true});
    setTimeout(() => done(sum), 100);
})"""


def test_paper_is_light_whatever_the_screen_is(browser: Browser, small: str) -> None:
    colours = "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
    with opened_page(browser, color_scheme="dark") as (page, _):
        page.goto(small)
        dark = page.evaluate(colours)
        page.emulate_media(media="print")
        assert page.evaluate(colours) == ["rgb(28, 32, 36)", "rgb(255, 255, 255)"] != dark
        page.emulate_media(media="screen", color_scheme="light")
        page.click("[data-theme-button]")
        assert page.evaluate(colours) == dark
        page.emulate_media(media="print")
        assert page.evaluate(colours) == ["rgb(28, 32, 36)", "rgb(255, 255, 255)"]


def test_long_names_of_runs_do_not_scroll_sideways(browser: Browser, tmp_path: Path) -> None:
    publish(tmp_path / "runs", {name * 300: simple_run(a=50.0, b=ord(name)) for name in "xy"})
    address = written(tmp_path, tmp_path / "runs")
    for width in (360, 1280):
        with opened_page(browser, width=width) as (page, _):
            page.goto(address)
            page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
            assert not scrolls_sideways(page), width


def test_large_numbers_stay_in_their_cards(browser: Browser, tmp_path: Path) -> None:
    publish(tmp_path / "runs", {name: simple_run(a=-1234567.89, b=low) for name, low in (("x", -9e8), ("y", -8e8))})
    address = written(tmp_path, tmp_path / "runs")
    with opened_page(browser, width=360) as (page, _):
        page.goto(address)
        cut = page.locator(":is(.card, .tile) :is(th, td)").evaluate_all(
            "all => all.filter(one => one.scrollWidth > one.clientWidth).map(one => one.textContent)"
        )
        assert cut == [] and not scrolls_sideways(page)


def test_a_phone_does_not_scroll_sideways(browser: Browser, report: str, hostile: str) -> None:
    with opened_page(browser, width=360) as (page, _):
        for address in (report, hostile):
            page.goto(address)
            assert page.evaluate(_SHIFTED) < 0.1, "nothing jumps while it loads"
            page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
            assert not scrolls_sideways(page)


# How far the cells of a column, by its heading or that of figures, reach beyond what is seen of the table.
_BEYOND = """(block, name) => {
    const shown = block.querySelector(".scroll"), right = cell => cell.getBoundingClientRect().right;
    const rows = [...shown.querySelectorAll("tr")].map(row => [...row.cells]);
    const at = rows[0].findIndex(cell => name ? cell.textContent.trim() === name : cell.matches(".plotted"));
    return Math.max(...rows.map(cells => right(cells[at]))) - right(shown);
}"""


def test_a_phone_shows_scores_intervals_and_n_without_scrolling(browser: Browser, report: str) -> None:
    with opened_page(browser, width=360) as (page, _):
        page.goto(report)
        for table, *columns in (
            ("eval_json_v2-leaderboard-table", "n", "score", ""),
            ("eval_json_v2-comparison-table", "n", "delta", "paired"),
            ("eval_json_v2-hardest-table", "n runs", "mean", ""),
            ("eval_json_v2-fail-reasons-table", "n", "share"),
            ("eval_json_v2-confusions-table", "n", ""),
            ("eval_json_v2-groups-0", "n"),
            ("gates-all", "n", "status"),
        ):
            block = page.locator(f"#{table}")
            assert [name for name in columns if block.evaluate(_BEYOND, name) > 0] == [], table
        page.locator("details.behind").evaluate_all("all => all.forEach(one => { one.open = true })")
        summary = page.locator("#include_rate-distributions-table")
        assert [name for name in ("mean", "n") if summary.evaluate(_BEYOND, name) > 0] == []


def test_texts_that_a_phone_does_not_show_do_not_make_its_rows_high(browser: Browser, report: str) -> None:
    with opened_page(browser, width=360) as (page, _):
        page.goto(report)
        rows = page.locator("#eval_json_v2-hardest-table tbody tr")
        heights = rows.evaluate_all("all => all.map(one => one.getBoundingClientRect().height)")
        assert len(heights) > 5 and max(heights) < 1.5 * min(heights)


def test_tables_of_many_columns_and_long_names_fit_a_desktop(browser: Browser, tmp_path: Path) -> None:
    names = ("adapter-2026-11-18-large-context", "baseline/main@4da2eaa", "prompt v2 · reranked by a cross-encoder")
    publish(tmp_path / "runs", {name: simple_run(a=50.0, b=float(k)) for k, name in enumerate(names)})
    with opened_page(browser) as (page, _):
        page.goto(written(tmp_path, tmp_path / "runs"))
        wide = page.locator("table.data:visible").evaluate_all(
            "all => all.filter(one => one.offsetWidth > one.parentElement.clientWidth).map(one => one.ariaLabel)"
        )
        assert wide == []


def test_hostile_answers_run_nothing(browser: Browser, hostile: str) -> None:
    with opened_page(browser) as (page, heard):
        page.goto(hostile)
        for place in page.locator("td bdi, .answer").all()[:60]:
            place.dispatch_event("mouseover")
        assert page.evaluate("window.attacked") is None
        assert (heard.messages, heard.requests) == ([], [hostile])
        assert page.locator("script").count() == 2 and page.locator("main img, main style").count() == 0
        expect(page.locator("#include_rate-movers").get_by_text("<script>window.attacked = 1").first).to_be_visible()
        expect(page.locator("#include_rate-movers").get_by_text("中文答案").first).to_be_visible()
        arabic = page.locator(".answer", has_text="الإجابة").evaluate_all(
            "all => all.map(e => getComputedStyle(e).direction)"
        )
        assert sorted(arabic) == [
            "ltr",
            "rtl",
        ]  # the one that begins with Arabic, and the one that begins with Latin letters


def test_no_table_is_cut_on_paper(browser: Browser, report: str, hostile: str) -> None:
    with opened_page(browser) as (page, _):
        for address in (report, hostile):
            page.goto(address)
            page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
            assert beyond_the_paper(page) == []


def test_it_prints_without_tools(browser: Browser, report: str) -> None:
    with opened_page(browser) as (page, _):
        page.goto(report)
        page.emulate_media(media="print")
        assert not page.locator("nav").is_visible()
        assert page.get_by_role("button", name="Copy as CSV").first.is_hidden()
