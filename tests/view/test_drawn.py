"""What small figures and charts draw, and what they say of rows that they leave out."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from rageval_batch.analysis.catalog import open_store
from rageval_batch.analysis.compared_runs import find_compared_runs
from rageval_batch.analysis.comparison import Rules, compare
from rageval_batch.analysis.runs import find_run, ungrouped
from rageval_batch.report.html.blocks import Cards, Figure, Table, Words
from rageval_batch.report.html.comparisons import drawn_comparison
from rageval_batch.report.html.distributions import distributions_section
from rageval_batch.report.html.figures import bar, bars, line
from rageval_batch.report.html.groups import groups_section
from rageval_batch.report.html.pages import cell_class, numeric_columns
from rageval_batch.report.html.scope import scopes
from rageval_batch.report.html.texts import language, shown_sql
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


def test_what_stayed_has_a_bar_of_its_own(tmp_path: Path) -> None:
    """And small moves are not in it."""
    before = {f"q{k}": 50.0 for k in range(9)}
    moved = {"q0": 50.001, "q1": 49.999, "q2": 100.0, "q3": 51.0}
    publish(tmp_path, {"base": simple_run(**before), "cand": simple_run(**{**before, **moved})})
    with open_store(tmp_path, functions=False) as session:
        compared = find_compared_runs(session, "base", ["cand"])
        (result,) = compare(session, compared, Rules(), answers=False, keep_pairs=True)
        _, _, deltas, _ = drawn_comparison(session, result, "c")
    assert isinstance(deltas, Figure)
    bars = re.findall(r'<rect class="(\w+)" x="([\d.]+)" .*?width="([\d.]+)" .*?data-t="(.*?)"', deltas.drawing)
    assert [(kind, told) for kind, *_, told in bars] == [
        ("regression", "−5.00 to 0.0000: 1 question"), ("tie", "0.0000: 5 questions"),
        ("improvement", "0.0000 to 5.00: 2 questions"), ("improvement", "45.00 to 50.00: 1 question"),
    ]  # fmt: skip
    ends = [(float(x), float(x) + float(width)) for _, x, width, _ in bars]
    assert all(behind[0] >= before[1] - 0.5 for before, behind in pairwise(ends)), "none hides another"
    assert deltas.told == "3 rose, 1 fell, 5 stayed: the narrow bar at zero"


def test_strips_draw_what_the_mean_counts(tmp_path: Path) -> None:
    """An answer that is missing counts as 0 and stands there."""
    rows = [score_row("a", 80.0), score_row("b", None, fail_reason="missing_output")]
    publish(tmp_path, {"run": rows})
    with open_store(tmp_path, functions=False) as session:
        (scope,) = scopes(session, [find_run(session, "run")])
        words, cards, _ = distributions_section(session, scope, "d").blocks
    assert isinstance(cards, Cards) and isinstance(words, Words) and "where the mean counts them" in words.text
    (strip,) = next(card.strips for card in cards.cards if card.metric == "score")
    assert (strip.mean, strip.n) == (40.0, 2)
    assert len(re.findall("M[0-9.]+ 20v-19h", strip.drawing)) == 2, "two bars of one answer each"
    assert "n = 2, 1 of them without a value of their own" in strip.drawing


def test_a_line_is_square_on_a_phone_and_broad_on_a_screen() -> None:
    drawn = line([(0.0, 1.0), (1.0, 2.0)], "x", "y", told="y by x")
    assert re.findall('class="plot (.*?)" viewBox="0 0 (.*?)"', drawn) == [
        ("lines", "320 320"),
        ("lines broad", "640 320"),
    ]


def test_a_column_is_set_to_the_right_where_all_of_it_is_numbers() -> None:
    rows: list[dict[str, Any]] = [
        {"value": 0.5, "mixed": 0.5, "none": None},
        {"value": None, "mixed": "Latin", "none": None},
    ]
    numeric = numeric_columns(rows[0], rows)
    assert numeric == {"value"}
    assert [cell_class(row["value"], "?", True) for row in rows] == ["num", "num"]
    assert [cell_class(row["mixed"], "?", False) for row in rows] == ["short", "short"], "texts and numbers in one line"


def test_a_text_with_codes_may_break() -> None:
    assert cell_class("evil\u202e\u2066", "evil\u202e\u2066", False) == "text"


def test_bars_are_rows_of_names_bars_and_values() -> None:
    drawn = bars([("a", 2.0), ("<b>" * 30, -1.0)], "how many")
    assert drawn.count("<tr>") == 2 and "<b>" not in drawn and "&lt;b&gt;" in drawn and 'aria-label="how many"' in drawn
    assert re.findall('class="num">(.*?)<', bars([("a", -1.0), ("b", -0.25)], "?")) == ["−1", "−0.2500"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", None), ("plain English, naïve café", None), ("中文", "zh"), ("預授權金額", "zh-Hant"),
        ("预授权金额", "zh-Hans"), ("午後です", "ja"),
        ("カナ", "ja"), ("한국어", "ko"), ("Ответ", "ru"),
        ("الإجابة العربية", "ar"), ("תעודה", "he"), ("Ελληνικά", "el"),
        ('{"main_topic": "入住與退房"}', "zh-Hant"), ("A long English sentence that quotes 門禁 once.", None),
    ],
)  # fmt: skip
def test_the_language_of_a_text_is_that_of_its_letters(text: str, found: str | None) -> None:
    assert language(text) == found


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
