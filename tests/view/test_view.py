"""The viewer over HTTP: who may ask, what is shown, what SQL may do, new commits, and how it ends."""

from __future__ import annotations

import io
import json
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlencode

import pyarrow.parquet as pq
import pytest

from rageval_batch.analysis import comparison
from rageval_batch.errors import InputError, StoreError
from rageval_batch.model import Explanation, Section
from rageval_batch.report.html import comparisons
from rageval_batch.report.html.texts import direction
from rageval_batch.report.readable import moved_words, readable, without_escapes
from rageval_batch.runs.store import Store
from rageval_batch.view import waiting
from rageval_batch.view.addresses import Links, address
from rageval_batch.view.live import LiveStore, limited_query
from rageval_batch.view.marking import marked_answer, marked_sections
from rageval_batch.view.server import ViewServer
from support.pages import samples_store, score
from support.places import SAMPLES_FOLDER
from support.stores import publish, score_row, simple_run
from support.viewing import Client, let_in, viewing


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return samples_store(tmp_path_factory.mktemp("view"))


@pytest.fixture(scope="module")
def client(store: Path) -> Iterator[Client]:
    with viewing(store) as client:
        yield client


def eval_set(client: Client, profile: str) -> str:
    query = f"select any_value(eval_set) as s from runs where profile = '{profile}'"
    return client.ask(address("/sql/result.csv", q=query))[1].split()[1]


def test_only_who_has_the_token_may_read(client: Client) -> None:
    port = client.host.split(":")[1]
    own = client.headers["Cookie"]
    for path in ("/", "/sql", "/static/script.js", "/nothing"):
        assert client.ask(path, Cookie="")[0] == 403
        assert client.ask(path, Cookie=f"rageval_{port}=wrong")[0] == 403
    assert client.ask("/?token=wrong", Cookie="")[0] == 403
    assert client.ask("/", Host="attacker.invalid")[0] == 403
    assert client.ask("/", Host=f"attacker.invalid:{port}")[0] == 403
    assert client.ask("/", Origin="http://attacker.invalid")[0] == 403
    assert client.ask("/", Origin="null")[0] == 403
    assert client.ask("/", Sec_Fetch_Site="cross-site")[0] == 403
    assert client.ask("/", Host=f"localhost:{port}", Origin=f"http://localhost:{port}")[0] == 200
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        assert client.ask("/", method)[0] == 405
    assert client.ask("/", Cookie=own)[0] == 200
    status, _, headers = client.ask(f"//attacker.invalid/?token={client.token}")
    assert status == 303 and headers["location"].startswith("/attacker.invalid")


def test_every_answer_says_what_a_page_may_do(client: Client) -> None:
    for path in ("/", "/nothing", "/static/style.css"):
        _, body, headers = client.ask(path)
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff" and headers["cache-control"] == "no-store"
        assert "<style" not in body and " style=" not in body and "<script>" not in body


def test_items_are_shown_as_they_were_written(tmp_path: Path) -> None:
    """And paired as they are compared, without white space."""
    texts = dict.fromkeys(("target_audience", "main_topic", "sub_topic", "original_evidence"), "a b")
    answer = {**texts, "predicted_questions": [], "source_map": []}
    question = {
        "id": "q",
        "question": "?",
        "expected": {"answer_example": {**answer, "detailed_description": ["one two"]}},
    }
    given = {**answer, "detailed_description": ["one  two", "中 文"]}
    (tmp_path / "q.json").write_text(json.dumps([question]), encoding="utf-8")
    row = {"run_id": "r", "question_id": "q", "output": json.dumps(given)}
    (tmp_path / "o.jsonl").write_text(json.dumps(row), encoding="utf-8")
    score("score", tmp_path / "o.jsonl", "-p", "eval_json_v2", "-q", tmp_path / "q.json", "--store", tmp_path / "runs")
    with viewing(tmp_path / "runs") as client:
        page = client.get("/answer", run="r", question="q")
    assert "<bdi>one two</bdi>" in page and "<bdi>one  two</bdi>" in page and '<bdi lang="zh">中 文</bdi>' in page
    assert "onetwo" not in page and "compared without white space" in page


def test_the_statistic_of_scores_is_named(client: Client) -> None:
    """On the pages of all runs, of a set and of a run, and in the queries beside them."""
    there = {"profile": "include_rate", "eval_set": eval_set(client, "include_rate")}
    assert "weighted mean" in client.get("/") and "l.score, l.stat, l.n" in client.get("/")
    board = client.get("/set", section="leaderboard", **there)
    assert "weighted mean" in board and "score, stat, low, high" in board
    facts = re.findall("<dt>(.*?)</dt><dd><bdi>(.*?)</bdi>", client.get("/run", run="better", **there))
    assert ("stat", "weighted mean") in facts
    assert "value as score, stat, n" in client.get("/sql")
    compared = client.get("/set", section="comparison", **there)
    assert "score: weighted mean of score; delta: of the whole runs; paired: weighted mean of the n shared" in compared
    assert "95 % interval of the weighted mean difference" in compared
    facts = re.findall("<dt>(.*?)</dt><dd><bdi>(.*?)</bdi>", client.get("/compare", base="baseline", cand="better"))
    assert {("stat", "weighted mean"), ("n shared questions", "21")} <= set(facts)


def test_counts_that_are_not_of_questions_say_of_what(tmp_path: Path) -> None:
    samples = SAMPLES_FOLDER / "judge_protocol"
    score(
        "score", samples / "judgements.jsonl", "-p", "judge_protocol", "-q", samples / "samples.jsonl",
        "-c", samples / "targets.jsonl", "--store", tmp_path,
    )  # fmt: skip
    with viewing(tmp_path) as client:
        assert "judge_protocol: n counts samples; those answered count judgements." in client.get("/")
        facts = re.findall("<dt>(.*?)</dt><dd><bdi>(.*?)</bdi>", client.get("/run", run="spring-judging"))
        assert {("n samples", "19"), ("judgements expected", "54"), ("expected judgements given", "52"),
                ("judgements read", "55")} <= set(facts)  # fmt: skip
        run = client.get("/run", run="spring-judging")
        there = {"profile": "judge_protocol", "eval_set": dict(facts)["eval set"]}
        board = client.get("/set", section="leaderboard", **there)
        assert ">n samples</th>" in board and "n: samples that the score is over." in board
        assert "the comparison pairs them sample by sample." in board
        gates = client.get("/gates")
    assert ">n judgements</th>" in run and "share: of all judgements of the run" in run
    assert ">n questions</th>" in run and ">n</th>" not in run
    assert "Of judge_protocol: judgements." in gates and ">level<" not in gates, "no column of blanks"


def test_movers_test_no_candidates_that_they_do_not_show(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """P-values of hundreds of candidates take longer than all else, and the page says nothing of them."""
    tested: list[int] = []
    monkeypatch.setattr(comparison, "p_values", lambda session, others, **_: tested.append(len(others.candidates)))
    monkeypatch.setattr(comparisons, "MOST_DRAWN", 1)
    about = {"profile": "include_rate", "eval_set": eval_set(client, "include_rate")}
    page = client.get("/set", **about, section="movers")
    assert "Question by question: the best 1 of n = 2 candidates." in page and 'class="moved"' in page
    assert tested == []


def test_runs_are_filtered_sorted_and_picked(client: Client) -> None:
    page = client.get("/", profile="eval_json_v2", sort="score", down="1")
    assert re.findall(r">(adapter-\w+)</bdi>", page) == [
        "adapter-good", "adapter-gaps", "adapter-format", "adapter-weak"
    ]  # fmt: skip
    assert "baseline" not in page and 'aria-sort="descending"' in page
    assert re.findall(r">(adapter-\w+)</bdi>", client.get("/", q="WEAK")) == ["adapter-weak"]
    assert "No run matches." in client.get("/", q="no such run")
    picks = [pick.replace("&amp;", "&") for pick in re.findall(r'name="pick" value="([^"]+)"', page)]
    status, _, headers = client.ask(f"/?{urlencode([('pick', picks[0]), ('pick', picks[1]), ('do', 'compare')])}")
    assert status == 303
    compared = client.get(headers["location"])
    assert "adapter-gaps is 17.70 worse than adapter-good by mean of score" in compared
    assert "<del>" in compared and "<ins>" in compared
    assert "Pick two runs" in client.get(f"/?{urlencode([('pick', picks[0]), ('do', 'compare')])}")
    kept = client.get(f"/?{urlencode([('pick', picks[0]), ('pick', picks[1]), ('sort', 'score')])}")
    assert len(re.findall(r'name="pick" value="[^"]+" checked', kept)) == 2, "an address restores what was picked"
    sorts = re.findall(r'<th [^>]*><a href="([^"]+)"', kept)
    assert sorts and all(one.count("pick=") == 2 for one in sorts), "sorting keeps it"
    away = client.get(f"/?{urlencode([('pick', picks[0]), ('q', 'nothing like this'), ('pick', picks[1])])}")
    assert len(re.findall(r'type="hidden" name="pick"', away)) == 2, "a filter keeps it"
    (other,) = re.findall(r'name="pick" value="([^"]+)"', client.get("/", q="regressed"))
    both = urlencode([("pick", picks[0]), ("pick", other.replace("&amp;", "&")), ("do", "compare")])
    assert "Pick two runs of one profile" in client.get(f"/?{both}")
    status, page, _ = client.ask("/compare?base=baseline&cand=adapter-good")
    assert status == 400 and "their scores cannot be compared." in page, "what a command takes helps nobody here"
    assert " -p" not in page


def test_from_a_run_to_a_question_to_an_answer(client: Client) -> None:
    run = client.get("/run", run="adapter-weak")
    link = next(one for one in re.findall(r'href="(/answer\?[^"]+)"', run) if "tc-03" in one).replace("&amp;", "&")
    answer = client.get(link)
    assert "入住時信用卡預授權要刷多少" in run and "入住時信用卡預授權要刷多少" in client.get(
        "/run", run="adapter-weak", sort="question_id"
    )
    assert '<mark class="pair0">入住與退房</mark>' in answer, "matched items are marked in the text"
    assert '<mark class="bad">財務人員</mark>' in answer
    assert answer.count('title="pair 1"') == 2, "expected and got have one colour"
    others = re.search(r'href="(/question\?[^"]+)"', answer)
    assert others is not None
    question = client.get(others[1].replace("&amp;", "&"))
    assert {"adapter-good", "adapter-gaps", "adapter-format", "adapter-weak"} <= set(
        re.findall(r"adapter-\w+", question)
    )
    assert all("入住時信用卡預授權要刷多少" in page for page in (answer, question)), "what was asked"
    assert "Answers by score" in question and "n = 4 answers with a score" in question
    failed = client.get("/run", run="adapter-format", fail_reason="code_fence")
    assert len(re.findall(r'href="/answer\?', failed)) == 2
    assert "Answers that match" in failed and "Every answer" in run


def test_the_page_of_a_run_does_not_name_it_in_every_row(client: Client) -> None:
    page = client.get("/run", run="adapter-format")
    reasons, groups, confusions = (
        page.split(f'id="run-{name}"')[1].split("<section")[0] for name in ("fail-reasons", "groups", "confusions")
    )
    assert 'data-name="fail_reason"' in reasons and 'data-name="run_id"' not in reasons
    assert 'data-name="got"' in confusions and 'data-name="runs"' not in confusions
    assert ">mean score<" in groups and "the other column is the mean score of the run. Shades go from the" in groups
    link = re.search(r'href="(/run\?[^"]+fail_reason=code_fence)"', reasons)
    assert link is not None and "Answers that match" in client.get(link[1].replace("&amp;", "&"))


@pytest.mark.parametrize(
    "section",
    ["leaderboard", "distributions", "comparison", "fail-reasons", "confusions", "groups", "hardest", "movers"],
)
def test_the_sections_of_the_report_are_pages(client: Client, section: str) -> None:
    page = client.get("/set", profile="include_rate", eval_set=eval_set(client, "include_rate"), section=section)
    assert 'aria-current="page"' in page and f'id="set-{section}"' in page
    if section in ("hardest", "movers"):
        assert "Какова текучесть кадров?" in page and 'href="/question?' in page


def test_gates_and_rejects(client: Client) -> None:
    assert "pass their gates" in client.get("/gates")
    assert "Every input row was used." in client.get("/rejects")


def test_what_is_not_there_is_said(client: Client) -> None:
    assert client.ask("/nothing")[0] == 404
    assert client.ask("/static/../app.py")[0] == 404
    for path in ("/run?run=adaptor-good", "/set?profile=x&eval_set=y", "/answer?run=adapter-weak&question=no"):
        status, body, _ = client.ask(path)
        assert status == 400 and 'class="error"' in body
    assert "Did you mean &#39;adapter-good&#39;" in client.ask("/run?run=adaptor-good")[1]


NEEDED = {
    "/set": ("profile", "eval_set"),
    "/run": ("run",),
    "/question": ("profile", "eval_set", "question"),
    "/answer": ("run", "question"),
    "/compare": ("base", "cand"),
}
OTHERS = ("sort", "down", "page", "q", "repeat", "row", "fail_reason", "section", "x", "y", "pick", "answers", "key.x")


@pytest.mark.parametrize("path", ["/", "/gates", "/rejects", "/sql", *NEEDED])
def test_no_address_is_an_error_of_ours(client: Client, path: str) -> None:
    """Whatever is missing, empty, given twice, unknown or nonsense: a page, or a sentence and 400 or 404."""
    good = {
        "profile": "include_rate", "eval_set": eval_set(client, "include_rate"), "run": "baseline", "question": "r19",
        "base": "baseline", "cand": "better",
    }  # fmt: skip
    mine = {name: good[name] for name in NEEDED.get(path, ())}
    assert client.ask(address(path, **mine))[0] == 200
    for name in mine:
        for value in (None, "", "\x01'\";"):
            status, body, _ = client.ask(address(path, **{**mine, name: value}))
            assert status == 400 and 'class="error"' in body, (name, value)
        assert client.ask(f"{address(path, **mine)}&{address('', **{name: good[name]})[1:]}")[0] == 200, name
    for name in OTHERS:
        for value in ("nonsense", "9" * 30):
            status, body, _ = client.ask(f"{address(path, **mine)}{'&' if mine else '?'}{name}={value}")
            assert status < 500 and (status < 400 or 'class="error"' in body), (name, value)


def test_sql_is_shown_drawn_and_downloaded(client: Client) -> None:
    query = "select run_id, score from leaderboard where profile = 'include_rate' order by score desc"
    page = client.get("/sql", q=query, x="run_id", y="score")
    assert re.findall(r"<bdi>(better|baseline|regressed)</bdi>", page) == ["better", "baseline", "regressed"]
    assert '<table class="bars"' in page and 'data-insert="usual_failure"' in page
    assert 'data-insert="fields"' in page and "Every answer of every current run with its score" in page
    examples = re.findall(r'<li><a href="(/sql[^"]+)"', client.get("/sql"))
    assert len(examples) > 4 and all(client.ask(one.replace("&amp;", "&"))[0] == 200 for one in examples)
    text = client.ask(address("/sql/result.csv", q=query))[1]
    assert text.splitlines()[0] == "run_id,score" and text.splitlines()[1].startswith("better,0.98")
    status, content, headers = client.bytes(address("/sql/result.parquet", q=query))
    assert status == 200 and "attachment" in headers["content-disposition"]
    assert pq.read_table(io.BytesIO(content)).column("run_id").to_pylist() == ["better", "baseline", "regressed"]
    long = client.get("/sql", q="select range as k from range(120)", page="3")
    assert "Rows 101 to 120." in long and "Previous" in long and ">Next<" not in long
    risky = client.ask(address("/sql/result.csv", q="select '=1+1' as a, 'b\nc' as b"))[1]
    assert risky == 'a,b\n\'=1+1,"b\nc"\n'


@pytest.mark.parametrize(
    "query",
    [
        "copy runs to '/tmp/stolen.csv'", "from read_text('/etc/hostname')", "from '/etc/passwd'",
        "set enable_external_access = true", "attach '/tmp/a.db'", "install httpfs", "load httpfs", "update extensions",
        "create table t as select 1", "select 1; select 2", "pragma database_list", "from glob('/*')", "",
        "select getenv('HOME')", "export database '/tmp/x'", "selec 1",
    ],
)  # fmt: skip
def test_sql_can_reach_nothing_but_the_store(client: Client, query: str) -> None:
    status, body, _ = client.ask(address("/sql/result.csv", q=query))
    assert status == 400 and 'class="error"' in body


def test_sql_cannot_write_into_the_store(client: Client, store: Path) -> None:
    before = sorted(path.name for path in store.rglob("*"))
    for query in (f"copy runs to '{store}/x.parquet'", f"from query('copy runs to ''{store}/y.parquet''')"):
        assert client.ask(address("/sql", q=query))[0] == 400
    assert sorted(path.name for path in store.rglob("*")) == before


def test_a_query_that_takes_long_is_waited_for(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "WAIT", 0.0)
    path = address("/sql", q="select sum(a.range * b.range) as hugest from range(3000) a, range(3000) b")
    status, body, _ = client.bytes(path)
    assert status == 202 and b"Still computing" in body and b'class="error"' not in body
    status, text, _ = client.ask(path)  # which asks until it is there
    assert status == 200 and "20,236,502,250,000" in text
    late = "select error(sum(a.range * b.range)::varchar) from range(3000) a, range(3000) b"
    broken = address("/sql", q=late)  # an error that comes at once may be there before it is waited for
    assert client.bytes(broken)[0] == 202
    status, text, _ = client.ask(broken)
    assert status == 400 and 'class="error"' in text


def test_views_that_are_not_known_yet_are_said_to_be_read(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "WAIT", 0.0)
    with viewing(store) as client:
        status, body, _ = client.bytes("/sql")
        assert status == 202 and b"The store is still being read." in body
        assert "The store is still being read." not in client.get("/sql")


def test_a_query_behind_another_says_so(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    client.get("/sql")
    monkeypatch.setattr(waiting, "WAIT", 0.0)
    first = address("/sql", q="select sum(a.range * b.range + 1) as s from range(20000) a, range(20000) b")
    second, refused = address("/sql", q="from runs limit 1"), address("/sql", q="drop table runs")
    assert b"Still computing" in client.bytes(first)[1]
    status, body, _ = client.bytes(second)
    assert status == 202 and b"Another query is running; this one begins when that is done" in body
    for path in (refused, address("/sql/result.csv", q="drop table runs")):
        status, body, _ = client.bytes(path)
        assert status == 400 and b"Queries only read" in body
    assert b"data-insert" in client.bytes(refused)[1]
    assert b"Still computing" in client.bytes(first)[1]  # all that was while the first query ran
    for path in (first, second):
        assert client.ask(path)[0] == 200


def test_a_page_that_takes_long_is_waited_for(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "WAIT", 0.0)
    asked = {"profile": "include_rate", "eval_set": eval_set(client, "include_rate")}
    pages = [
        (address("/set", section="comparison", **asked), "Candidates against the base"),
        (address("/set", section="movers", **asked), "Какова текучесть кадров?"),
        (address("/compare", base="baseline", cand="better", answers=1, **asked), "Answers that moved most"),
        (address("/answer", run="better", question="r19", **asked), "The same question in all runs"),
        (address("/answer", run="better", question="none", **asked), "none"),
    ]
    for path, _ in pages:
        status, body, _ = client.bytes(path)
        assert status == 202 and b"s so far" in body and b"data-reload" in body
    for path, said in pages:
        status, text, _ = client.ask(path)
        assert status == (400 if said == "none" else 200) and said in text


def test_inputs_are_read_before_the_time_of_a_query_begins(tmp_path: Path) -> None:
    """Else a query about answers that take longer to read than that would never have a result."""
    rows = [{"run_id": "r", "question_id": "a", "output": "yes"}]
    (tmp_path / "outputs.jsonl").write_text(json.dumps(rows[0]), encoding="utf-8")
    (tmp_path / "questions.jsonl").write_text('{"id": "a", "question": "?", "must_include": ["yes"]}', encoding="utf-8")
    score(
        "score", tmp_path / "outputs.jsonl", "-p", "include_rate", "-q", tmp_path / "questions.jsonl",
        "--store", tmp_path / "runs",
    )  # fmt: skip
    store = LiveStore(Store(str(tmp_path / "runs")))
    query = "select output from answers"
    with store.query_session() as session, limited_query(session, query):
        (tmp_path / "outputs.jsonl").unlink()
        assert session.sql(query).to_pylist() == [{"output": "yes"}]
    store.close()


def test_sums_are_numbers(client: Client) -> None:
    page = client.get("/sql", q="select fail_reason, sum(n) as n from fail_reasons group by 1", x="fail_reason", y="n")
    assert '<table class="bars"' in page and re.search(r'<th scope="col" class="num" data-name="n">n</th>', page)
    assert ">1,234,567<" in client.get("/sql", q="select sum(1234567) as n_rows")


def test_new_commits_show_up_on_reload(tmp_path: Path) -> None:
    publish(tmp_path / "runs", {"first": simple_run(a=50.0, b=70.0)})
    with viewing(tmp_path / "runs") as client:
        assert "first" in client.get("/") and "second" not in client.get("/")
        publish(tmp_path / "runs", {"second": simple_run(a=60.0, b=70.0)})
        assert "second" in client.get("/")
        assert "second" in client.get("/sql", q="from runs")


def test_a_store_that_was_away_shows_up_on_reload(tmp_path: Path) -> None:
    store, aside = tmp_path / "runs", tmp_path / "aside"
    publish(store, {"adapter-7": simple_run(a=50.0, b=70.0)})
    with viewing(store) as client:
        pages = ("/", "/run?run=adapter-7", address("/sql", q="select run_id from runs"))
        assert all("adapter-7" in client.get(page) for page in pages)
        store.rename(aside)
        assert all("adapter-7" not in client.ask(page)[1].split("<main", 1)[1] for page in ("/", pages[2]))
        aside.rename(store)
        assert all("adapter-7" in client.get(page) for page in pages)
        store.rename(aside)
        client.ask("/")
    # Here the viewer has ended, without an error, while the store was away.


def test_the_sql_of_two_compared_runs_is_of_their_eval_set(tmp_path: Path) -> None:
    for number, scores in (("1", (70.0, 20.0)), ("2", (20.0, 70.0))):
        runs = {name: simple_run(a=value, b=50.0) for name, value in zip(("base", "cand"), scores, strict=True)}
        publish(tmp_path, runs, questions_sha256=number * 64, eval_set=f"set{number}@{number}")
    with viewing(tmp_path) as client:
        for name, delta in (("set1@1", "-50.0"), ("set2@2", "50.0")):
            page = client.get("/compare", base="base", cand="cand", eval_set=name)
            link = next(one for one in re.findall(r'href="(/sql\?[^"]+)"', page) if "regressions" in one)
            assert f'data-v="{delta}"' in client.get(link.replace("&amp;", "&"))


def test_compared_questions_say_how_they_are_sorted(tmp_path: Path) -> None:
    publish(tmp_path, {"a": simple_run(x=1.0, y=0.0), "b": simple_run(x=0.0, y=0.5)})
    with viewing(tmp_path) as client:
        assert "Every question, most moved first" in client.get("/compare", base="a", cand="b")
        assert "most moved first" not in client.get("/compare", base="a", cand="b", sort="question_id")


def test_a_question_has_the_mean_of_its_runs(tmp_path: Path) -> None:
    """Of a run with two repeats their mean counts once, as among the hardest questions."""
    twice = [score_row("a", 100.0), score_row("a", 50.0, repeat=1)]
    publish(tmp_path, {"once": [score_row("a", 0.0)], "twice": twice}, repeats=2)
    with viewing(tmp_path) as client:
        profile, name = "eval_json_v2", "q@1"
        page = client.get("/question", question="a", profile=profile, eval_set=name)
        facts = dict(re.findall(r"<dt>([^<]+)</dt><dd><bdi>([^<]+)</bdi>", page))
        assert facts == {
            "mean score of runs": "37.50", "n runs": "2", "n answers": "3", "lowest answer": "0.0000",
            "highest answer": "100.00",
        }  # fmt: skip
        assert 'data-v="37.5"' in client.get("/set", profile=profile, eval_set=name, section="hardest")


def test_a_repeat_that_is_no_number_is_said(client: Client) -> None:
    for repeat in ("-1", "NaN", "1.5"):
        status, body, _ = client.ask(address("/answer", run="better", question="r19", repeat=repeat))
        assert status == 400 and f"repeat={repeat} is no repeat" in body


def test_lists_have_pages(tmp_path: Path) -> None:
    publish(tmp_path / "runs", {f"run-{k:03}": simple_run(a=float(k % 7)) for k in range(120)})
    with viewing(tmp_path / "runs") as client:
        first = client.get("/", sort="run_id")
        assert re.findall(r">(run-\d+)</bdi>", first) == [f"run-{k:03}" for k in range(50)]
        last = re.search(r'href="([^"]+)">Last<', first)
        assert last is not None and "120 rows" in first
        page = client.get(last[1].replace("&amp;", "&"))
        assert re.findall(r">(run-\d+)</bdi>", page) == [f"run-{k:03}" for k in range(100, 120)]
        assert "Page 3 of 3" in page and ">Next<" not in page
        assert re.findall(r">(run-\d+)</bdi>", client.get("/", sort="run_id", page="99")) == re.findall(
            r">(run-\d+)</bdi>", page
        )


def test_the_summary_of_many_runs_has_every_metric(tmp_path: Path) -> None:
    """Of the runs that are drawn: the first rows of all runs would be of one metric alone."""
    publish(tmp_path / "runs", {f"run-{k:03}": simple_run(a=float(k)) for k in range(250)})
    with viewing(tmp_path / "runs") as client:
        page = client.get("/set", profile="eval_json_v2", eval_set="q@1", section="distributions")
        table = page.split('id="set-distributions-table"')[1].split("</table>")[0]
        assert {*re.findall(r">(run-\d+)<", table)} == {f"run-{k:03}" for k in (*range(4), *range(244, 250))}
        assert {"score", "schema_ok"} <= {*re.findall(r"<bdi>(\w+)</bdi>", table)}
        assert "Of the runs above; the SQL without their names gives all." in page


def test_it_prints_its_address_and_ends_with_an_interrupt(tmp_path: Path) -> None:
    publish(tmp_path / "runs", {"first": simple_run(a=50.0, b=70.0)})
    command = [sys.executable, "-m", "rageval_batch", "view", "--store", str(tmp_path / "runs"), "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        assert "first" in let_in(process.stdout.readline().strip()).get("/")
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
        assert process.stderr.read() == "Ctrl-C ends the viewer.\n"


def test_an_interrupt_ends_it_while_a_page_is_being_made(tmp_path: Path) -> None:
    inputs = tmp_path / "include_rate"
    shutil.copytree(SAMPLES_FOLDER / "include_rate", inputs)
    store = tmp_path / "runs"
    score("score", inputs / "outputs", "-p", "include_rate", "-q", inputs / "questions.jsonl", "--store", store)
    path = address("/sql", q="select sum(a.range * b.range) from range(3000000) a, range(3000000) b")
    command = [sys.executable, "-m", "rageval_batch", "view", "--store", str(store), "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        client = let_in(process.stdout.readline().strip())
        assert client.bytes(path)[0] == 202
        assert "better" in client.get("/"), "other pages need not wait"
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
        assert process.stderr.read() == "Ctrl-C ends the viewer.\n"


def test_a_store_without_runs_and_a_taken_port_are_said(tmp_path: Path, client: Client) -> None:
    with pytest.raises(StoreError, match="has no runs"):
        ViewServer(str(tmp_path))
    publish(tmp_path / "runs", {"first": simple_run(a=50.0)})
    with pytest.raises(InputError, match="Choose another with --port"):
        ViewServer(str(tmp_path / "runs"), int(client.host.split(":")[1]))


def test_answers_of_several_judges_are_told_apart(tmp_path: Path) -> None:
    folder = SAMPLES_FOLDER / "judge_protocol"
    score(
        "score", folder / "judgements.jsonl", "-p", "judge_protocol", "-q", folder / "samples.jsonl",
        "-c", folder / "targets.jsonl", "--store", tmp_path / "runs",
    )  # fmt: skip
    with viewing(tmp_path / "runs") as client:
        page = client.get("/run", run="spring-judging", sort="judge_model")
        answers = page[page.index('id="answers-table"') :]
        assert answers.index('data-name="score"') < answers.index('data-name="judge_model"'), "a phone shows the score"
        link = next(one for one in re.findall(r'href="(/answer\?[^"]+)"', page) if "key.judge_model" in one)
        answer = client.get(link.replace("&amp;", "&"))
        assert "rules broken" in answer and quote("spring-judging") in answer
        status, _, headers = client.ask("/answer?run=spring-judging&question=Q1")
        assert status == 303, "which of its rows is to be picked there"
        assert len(re.findall(r'href="/answer\?', client.get(headers["location"]))) == 18
        links = {
            link.replace("&amp;", "&")
            for number in ("1", "2")
            for link in re.findall(r'href="(/answer\?[^"]+)"', client.get("/run", run="spring-judging", page=number))
        }
        assert sum("key.output_id=" in link and link.endswith("key.output_id=") for link in links) == 1
        others = set()
        for link in sorted(links):  # a row without a key, and rows that no key tells apart, have pages as others do
            others |= set(re.findall(r'href="(/answer[^"]+row=\d)">(Row [^<]+)<', client.get(link)))
        assert others and {name for _, name in others} == {"Row 2 of 2 with these keys"}
        for link, _ in others:
            assert "Row 1 of 2 with these keys" in client.get(link.replace("&amp;", "&"))


def test_an_empty_answer_is_said_and_grades_are_whole_numbers(tmp_path: Path) -> None:
    texts, claims = SAMPLES_FOLDER / "include_rate", SAMPLES_FOLDER / "claim_evidence"
    store = tmp_path / "runs"
    score("score", texts / "outputs", "-p", "include_rate", "-q", texts / "questions.jsonl", "--store", store)
    score("score", claims / "outputs", "-p", "claim_evidence", "-q", claims / "gold.jsonl", "--store", store)
    with viewing(store) as client:
        page = client.get("/answer", run="baseline", question="r16")
        assert "An empty answer." in page and 'class="answer' not in page
        page = client.get("/answer", run="run-pass", question="immuno_en_01")
        ranking = page.split(">ranking</h2>")[1].split("</table>")[0]
        assert set(re.findall(r'<td class="num"><bdi>([^<]+)', ranking)) <= set("0123456") and ">3</bdi>" in ranking


def test_answers_that_are_null_missing_or_broken_are_told_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    questions = [{"id": k, "question": "?", "must_include": ["字"]} for k in ("a", "b", "c")]
    rows = [
        *({"run_id": "base", "question_id": k, "output": '{"ids": ["x", "字"]}'} for k in ("a", "b")),
        {"run_id": "base", "question_id": "c", "output": '{"ids": ["字", "x", "y"'},
        {"run_id": "cand", "question_id": "a", "output": None},
        {"run_id": "cand", "question_id": "c", "output": '{"ids": ["\\u5b57", "x", "z"'},
    ]
    for name, objects in (("questions", questions), ("outputs", rows)):
        text = "\n".join(json.dumps(one, ensure_ascii=False) for one in objects)
        (tmp_path / f"{name}.jsonl").write_text(text, encoding="utf-8")
    store = tmp_path / "runs"
    score(
        "score", tmp_path / "outputs.jsonl", "-p", "include_rate", "-q", tmp_path / "questions.jsonl", "--store", store
    )
    with viewing(store) as client:
        page = client.get("/compare", base="base", cand="cand")
        assert page.count("The answer is null.") == page.count("The run has no answer to this question.") == 1
        assert "\\u5b57" not in page and page.count("Not valid JSON; its escapes \\uXXXX are shown as") == 1
        assert "The answer is null." in client.get("/answer", run="cand", question="a")
        answer = client.get("/answer", run="cand", question="c")
        assert "Not valid JSON; its escapes \\uXXXX are shown as" in answer and answer.count("\\u5b57") == 1
        assert "Not valid JSON" not in client.get("/answer", run="base", question="c")
    capsys.readouterr()
    told = {}
    for question in ("a", "c"):
        score("explain", "cand", question, "--store", store)
        told[question] = capsys.readouterr().out
    assert "The answer is null." in told["a"]
    assert '["字", "x", "z"' in told["c"] and "Escapes \\uXXXX are shown as the characters" in told["c"]
    score("explain", "cand", "c", "--format", "json", "--store", store)
    assert "\\\\u5b57" in capsys.readouterr().out
    score("compare", "base", "cand", "--format", "md", "--store", store)
    found = capsys.readouterr().out
    assert "(the answer is null)" in found and "(no answer)" in found and "u5b57" not in found
    score("compare", "base", "cand", "--format", "json", "--store", store)
    movers = {mover["question_id"]: mover["cand_absent"] for mover in json.loads(capsys.readouterr().out)["movers"]}
    assert movers == {"a": "null", "b": "missing", "c": None}


def test_movers_name_items_at_another_rank(tmp_path: Path) -> None:
    samples = SAMPLES_FOLDER / "retrieval"
    score(
        "score", samples / "outputs", "-p", "retrieval", "-q", samples / "questions.jsonl", "--store", tmp_path / "runs"
    )
    with viewing(tmp_path / "runs") as client:
        page = client.get("/compare", base="bm25", cand="dense")
        assert "Marked: <del>at this place only in the first answer</del>" in page
        assert "In both answers, at another rank: retrieved_ids: руководство-9 (1 → 3)." in page


def test_inputs_that_are_gone_are_said(tmp_path: Path) -> None:
    samples = tmp_path / "samples"
    shutil.copytree(SAMPLES_FOLDER / "include_rate", samples)
    score(
        "score",
        samples / "outputs",
        "-p",
        "include_rate",
        "-q",
        samples / "questions.jsonl",
        "--store",
        tmp_path / "runs",
    )
    shutil.rmtree(samples)
    with viewing(tmp_path / "runs") as client:
        answer = client.get("/answer", run="better", question="r19")
        assert 'class="error"' in answer and "There is no answer to show." in answer and "include rate" in answer


# --- parts ------------------------------------------------------------------------------------------------------------


def test_lines_have_verdicts_and_items_have_pairs() -> None:
    explanation = Explanation(
        (
            Section(
                "list",
                ({"expected": "a", "got": "A", "matched": True}, {"expected": "b", "got": None, "matched": False}),
            ),
            Section("forbidden", ({"phrase": "no", "found": True}, {"phrase": "never", "found": False})),
            Section("specifics", ({"text": "42", "invented": True},)),
            Section("key_points", ({"key point": "k", "covered by": None},)),
        )
    )  # fmt: skip
    parts = marked_sections(explanation)
    assert [[line.verdict for line in part.lines] for part in parts] == [
        ["good", "bad"], ["bad", "good"], ["bad"], ["bad"],
    ]  # fmt: skip
    assert [line.pair for line in parts[0].lines] == [0, None]
    spans = [(span.text, span.mark) for span in marked_answer("say No: a is 42", parts)]
    assert ("No", "bad") in spans and ("42", "bad") in spans and ("a", "pair0") in spans
    assert "".join(text for text, _ in spans) == "say No: a is 42"
    (metrics,) = marked_sections(Explanation((Section("metrics", ({"name": "refused", "value": True},)),)))
    assert metrics.lines[0].verdict is None  # a yes that is no verdict: a refusal is not good


def test_marks_are_whole_words_and_items_stand_where_their_spaces_are() -> None:
    lines = (
        {"expected": "Amissedpage", "got": "Amissedpage", "matched": True},
        {"keyword": "and", "found": True},
        {"keyword": "12 480,5", "found": True},
        {"keyword": "入住", "found": True},
        {"keyword": "book", "found": True},
    )
    parts = marked_sections(Explanation((Section("keywords", lines),)))
    text = "handbook: a missed  page and 12\u202f480,5, 可入住了"
    spans = [(span.text, span.mark) for span in marked_answer(text, parts) if span.mark]
    assert spans == [
        ("book", "good"),  # within a word, because it stands nowhere else
        ("a missed  page", "pair0"),
        ("and", "good"),
        ("12\u202f480,5", "good"),
        ("入住", "good"),
    ]


def test_what_is_marked_far_behind_in_a_long_answer_is_shown_too() -> None:
    lines = tuple({"keyword": word, "found": True} for word in ("near", "Far", "ends"))
    parts = marked_sections(Explanation((Section("keywords", lines),)))
    family = "👩\u200d👩\u200d👧"
    text = "near " + family * 100_000 + " FAR away " + "字" * 50_000 + " it ends"
    spans = marked_answer(text, parts)
    assert [span.text for span in spans if span.mark] == ["near", "FAR", "ends"]
    assert sum(len(span.text) + span.left_out for span in spans) == len(text)
    assert sum(len(span.text) for span in spans) < 62_000 and [bool(span.left_out) for span in spans].count(True) == 2
    at = 0
    for span in spans:
        assert not span.text or text[at : at + len(span.text)] == span.text
        assert not span.text.startswith("\u200d") and not span.text.endswith("\u200d")
        at += len(span.text) + span.left_out


def test_json_runs_from_left_to_right_and_other_texts_as_they_begin() -> None:
    for text in ('{"a": "عربي"}', ' ["عربي"]', '{"a": '):
        assert direction(text) == "ltr"
    for text in ("عربي", "[1] عربي", "plain", ""):
        assert direction(text) == "auto"


def test_json_is_laid_out_and_other_answers_are_left_alone() -> None:
    assert readable('{"a": "\\u5b57"}') == '{\n  "a": "字"\n}'
    for text in ("plain", '{"a": ', "[" * 100_000, json.dumps("text")):
        assert readable(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('{"a": "\\u9580\\u7981", "b', '{"a": "門禁", "b'),
        ('["\\ud83d\\ude00', '["😀'),
        ('{"a": "\\ud83d \\u0022 \\u202e \\\\u9580 \\u00e9', '{"a": "\\ud83d \\u0022 \\u202e \\\\u9580 é'),
        ("a path C:\\u9580", "a path C:\\u9580"),
        ('See C:\\u9580: {"a": "\\u9580"} Done.', 'See C:\\u9580: {"a": "門"} Done.'),
        ('```json\n[\n "\\u9580"]\n```', '```json\n[\n "門"]\n```'),
    ],
)
def test_escapes_of_broken_json_are_read(text: str, shown: str) -> None:
    """Wherever it begins; not those that nobody could see, that would end a string, or whose backslash is one."""
    assert readable(text) == without_escapes(text) == shown


def test_items_at_another_rank_are_named() -> None:
    before, after = '{"ids": ["a", "b", "b", "c"], "n": 1}', '{"ids": ["c", "b", "x"]}'
    assert moved_words(before, after) == "In both answers, at another rank: ids: c (4 → 1)."
    assert moved_words('["a", "b"]', '["b", "a"]') == "In both answers, at another rank: a (1 → 2), b (2 → 1)."
    assert moved_words(before, before) is None and moved_words(before, "no list") is None
    many = moved_words(json.dumps([*range(9)]), json.dumps([*range(8, -1, -1)]))
    assert many and many.endswith("and 3 more.")  # what stands in the middle stays there


def test_keywords_are_marked_where_they_were_looked_for() -> None:
    """In the evidence alone, whatever other members of the answer say."""
    parts = marked_sections(
        Explanation(
            (
                Section("evidence", ({"keyword": "gate", "found": True}, {"keyword": "fee", "found": False}),
                        members=("evidence",) * 2),
                Section("quotes", ({"quote": "open", "found": True},)),
            )
        )
    )  # fmt: skip
    inner = '{"part": "evidence", "text": "gate"}'
    for text in (
        f'{{"topic": "gate fee", "evidence": "the gate", "more": {inner}, "last": "open gate"}}',
        f'So: {{"topic": "gate \\"evidence\\": fee", "evidence":"the gate", "refs": [{inner}], "last": "open',
    ):
        spans = marked_answer(text, parts)
        assert "".join(span.text for span in spans) == text
        assert [(span.text, span.mark) for span in spans if span.mark] == [("gate", "good"), ("open", "good")]
        first = next(k for k, span in enumerate(spans) if span.mark)
        assert spans[first - 1].text.endswith("the ")


def test_cells_lead_to_their_pages() -> None:
    links = Links("p", "e", "r", keys=("judge",))
    assert links("question_id", {"question_id": "a&b", "repeat": 1, "judge": "x"}) == (
        "/answer?run=r&question=a%26b&repeat=1&profile=p&eval_set=e&key.judge=x"
    )
    assert Links("p", "e")("question_id", {"question_id": "q"}) == "/question?question=q&profile=p&eval_set=e"
    without = "/answer?run=r&question=q&profile=p&eval_set=e&key.judge="
    assert links("question_id", {"question_id": "q", "judge": None}) == without
    assert links("score", {"score": 1.0}) is None
    assert links("fail_reason", {"fail_reason": "x"}) == "/run?run=r&profile=p&eval_set=e&fail_reason=x"
    by_run = {"fail_reason": "x", "run_id": "s"}
    assert Links("p", "e")("fail_reason", by_run) == "/run?run=s&profile=p&eval_set=e&fail_reason=x"
    assert Links("p", "e")("fail_reason", {**by_run, "runs": 2}) is None, "a reason of several runs"
    compared = Links("p", "e", base="b")("candidate", {"candidate": "c"})
    assert compared == "/compare?base=b&cand=c&profile=p&eval_set=e"
