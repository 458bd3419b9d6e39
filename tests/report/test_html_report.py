"""The report: every section, the SQL that makes each table again, texts as they are, and no more than it may weigh."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path
from random import Random
from typing import Any

import pytest

from rageval_batch.analysis import all_candidates
from rageval_batch.analysis.catalog import open_store
from rageval_batch.analysis.compared_runs import find_compared_runs
from rageval_batch.analysis.comparison import Rules, compare
from rageval_batch.cli import main
from rageval_batch.errors import StoreError
from rageval_batch.report.html import report as report_module
from rageval_batch.report.html.blocks import Answers, Cards, Section, Table, Tiles, Words
from rageval_batch.report.html.pages import format_value
from rageval_batch.report.html.report import MOST_BYTES, Report, build_report, report_html
from rageval_batch.report.html.texts import shown_name, shown_text
from rageval_batch.report.html.words import comparison_verdict, comparison_words
from support.pages import hostile_store, samples_store, score
from support.places import SAMPLES_FOLDER
from support.stores import publish, score_row, simple_run

SECTIONS = ("glance", "compared", "gates", "rejects")
OF_PROFILE = (
    "leaderboard", "distributions", "comparison", "fail-reasons", "confusions", "groups", "hardest", "movers"
)  # fmt: skip


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return samples_store(tmp_path_factory.mktemp("samples"))


@pytest.fixture(scope="module")
def made(samples: Path) -> Report:
    with open_store(samples, functions=False) as session:
        return build_report(session, [], None)


def sections(report: Report) -> Iterator[Section]:
    for chapter in report.chapters:
        yield from chapter.sections


def tables(report: Report) -> list[Table]:
    return [block for part in sections(report) for block in part.blocks if isinstance(block, Table)]


def test_every_section_is_there(made: Report) -> None:
    found = {part.id for part in sections(made)}
    wanted = {*SECTIONS, *(f"{profile}-{name}" for profile in ("include_rate", "eval_json_v2") for name in OF_PROFILE)}
    assert found == wanted
    html = report_html(made)
    assert all(f'id="{name}"' in html for name in wanted)


def test_the_first_section_has_the_best_run_of_every_profile(made: Report) -> None:
    (block,) = next(part for part in sections(made) if part.id == "glance").blocks
    assert isinstance(block, Tiles)
    first, second = sorted(block.tiles, key=lambda tile: tile.title)
    assert (first.title, first.best.run, first.verdict) == ("eval_json_v2", "adapter-good", "failed")
    assert [one.run for one in first.standings] == ["adapter-good", "adapter-gaps", "adapter-format", "adapter-weak"]
    assert first.facts == ("mean of n = 32 questions, 95 % interval 94.75 to 97.64", "Gates: 0 of 4 runs pass.")
    assert (second.best.run, second.verdict) == ("better", None), "a profile without gates has no verdict"


def test_runs_are_grouped_by_fields_of_the_questions(tmp_path: Path) -> None:
    """Where the profile names no groups: by values that questions share, not by what tells them apart."""
    topics = ("refunds", 'the "desk"', "refunds", 'the "desk"')
    questions = [
        {"id": f"q{k}", "question": f"What is {k}?", "must_include": ["yes"], "topic": topic, "weight": 1 + k % 2}
        for k, topic in enumerate(topics)
    ]
    outputs = [{"run_id": "r", "question_id": f"q{k}", "output": "yes" if k != 1 else "no"} for k in range(4)]
    for name, rows in (("questions", questions), ("outputs", outputs)):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    score(
        "score", tmp_path / "outputs.jsonl", "-p", "include_rate", "-q", tmp_path / "questions.jsonl",
        "--store", tmp_path / "runs",
    )  # fmt: skip
    with open_store(tmp_path / "runs", functions=False) as session:
        made = build_report(session, [], None)
        table, weights = next(part for part in sections(made) if part.id == "include_rate-groups").blocks
        assert isinstance(weights, Table) and weights.title == "Plain mean score by weight"
        assert [(row["value"], row["n"]) for row in weights.rows] == [("1", 2), ("2", 2)]
        assert isinstance(table, Table) and table.title == "Plain mean score by topic"
        assert table.rows == [{"value": "refunds", "n": 2, "r": 1.0}, {"value": 'the "desk"', "n": 2, "r": 0.65}]
        assert session.sql(table.sql).to_pylist() == table.rows


def test_fields_that_runs_are_not_grouped_by_are_named(tmp_path: Path) -> None:
    """Beyond the first, and those of too many values; a question file that is gone is said instead."""
    fields = ("zone", "alpha", "beta", "topic", "gamma")
    questions = [
        {"id": f"q{k}", "question": f"What is {k}?", "must_include": ["yes"], "level": k % 3, "open": k % 2 == 0,
         "author": f"a{k % 61}", **dict.fromkeys(fields, f"v{k % 4}")}
        for k in range(130)
    ]  # fmt: skip
    for name, rows in (("q", questions), ("r", [{"id": question["id"], "output": "yes"} for question in questions])):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    score("score", tmp_path / "r.jsonl", "-p", "include_rate", "-q", tmp_path / "q.jsonl", "--store", tmp_path / "runs")
    said = {}
    for state in ("there", "gone"):
        with open_store(tmp_path / "runs", functions=False) as session:
            blocks = next(
                part for part in sections(build_report(session, [], None)) if part.id == "include_rate-groups"
            ).blocks
            said[state] = " ".join(block.text for block in blocks if isinstance(block, Words))
            titles = [block.title.rpartition(" ")[2] for block in blocks if isinstance(block, Table)]
            assert titles == (["topic", "level", "alpha", "beta"] if state == "there" else [])
            if state == "there":
                assert session.sql("from " + said[state].partition(": from ")[2].partition(" Not")[0]).num_rows == 4
        (tmp_path / "q.jsonl").unlink(missing_ok=True)
    assert "3 more fields, not shown here: gamma, zone, open." in said["there"]
    assert "more than 60 values or fewer than two questions a value: author (61 values)." in said["there"]
    assert "q.jsonl is gone" in said["gone"] and "no field" not in said["gone"]


def test_what_numbers_of_judgements_count_is_said_without_contradiction(tmp_path: Path) -> None:
    """Listed judgements, those that a micro average is over, and all that were given are three numbers."""
    folder = SAMPLES_FOLDER / "judge_protocol"
    score(
        "score", folder / "judgements.jsonl", "-p", "judge_protocol", "-q", folder / "samples.jsonl",
        "-c", folder / "targets.jsonl", "--store", tmp_path,
    )  # fmt: skip
    with open_store(tmp_path, functions=False) as session:
        found = {table.id: table for table in tables(build_report(session, [], None))}
        (given,) = session.rows("select count(*) as n from judge_protocol")
    (run,), reasons = found["runs"].rows, found["judge_protocol-fail-reasons-table"]
    note = found["runs"].note or ""
    assert "the eval set lists. Of judge_protocol: judgements. Where nothing else is said, every one" in note
    assert f"score over 27 of {run['n']} judgements" in note and "Every one of them counts" not in note
    assert {round(row["n"] / row["share"]) for row in reasons.rows} == {given["n"]} and given["n"] > run["n"]
    assert "every one that was given" in (reasons.note or "") and "more than the n judgements" in (reasons.note or "")


def rounded(value: Any) -> Any:
    return round(value, 9) if isinstance(value, float) else value


def test_the_sql_beside_a_table_makes_it(samples: Path, made: Report) -> None:
    """In a fresh session, as `rageval sql` has it: the same rows in the same order, and as many."""
    assert len(tables(made)) > 15
    with open_store(samples, functions=False) as session:
        for table in tables(made):
            again = session.sql(table.sql)
            shared = [name for name in table.columns if name in again.column_names]
            assert shared and again.num_rows == table.total, table.id
            rows = [{name: rounded(row[name]) for name in shared} for row in table.rows]
            want = [{name: rounded(row[name]) for name in shared} for row in again.slice(0, len(rows)).to_pylist()]
            assert rows == want, table.id


def test_the_sql_of_a_comparison_is_of_its_own_eval_set(tmp_path: Path) -> None:
    """Two runs with two eval sets in common: each chapter's query gives the chapter's table."""
    for number, scores in (("1", (70.0, 20.0)), ("2", (20.0, 70.0))):
        runs = {name: simple_run(a=value, b=50.0) for name, value in zip(("base", "cand"), scores, strict=True)}
        publish(tmp_path, runs, questions_sha256=number * 64, eval_set=f"set{number}@{number}")
    with open_store(tmp_path, functions=False) as session:
        made = build_report(session, [], "base")
        found = [table for table in tables(made) if "-comparison" in table.id]
        assert [round(table.rows[0]["delta"], 3) for table in found] == [-25.0, -50.0, 25.0, 50.0]
        for table in found:
            again = session.sql(table.sql).to_pylist()
            shared = [name for name in table.columns if name in again[0]]
            assert again == [{name: row[name] for name in shared} for row in table.rows], table.id


def test_every_table_has_a_number_of_cases(made: Report) -> None:
    """Numbers carry n; lists of single questions, gates' columns and provenance are not statistics."""
    for table in tables(made):
        single = "provenance" in table.id or table.id.endswith("-questions") or table.id == "rejects-rows"
        assert single or "n" in table.columns, table.id


def test_figures_stand_behind_the_number_that_they_draw(made: Report) -> None:
    html = report_html(made)
    for name, number in (("leaderboard", "score"), ("comparison", "paired_delta"), ("hardest", "mean")):
        (table,) = (one for one in tables(made) if one.id == f"eval_json_v2-{name}-table")
        places = [place for place, _ in table.places]
        (title,) = table.plots
        assert places.index(title) == places.index(number) + 1
        body = html.split(f'id="{table.id}"')[1].split("</table>")[0]
        headings = re.findall(r"<th [^>]*>([^<]*)</th>", body)
        assert headings.index(title) == headings.index(table.label(number)) + 1
        cells = body.split("<tbody>")[1].split("</tr>")[0].split("<td")[1:]
        assert "<svg" in cells[headings.index(title)] and len(cells) == len(headings)


def test_a_word_for_a_status_is_one_in_its_column_only(made: Report) -> None:
    """A metric of legal_rag is called "passed"."""
    table = Table("t", "T", ("metric", "status"), rows=[{"metric": "passed", "status": "failed"}], sql="select 1")
    chapter = replace(made.chapters[0], sections=(Section("s", "S", (table,)),))
    html = report_html(replace(made, chapters=(chapter, replace(chapter, sections=()))))
    assert "<bdi>passed</bdi>" in html and re.findall(r'class="status (\w+)"', html) == ["failed"]


def test_gates_show_limits_as_given_and_no_failing_value_as_its_limit(tmp_path: Path) -> None:
    rows = [score_row(f"q{k}", 94.99999) for k in range(4)]
    publish(tmp_path / "runs", {"near": rows})
    with open_store(tmp_path / "runs", functions=False) as session:
        html = report_html(build_report(session, [], None))
    gates = html.split('id="gates-all"')[1].split("</table>")[0]
    assert ">94.99999</td>" in gates and ">95</td>" in gates


def test_who_is_not_drawn_question_by_question_is_said(tmp_path: Path) -> None:
    publish(tmp_path / "runs", {f"run {k}": simple_run(a=float(k), b=50.0 + k) for k in range(7)})
    with open_store(tmp_path / "runs", functions=False) as session:
        report = build_report(session, [], None)
    said = "Question by question: the best 4 of n = 6 candidates."
    for part in sections(report):
        words = [block.text for block in part.blocks if isinstance(block, Words)]
        assert (said in words) == part.id.endswith(("-comparison", "-movers")), part.id


def test_fail_reasons_of_all_runs_stand_before_those_of_each(made: Report) -> None:
    (part,) = (one for one in sections(made) if one.id == "eval_json_v2-fail-reasons")
    together, by_run = (block for block in part.blocks if isinstance(block, Table))
    counts: dict[str, int] = {}
    for row in by_run.rows:
        counts[row["fail_reason"]] = counts.get(row["fail_reason"], 0) + row["n"]
    assert {row["fail_reason"]: row["n"] for row in together.rows} == counts and len(counts) > 3
    assert [row["n"] for row in together.rows] == sorted(counts.values(), reverse=True)


def test_movers_have_both_answers_with_differences(made: Report) -> None:
    movers = next(part for part in sections(made) if part.id == "include_rate-movers")
    first = next(block for block in movers.blocks if isinstance(block, Answers))
    moved = next(one for one in first.moved if one.question == "r19")
    assert moved.before is not None and moved.after is not None
    assert any(piece.changed for piece in moved.before) and any(not piece.changed for piece in moved.after)


LONG_ANSWERS = {
    "words": "A sentence that both of them have. ",
    "han": "兩個答案都有的一句話，一字不差。",
    "arabic": "جملة مشتركة بين الإجابتين كلتيهما. ",
    "marks": "un e\u0301te\u0301 pareil ",
    "emoji": "👩\u200d👧 👍🏽 🇩🇪",
}


@pytest.fixture(scope="module")
def long_answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs whose answers of 100,000 characters differ at their very ends alone, and one as JSON of equal value."""
    folder = tmp_path_factory.mktemp("long")
    questions = [{"id": name, "question": name, "must_include": ["yes"]} for name in (*LONG_ANSWERS, "json")]
    (folder / "questions.jsonl").write_text("\n".join(map(json.dumps, questions)), encoding="utf-8")
    endings = {"base": " no", "cand": " yes"}
    for run, ending in endings.items():
        rows = [{"question_id": n, "output": (t * 20_000)[:100_000] + ending} for n, t in LONG_ANSWERS.items()]
        rows.append({"question_id": "json", "output": '{"a":"\\u0079es"}' if run == "base" else '{"a": "yes"}'})
        (folder / f"{run}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    score(
        "score", *(folder / f"{run}.jsonl" for run in endings), "-p", "include_rate",
        "-q", folder / "questions.jsonl", "--store", folder / "runs",
    )  # fmt: skip
    return folder / "runs"


def test_a_difference_at_the_end_of_long_answers_is_what_is_shown(long_answers: Path) -> None:
    with open_store(long_answers, functions=False) as session:
        report = build_report(session, ["base", "cand"], None)
    html = report_html(report)
    assert len(html.encode()) < MOST_BYTES // 10
    (block,) = next(part for part in sections(report) if part.id == "include_rate-movers").blocks
    assert isinstance(block, Answers)
    moved = {one.question: one for one in block.moved}
    for name in LONG_ANSWERS:
        before, after = moved[name].sides(1_500)
        assert before is not None and after is not None
        assert [piece.text for piece in before if piece.changed] == ["no"], name
        assert [piece.text for piece in after if piece.changed] == ["yes"], name
        assert before[0].left_out == after[0].left_out > 98_000
        assert f"… {before[0].left_out:,} characters …" in html
    assert html.count("<del>no</del>") == len(LONG_ANSWERS) and html.count("<ins>yes</ins>") >= len(LONG_ANSWERS)
    assert not moved["json"].is_same, "laid out both are one text, so they are shown as they were given"


def test_a_smaller_report_still_shows_what_differs(long_answers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_store(long_answers, functions=False) as session:
        report = build_report(session, ["base", "cand"], None)
    monkeypatch.setattr(report_module, "MOST_BYTES", 60_000)
    html = report_html(report)
    assert html.count("<del>no</del>") == len(LONG_ANSWERS) and html.count("<ins>yes</ins>") >= len(LONG_ANSWERS)
    assert "A sentence that both of them have. " * 9 not in html


def test_a_comparison_is_said_in_words(samples: Path) -> None:
    with open_store(samples, functions=False) as session:
        report = build_report(session, ["baseline", "regressed"], None)
    part = next(part for part in sections(report) if part.id == "include_rate-comparison")
    said = " ".join(block.text for block in part.blocks if isinstance(block, Words))
    assert "The base is baseline." in said
    assert "regressed is 0.3326 worse than baseline by weighted mean of score (0.8407 to 0.5081)" in said
    assert "Of n = 21 shared questions, 3 rose, 13 fell and 5 stayed." in said
    assert "The interval lies below zero and the test is under 5 %: the loss is more than chance." in said


@pytest.mark.parametrize(
    ("low", "high", "p", "said", "sign"),
    [
        (0.1, 0.3, 0.01, "lies above zero and the test is under 5 %: the gain is more than chance.", "passed"),
        (-0.3, -0.1, 0.01, "lies below zero and the test is under 5 %: the loss is more than chance.", "failed"),
        (0.1, 0.3, 0.109, "lies above zero, but the test is not under 5 %: weak evidence of a gain.", None),
        (-0.3, -0.1, 0.109, "lies below zero, but the test is not under 5 %: weak evidence of a loss.", None),
        (-0.1, 0.3, 0.01, "includes zero, but the test is under 5 %: weak evidence of a difference.", None),
        (-0.1, 0.3, 0.5, "includes zero and the test is not under 5 %: chance alone can explain the difference.", None),
    ],
)
def test_interval_and_test_are_said_in_one_sentence(
    tmp_path: Path, low: float, high: float, p: float, said: str, sign: str | None
) -> None:
    publish(tmp_path, {"base": simple_run(a=50.0, b=70.0), "cand": simple_run(a=60.0, b=90.0)})
    with open_store(tmp_path, functions=False) as session:
        (result,) = compare(session, find_compared_runs(session, "base", ["cand"]), Rules())
    told = replace(result, interval=replace(result.interval, low=low, high=high), p_value=p, p_holm=p)
    words = comparison_words(told)
    assert words.endswith(f"The interval {said}") and words.count("chance") <= 1
    assert comparison_verdict(told) == sign


def noise(folder: Path, runs: int) -> Path:
    """Runs that differ by chance alone, on a few questions."""
    random = Random(5)
    scores = {f"n{k:02}": {f"q{q:02}": 100 * random.random() for q in range(20)} for k in range(runs)}
    publish(folder, {name: simple_run(**values) for name, values in scores.items()})
    return folder


@pytest.mark.parametrize("most", [None, 0])
def test_p_values_are_corrected_for_candidates_that_are_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int | None
) -> None:
    """The digits are those of a comparison of all; where there are too many for that, an upper bound that is named."""
    if most is not None:
        monkeypatch.setattr(all_candidates, "MOST_UNITS", most)
    with open_store(noise(tmp_path, 40), functions=False) as session:
        every = compare(session, find_compared_runs(session, "n07", [], every=True), Rules())
        want = {result.candidate.name: result for result in every}
        part = next(part for part in sections(build_report(session, [], "n07")) if part.id == "eval_json_v2-comparison")
    table = next(block for block in part.blocks if isinstance(block, Table))
    said = next(block.text for block in part.blocks if isinstance(block, Words))
    assert len(table.rows) == 24 and "of n = 39 candidates are here" in said
    assert [row["p"] for row in table.rows] == [want[row["candidate"]].p_value for row in table.rows]
    pairs = [(row["p_holm"], want[row["candidate"]].p_holm) for row in table.rows]
    if most is None:
        assert all(got == exact for got, exact in pairs) and "p (Holm) is corrected for all of them." in said
    else:
        assert all(got >= exact for got, exact in pairs) and "it is an upper bound." in said
        assert min(row["p_holm"] for row in table.rows) == min(1.0, 39 * min(row["p"] for row in table.rows))


def test_the_verdict_is_that_of_the_corrected_p_value(tmp_path: Path) -> None:
    publish(tmp_path, {"base": simple_run(a=50.0, b=70.0), "cand": simple_run(a=60.0, b=90.0)})
    with open_store(tmp_path, functions=False) as session:
        (result,) = compare(session, find_compared_runs(session, "base", ["cand"]), Rules())
    told = replace(result, interval=replace(result.interval, low=0.1, high=0.3), p_value=0.0412, p_holm=0.989, tests=24)
    words = comparison_words(told)
    assert "(p = 0.0412; 0.989 when corrected for 24 candidates)" in words
    assert "the test, corrected for 24 candidates, is not under 5 %" in words and "weak evidence of a gain" in words
    assert "more than chance" not in words and comparison_verdict(told) is None
    least = replace(told, p_value=1 / 10_001, p_holm=0.0999, tests=999)
    assert (
        "lies above zero; the test, corrected for 999 candidates, is not under 5 % and cannot be, as p is at "
        "least 1 in 10,001 before it is corrected: the interval alone speaks for a gain."
    ) in comparison_words(least)
    bound = replace(told, holm_is_bound=True)
    assert "(p = 0.0412; at most 0.989 when corrected for 24 candidates)" in comparison_words(bound)


def two_sets(folder: Path) -> Path:
    """Two runs with answers, repeats and a topic that not all questions have, on two eval sets."""
    for number in ("1", "2"):
        questions = [
            {"id": f"q{k}", "question": f"{k} of {number}?", "must_include": ["yes"],
             **({"topic": "ab"[k % 2]} if k < 4 else {})}
            for k in range(5)
        ]  # fmt: skip
        outputs = [
            {"run_id": run, "question_id": f"q{k}", "repeat": repeat, "output": "yes" if (k + repeat) % 2 else "no"}
            for run in ("base", "cand") for k in range(4) for repeat in range(2 if run == "cand" else 1)
        ]  # fmt: skip
        for name, rows in ((f"set{number}", questions), (f"out{number}", outputs)):
            (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        score("score", folder / f"out{number}.jsonl", "-p", "include_rate", "-q", folder / f"set{number}.jsonl",
              "--store", folder / "runs")  # fmt: skip
    return folder / "runs"


def test_what_numbers_are_of_is_said(tmp_path: Path) -> None:
    with open_store(two_sets(tmp_path), functions=False) as session:
        made = build_report(session, [], "base")
        means = {
            row["metric"]: row
            for row in session.rows(
                "select metric, n_scored, n_counted, n_total from run_summary where run_id = 'base'"
            )
        }
    assert made.title == "4 results of 2 runs by include_rate"
    html = report_html(made)
    contents = html.split("</nav>")[0]
    assert re.findall(r"set\d@\w+", contents) == [chapter.subtitle for chapter in made.chapters if chapter.title]

    summary = next(table for table in tables(made) if table.title == "Summary of every metric")
    row = next(row for row in summary.rows if (row["run_id"], row["metric"]) == ("base", "include_rate"))
    assert means["include_rate"]["n_counted"] == 5, "a missing answer counts as 0"
    assert (row["n"], row["n_scored"], row["mean"]) == (5, 4, pytest.approx(0.4))
    strips = next(
        card for part in sections(made) for block in part.blocks if isinstance(block, Cards)
        for card in block.cards if card.metric == "include_rate"
    ).strips  # fmt: skip
    assert {strip.n for strip in strips} == {5}

    by_topic = next(table for table in tables(made) if table.title == "Plain mean score by topic")
    assert by_topic.note is not None and by_topic.note.endswith(" 1 question has no topic and is not here.")

    moved = next(block for part in sections(made) for block in part.blocks if isinstance(block, Answers)).moved
    assert {one.base_note for one in moved} == {None}
    said = {one.cand_note for one in moved}
    assert said <= {f"Mean of 2 repeats; the answer of repeat 0 ({value}) is shown." for value in ("1.0000", "0.3000")}
    assert said and all(str(note) in html for note in said)


def test_ids_are_copied_whole_and_queries_name_them(tmp_path: Path) -> None:
    """Characters that are shown by their code stand as they are in what is copied."""
    bidi, long, quote = "\u202erun\x1b'\x85s", "r" * 700, "plain 'one'"
    publish(tmp_path, {name: simple_run(a=50.0, b=value) for value, name in enumerate((bidi, long, quote))})
    with open_store(tmp_path, functions=False) as session:
        made = build_report(session, [bidi, long, quote], bidi)
        html = report_html(made)
        shown = [
            unescape(re.sub("<[^>]+>", "", text)) for text in re.findall(r"<pre[^>]*><code>(.*?)</code>", html, re.S)
        ]
        assert len(shown) == len(tables(made))
        for table, text in zip(tables(made), shown, strict=True):
            assert text.isascii() and "U+" not in text.replace('"U+', ""), table.id
            assert session.sql(text).num_rows == table.total, table.id
    assert "\u202e" not in html and "\x1b" not in html
    values = set(re.findall(r'data-v="([^"]*)"', html))
    assert long in values and "&#8238;run&#27;&#39;\x85s" in values
    assert quote.replace("'", "&#39;") not in values, "what is shown as it is needs no copy"


def test_a_base_is_found_and_an_unknown_run_is_said(samples: Path) -> None:
    with open_store(samples, functions=False) as session:
        report = build_report(session, ["better"], "baseline")
        assert {row["run_id"] for row in tables(report)[0].rows} == {"baseline", "better"}
        with pytest.raises(StoreError, match="Did you mean 'better'"):
            build_report(session, ["bettre"], None)


def test_the_command_writes_a_file(samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "r.html"
    with pytest.raises(SystemExit) as left:
        main(["report", "better", "--base", "baseline", "--store", str(samples), "-o", str(target)])
    assert left.value.code == 0
    assert str(target) in capsys.readouterr().err
    html = target.read_text(encoding="utf-8")
    assert html.startswith("<!doctype html>")
    assert not re.findall(r"<[^>]+ (?:src|href)=\"(?!#)", html), "nothing outside of the file is named"
    assert " style=" not in html and not re.search(r"<[a-z][^>]* on[a-z]+=", html)


def test_hostile_texts_are_texts(tmp_path: Path) -> None:
    with open_store(hostile_store(tmp_path), functions=False) as session:
        html = report_html(build_report(session, [], None))
    assert len(html.encode()) < MOST_BYTES
    assert html.count("<script>") == 2 and html.count("</script>") == 2 and html.count("<style>") == 1
    assert "<img" not in html and "<b>bold" not in html
    assert "&lt;script&gt;window.attacked" in html
    assert "\u202e" not in html and '<span class="code">U+202E</span>' in html
    assert "{{ 7 * 7 }}" in html
    assert "x" * 2_000 not in html


def test_a_report_never_weighs_more(tmp_path: Path) -> None:
    """Long names, many runs, many questions: what does not fit is cut."""
    runs = {
        f"run {k} {'r' * 3_000}": [
            score_row(f"question {q} {'q' * 3_000}", (k * q) % 101 * 1.0, fail_reason=f"reason {q} {'f' * 500}")
            for q in range(60)
        ]
        for k in range(30)
    }
    publish(tmp_path / "runs", runs)
    with open_store(tmp_path / "runs", functions=False) as session:
        html = report_html(build_report(session, [], None))
    assert len(html.encode()) <= MOST_BYTES
    assert "The first" in html


def test_a_smaller_limit_is_kept_too(made: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = len(report_html(made).encode())
    monkeypatch.setattr(report_module, "MOST_BYTES", whole // 3)
    assert len(report_html(made).encode()) <= whole // 3


def test_unseen_characters_are_shown_by_their_code() -> None:
    assert str(shown_text("a\u202eb\x00<\ud800")) == (
        'a<span class="code">U+202E</span>b<span class="code">U+0000</span>&lt;<span class="code">U+D800</span>'
    )
    assert str(shown_text("क्\u200dष\n\t字 ё")) == "क्\u200dष\n\t字 ё"


def test_long_names_may_be_broken_behind_underscores() -> None:
    assert str(shown_name("token_precision(output, reference)")) == "token_precision(output, reference)"
    assert str(shown_name("legal_rag · gap+evidence_set+fact_exact<")) == (
        "legal_rag · gap+evidence_<wbr>set+fact_<wbr>exact&lt;"
    )


def test_thousands_of_counts_are_set_apart_and_years_are_not() -> None:
    for name in ("n", "n_scored", "n runs", "base_n", "answered"):
        assert format_value(name, 1000, 50) == "1,000"
    assert format_value("year", 2026, 50) == "2026"


def test_the_statistic_of_scores_is_named(made: Report, samples: Path) -> None:
    """As on the terminal: what the score is stands beside it, and plain means beside another statistic say so."""
    stats = {"include_rate": "weighted mean", "eval_json_v2": "mean"}
    boards = {table.id.removesuffix("-leaderboard-table"): table for table in tables(made) if "stat" in table.columns}
    assert {name: {row["stat"] for row in board.rows} for name, board in boards.items()} == {
        name: {stat} for name, stat in stats.items()
    }
    assert all(", stat," in board.sql for board in boards.values())
    (tiles,) = next(part for part in sections(made) if part.id == "glance").blocks
    assert isinstance(tiles, Tiles)
    assert all(tile.facts[0].startswith(f"{stats[tile.title]} of n = ") for tile in tiles.tiles)
    for profile, stat in stats.items():
        words = next(
            block.text for part in sections(made) if part.id == f"{profile}-distributions" for block in part.blocks
            if isinstance(block, Words)
        )  # fmt: skip
        cards = next(
            block.cards for part in sections(made) if part.id == f"{profile}-distributions" for block in part.blocks
            if isinstance(block, Cards)
        )  # fmt: skip
        assert (f"another number, the {stat}." in words) == (stat != "mean")
        assert all(card.better.endswith("; plain means") == (stat != "mean") for card in cards)


def test_named_runs_are_taken_from_the_eval_set_that_they_share(tmp_path: Path) -> None:
    """As `compare` takes them, though one of them has a newer result elsewhere; where they share none, that is said."""
    store = tmp_path / "runs"
    old, new = (dict[str, Any](questions_sha256=k * 64, eval_set=f"q{k}@{k}") for k in "12")
    publish(store, {"base": simple_run(a=1.0, b=1.0), "worse": simple_run(a=0.0, b=1.0)}, **old)
    publish(store, {"base": simple_run(c=1.0), "alone": simple_run(c=0.0)}, **new)
    for names, base in ((["base", "worse"], None), (["worse"], "base"), (["worse", "base"], "base")):
        with open_store(store, functions=False) as session:
            made = build_report(session, names, base)
            compared = find_compared_runs(session, "base", ["worse"])
        shown = [chapter.subtitle for chapter in made.chapters if chapter.title]
        assert shown == [compared.base.eval_set] == ["q1@1"]
        assert "Nothing to compare" not in report_html(made) and "The base is base." in report_html(made)
    with open_store(store, functions=False) as session:
        apart = report_html(build_report(session, ["worse", "alone"], None))
    assert "worse has no result with this eval set: the runs share none. --eval-set picks one" in apart
