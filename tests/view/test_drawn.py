"""What small figures and charts draw, and what they say of rows that they leave out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rageval_batch.analysis.catalog import open_store
from rageval_batch.analysis.runs import find_run, ungrouped
from rageval_batch.report.html.blocks import Table
from rageval_batch.report.html.figures import bar
from rageval_batch.report.html.groups import groups_section
from rageval_batch.report.html.scope import scopes
from rageval_batch.report.html.texts import shown_sql
from rageval_batch.view.paging import View
from rageval_batch.view.queries import result_page
from support.stores import publish, score_row, simple_run


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("store")
    publish(folder, {"a": simple_run(x=1.0)})
    return folder


def test_a_chart_says_what_it_leaves_out_and_stays_on_the_next_page(store: Path) -> None:
    query = (
        "select case when k = 1 then null else 'n' || k end as x, case when k = 2 then null else k end as y\n"
        "from range(60) r(k)"
    )
    with open_store(store) as session:
        first, second = (result_page(session, query, View("/sql", number=page), x="x", y="y") for page in (1, 2))
    assert first.chart is not None and first.chart == second.chart
    assert first.drawn == second.drawn == "n = 59 rows. Left out: 1 row without a number in y."
    assert ">null<" in first.chart and "None" not in first.chart
    assert [row["x"] for row in second.table.rows] == [f"n{k}" for k in range(50, 60)]


def test_bars_of_negative_values_go_to_the_left_of_zero() -> None:
    drawn = bar(-0.25, 1.0, "-0.25 of 1", least=-0.25)
    assert re.search(r'<rect width="20" ', drawn), "from the least value, at the left edge, to zero"
    assert re.search(r'<rect x="20" width="80" ', bar(1.0, 1.0, "1 of 1", least=-0.25))
    assert re.search(r'<rect width="50" ', bar(0.5, 1.0, "0.5 of 1"))


def test_questions_in_no_group_are_counted(tmp_path: Path) -> None:
    groups = ("10", "2", "-3", None, "10", None)
    rows = [score_row(f"q{k}", float(k), question_type=group, tags=["t", "u"]) for k, group in enumerate(groups)]
    publish(tmp_path, {"run": rows, "bidi\u202eevil": rows}, profile="legal_rag", with_summary=True)
    with open_store(tmp_path, functions=False) as session:
        run = find_run(session, "run")
        assert ungrouped(session, run.key) == {"question_type": 2}
        (scope,) = scopes(session, [find_run(session, name) for name in ("run", "bidi\u202eevil")])
        section = groups_section(session, scope, "g")
        table = next(
            block for block in section.blocks if isinstance(block, Table) and block.title.endswith("question_type")
        )
        assert [row["value"] for row in table.rows] == ["10", "-3", "2"], "by n, then as numbers"
        assert table.note is not None and table.note.endswith("2 questions have no question_type and are not here.")
        again = session.sql(shown_sql(table.sql))
        assert again.column_names == list(table.columns) and "\u202e" not in "".join(table.columns)
        assert again.to_pylist() == list(table.rows)
        assert "bidi\u202eevil" in table.labels.values()
