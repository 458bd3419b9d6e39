"""Pages of lists: every row once, whatever they are sorted by, and every row can be looked at."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from rageval_batch.analysis.catalog import open_store
from rageval_batch.analysis.session import Session
from rageval_batch.report.html.blocks import Table
from rageval_batch.view.contents import Content, gates_content, run_content, set_content
from rageval_batch.view.paging import View, paged_lister
from support.pages import score
from support.places import SAMPLES_FOLDER
from support.stores import publish, simple_run
from support.viewing import viewing

RUN = "spring-judging"


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of judges: several rows of a question, two of them alike in all their keys."""
    folder, store = SAMPLES_FOLDER / "judge_protocol", tmp_path_factory.mktemp("judged") / "runs"
    score(
        "score", folder / "judgements.jsonl", "-p", "judge_protocol", "-q", folder / "samples.jsonl",
        "-c", folder / "targets.jsonl", "--store", store,
    )  # fmt: skip
    return store


def of_run(session: Session, view: View) -> Content:
    return run_content(session, RUN, "judge_protocol", eval_set=None, reason=None, text=None, view=view)


def table_of(content: Content) -> Table:
    return next(block for block in content.sections[0].blocks if isinstance(block, Table))


@pytest.mark.parametrize("down", [False, True])
def test_pages_have_every_row_once(judged: Path, down: bool) -> None:
    with open_store(judged, functions=False) as session:
        first = of_run(session, View("/run"))
        table = table_of(first)
        assert table.total is not None and table.total > 50
        every = Counter(str(sorted(row.items())) for row in session.sql(table.sql).to_pylist())
        for sort in (None, *table.columns):
            seen: Counter[str] = Counter()
            for number in range(1, -(-table.total // 50) + 1):
                page = of_run(session, View("/run", {}, sort, down=down, number=number))
                seen.update(str(sorted(row.items())) for row in table_of(page).rows)
            assert seen == every, sort
        shown = session.sql(table.sql).to_pylist()
        assert [{name: row[name] for name in table.columns} for row in table.rows] == shown[:50]


def test_long_tables_of_shared_sections_have_pages(tmp_path: Path) -> None:
    """Leaderboard and gates of many runs: every run once, in the order asked for, and the SQL that makes the list."""
    runs = {f"r{k:03}": simple_run(a=float(k % 7), b=float(k)) for k in range(70)}
    publish(tmp_path, runs, with_summary=True)
    with open_store(tmp_path, functions=False) as session:
        profile, eval_set = session.rows("select profile, eval_set from runs limit 1")[0].values()

        def page(name: str, **state: object) -> Table:
            listed = paged_lister(lambda id: View("/set", {}, prefix=f"{id}.", **state))  # type: ignore[arg-type]
            if name == "gates":
                content = gates_content(session, listed)
            else:
                content = set_content(session, profile, eval_set, name=name, base=None, listed=listed)
            return next(block for block in content.sections[0].blocks if isinstance(block, Table))

        for name in ("leaderboard", "gates"):
            for sort, down in ((None, False), ("run_id", True)):
                first, second = (page(name, sort=sort, down=down, number=number) for number in (1, 2))
                seen = [row["run_id"] for row in (*first.rows, *second.rows)]
                assert len(first.rows) == 50 and sorted(seen) == sorted(runs), name
                assert sort is None or seen == sorted(runs, reverse=True)
                assert [row["run_id"] for row in session.sql(first.sql).to_pylist()] == seen
                assert any(f"{first.id}.page=2" in link for _, link in first.pages)
                assert first.plots == {} or all(len(plot) == 50 for plot in first.plots.values())
        ends = page("leaderboard").rows[0]
        assert ends["low"] is not None, "the runs of a page have their intervals"
        assert "low" not in page("leaderboard").sorts, "the others do not"


def test_links_of_a_list_keep_what_it_shows(judged: Path) -> None:
    """Sorting keeps the filter, the next page keeps both."""
    with viewing(judged) as client:
        page = client.get("/run", run=RUN, sort="judge_model", down="1", q="Q")
    following = next(one for one in re.findall(r'href="([^"]+)">Next<', page))
    state = parse_qs(urlsplit(following.replace("&amp;", "&")).query)
    assert (state["sort"], state["down"], state["q"], state["page"]) == (["judge_model"], ["1"], ["Q"], ["2"])
