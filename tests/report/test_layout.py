"""Tables on screens of every width: headers and ids are whole, and what is left out is said."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_batch.report.cells import width
from rageval_batch.report.layout import pair_lines, prose, table, table_lines
from rageval_batch.report.screen import PLAIN, Screen, delta_tone, verdict_tone

ROWS = [
    {
        "run_id": f"a-run-with-a-rather-long-name-{k}",
        "score": k / 3,
        "eval_set": "questions@0123456789ab",
        "note": "text " * 30,
    }
    for k in range(3)
]
COLUMNS = ("run_id", "score", "eval_set", "note")


@given(
    st.integers(20, 200),
    st.lists(st.text(max_size=60), min_size=1, max_size=4),
    st.lists(st.sampled_from(["score", "note", "a_header_that_is_rather_long_by_itself"]), unique=True),
)
def test_no_header_and_no_id_is_ever_cut(columns: int, names: list[str], others: list[str]) -> None:
    """Whatever the width: the id of every row and every header is there in full, or named as left out."""
    from rageval_batch.report.safe_text import terminal_text

    rows = [{"run_id": name, **{other: f"{other} " * 20 for other in others}} for name in names]
    shown = table(rows, ("run_id", *others), Screen(columns), optional=("note",))
    for name in names:
        assert terminal_text(name) in shown
    for header in ("run_id", *others):
        assert header in shown


def test_long_texts_are_cut_first() -> None:
    lines = table(ROWS, COLUMNS, Screen(110)).split("\n")
    assert all(width(line) <= 110 for line in lines)
    assert lines[0].split() == list(COLUMNS)
    assert "…" in lines[1] and "questions@0123456789ab" in lines[1]


def test_columns_without_room_are_named() -> None:
    lines = table(ROWS, COLUMNS, Screen(70), optional=("note", "eval_set")).split("\n")
    assert lines[0].split() == ["run_id", "score", "eval_set"]
    assert lines[-1] == "Not shown for want of room: note. A wider screen or -o FILE shows all."
    assert all(width(line) <= 70 for line in lines)


def test_a_row_that_does_not_fit_stands_by_itself() -> None:
    lines = table(ROWS, COLUMNS, Screen(40)).split("\n")
    assert lines[0].split() == ["run_id", "a-run-with-a-rather-long-name-0"]
    assert len(lines) == 3 * 4 + 2


def test_a_pipe_gets_everything() -> None:
    shown = table(ROWS, COLUMNS, PLAIN)
    assert repr(1 / 3) in shown and "text " * 29 in shown and "…" not in shown
    long = [{"run_id": "r", "raw": "x" * 100_000, "n": 1}, {"run_id": "s", "raw": "y", "n": 2}]
    assert len(table(long, ("run_id", "raw", "n"), PLAIN)) < 101_000


def test_a_long_table_is_not_held() -> None:
    """The widths come from the first rows; the others are written as they come."""
    rows: Any = ({"n": k} for k in range(3_000))
    lines = table_lines(rows, ("n",))
    assert next(lines) == "  n" and next(lines) == "  0"
    assert list(lines)[-1] == "2999"


def test_colours_only_where_there_are_any() -> None:
    rows = [{"status": "passed", "delta": 0.5}, {"status": "failed", "delta": -0.5}]
    tones = {"status": verdict_tone, "delta": delta_tone}
    plain = table(rows, ("status", "delta"), Screen(80), tones=tones)
    coloured = table(rows, ("status", "delta"), Screen(80, colour=True), tones=tones)
    assert "\x1b" not in plain
    assert "\x1b[32mpassed\x1b[0m" in coloured and "\x1b[31m-0.5000\x1b[0m" in coloured
    assert coloured.replace("\x1b[32m", "").replace("\x1b[31m", "").replace("\x1b[0m", "") == plain


@pytest.mark.parametrize("screen", [PLAIN, Screen(60)])
def test_pairs(screen: Screen) -> None:
    lines = list(pair_lines({"run_id": "r" * 90, "text": "t" * 90, "n": 1}, screen))
    assert lines[0].endswith("r" * 90)
    assert ("…" in lines[1]) == (screen is not PLAIN)


def test_columns_that_say_nothing_alone_go_together() -> None:
    rows = [{"run_id": "r" * 30, "low": 0.25, "high": 0.75, "n": 3}]
    lines = table(rows, list(rows[0]), Screen(44), optional=(("low", "high"),)).splitlines()
    assert lines[0].split() == ["run_id", "n"]
    assert lines[-2:] == ["Not shown for want of room: low, high. A", "wider screen or -o FILE shows all."]


def test_names_of_gates_and_comments_go_on_below() -> None:
    gates = ", ".join(f"gate_{k} 0.{k}000" for k in range(6))
    rows = [{"run_id": "a", "failed": gates, "n": 1}, {"run_id": "b", "failed": "", "n": 2}]
    lines = list(table_lines(rows, list(rows[0]), Screen(40)))
    assert max(map(width, lines)) <= 40 and "…" not in "".join(lines)
    assert ", ".join(line[8:36].strip().rstrip(",") for line in lines[1:-1]) == gates
    assert lines[1].endswith(" 1") and lines[-1].endswith(" 2") and lines[2].startswith(" " * 8)


def test_a_name_of_spaces_can_be_seen() -> None:
    assert table([{"run_id": " "}], ["run_id"]).splitlines()[1] == '" "'


@pytest.mark.parametrize("columns", [20, 30, 40, 61])
def test_prose_ends_its_lines_between_words(columns: int) -> None:
    text = "Fails on a worse score and on any regression; allow some with --max-regressions. 三十天内退还。"
    lines = prose(text, Screen(columns)).split("\n")
    assert " ".join(lines) == text and len(lines) > 1
    assert all(width(line) <= columns for line in lines)
    assert prose(text, PLAIN) == text


def test_pairs_fit_a_narrow_screen() -> None:
    values = {"questions_sha256": "7f0c7da74b4b2e189060afd0", "signature": "profile:eval_json_v2/2|params:default"}
    lines = list(pair_lines(values, Screen(30)))
    assert all(width(line) <= 30 for line in lines)
    assert "".join(line[18:] for line in lines) == "".join(values.values())


def test_short_texts_of_pairs_are_not_cut() -> None:
    """Nothing would say what is missing; a long text ends in its mark."""
    values = {"eval_set": "questions@0123456789ab", "stat": "weighted mean", "note": "text " * 30}
    lines = list(pair_lines(values, Screen(20)))
    assert all(width(line) <= 20 for line in lines)
    assert "".join(line[10:] for line in lines[:-1]) == values["eval_set"] + values["stat"]
    assert lines[-1].startswith("note") and lines[-1].endswith("…")
