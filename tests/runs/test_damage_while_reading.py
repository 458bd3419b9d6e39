"""Commits whose files have their sizes and another content: opening the store does not notice, reading does. Every
command then says what it would say of a store without that commit, and names it once."""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from rageval_batch import api
from rageval_batch.analysis.catalog import open_store
from rageval_batch.answering import DamageFound, answered
from rageval_batch.cli import main
from rageval_batch.errors import DamagedCommit
from rageval_batch.runs.packs import compact
from rageval_batch.runs.store import Store
from rageval_batch.runs.upkeep import drop, prune
from support.command import run_command
from support.places import SAMPLES_FOLDER
from support.stores import publish, score_row, simple_run
from support.viewing import viewing

PROFILE = "include_rate"
SAMPLES = SAMPLES_FOLDER / PROFILE
AGAIN, OTHER, QUESTION = "baseline", "better", "r01"
NAMED = "is damaged and left out"


def _zeros(content: bytes) -> bytes:
    return bytes(len(content))


def _garbage(content: bytes) -> bytes:
    return random.Random(7).randbytes(len(content))


def _zeros_within(content: bytes) -> bytes:
    """A file that still looks like Parquet at both ends."""
    return b"PAR1" + bytes(len(content) - 8) + b"PAR1"


def _garbage_in_pages(content: bytes) -> bytes:
    """One whose footer is whole: what is wrong shows when rows are read."""
    end = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    return b"PAR1" + random.Random(7).randbytes(end - 4) + content[end:]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "zeros": _zeros, "garbage": _garbage, "zeros within": _zeros_within, "garbage in pages": _garbage_in_pages,
}  # fmt: skip


QUERY = "select run_id, question_id, i from scores cross join range(300) t(i)"


def spoil(path: Path, damage: Callable[[bytes], bytes] = _zeros) -> None:
    content = damage(path.read_bytes())
    assert len(content) == path.stat().st_size
    path.write_bytes(content)


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of two commits of the samples with their inputs: all runs, then one of them again by other parameters."""
    store = tmp_path_factory.mktemp("damage") / "runs"
    outputs = sorted((SAMPLES / "outputs").glob("*.jsonl"))
    words = ["-p", PROFILE, "-q", str(SAMPLES / "questions.jsonl"), "--store", str(store), "--keep-inputs", "--quiet"]
    for given in (outputs, [outputs[0], "--meta", "again=yes"]):
        with pytest.raises(SystemExit) as stopped:
            main(["score", *map(str, given), *words])
        assert not stopped.value.code
    return store


COMMANDS: dict[str, Callable[[str, str, str], list[str]]] = {
    "runs": lambda again, other, question: ["runs", "--format", "csv"],
    "show": lambda again, other, question: ["show", again, "--format", "json"],
    "explain": lambda again, other, question: ["explain", again, question],
    "leaderboard": lambda again, other, question: ["leaderboard", "--format", "csv"],
    "gate": lambda again, other, question: ["gate", "--all", "--format", "json"],
    "compare": lambda again, other, question: ["compare", other, again, "--no-strict-hashes", "--format", "json"],
    "report": lambda again, other, question: ["report"],
    "rescore": lambda again, other, question: ["rescore", again, "--param", "w_safe=0.5"],
    **{
        f"sql of {view}": lambda again, other, question, view=view: [  # type: ignore[misc]
            "sql", f"from {view} order by all", "--format", "csv",
        ]
        for view in (
            "scores", PROFILE, "runs", "rejects", "tallies", "commits", "run_summary", "metrics", "answers",
            "questions", "question_difficulty",
        )
    },
}  # fmt: skip


def _said(capsys: pytest.CaptureFixture[str], store: Path, name: str, *more: str) -> tuple[int, str, str]:
    """What a command says of a copy of a store, in which names and times are as in any other."""
    words = COMMANDS[name](AGAIN, OTHER, QUESTION)
    if name == "report":
        words += ["-o", str(store.parent / "report.html")]
    if name == "gate":
        gates = store.parent / "gates.toml"
        gates.write_text('[[gates]]\nname = "g"\nmetric = "score"\nstat = "mean"\nop = ">="\nlimit = 0.5\n')
        words += ["--gates", str(gates)]
    code, out, err = run_command(capsys, *words, "--store", store, *more)
    if name == "report" and code == 0:
        out = re.sub(r"\d\d:\d\d", "", (store.parent / "report.html").read_text())  # when it was made
    return code, out if name != "rescore" else "", err.replace(str(store), "STORE")


def _copied(store: Path, folder: Path) -> Path:
    folder.mkdir()
    shutil.copytree(store, folder / "runs")
    return folder / "runs"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_says_what_it_says_without_that_commit(
    name: str, samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each file of the commit, or all: where it is read, the answer is that without the commit; else that with it."""
    whole = _said(capsys, _copied(samples, tmp_path / "whole"), name)
    assert whole[0] in (0, 1), whole
    without = _copied(samples, tmp_path / "without")
    shutil.rmtree(Store(without).commits()[1].path)
    rest = _said(capsys, without, name)
    files = sorted(path.name for path in Store(samples).commits()[1].path.iterdir() if path.name != "manifest.json")
    noticed = 0
    for kind, damage in DAMAGES.items():
        for spoilt in ([name] for name in files) if kind == "zeros" else [files]:
            store = _copied(samples, tmp_path / f"{kind} {len(spoilt)} {spoilt[0]}")
            commit = Store(store).commits()[1]
            for file in spoilt:
                spoil(commit.path / file, damage if file.endswith(".parquet") else _zeros)
            code, out, err = _said(capsys, store, name)
            assert err.count(NAMED) <= 1, err
            if NAMED in err:
                noticed += 1
                assert f"Commit {commit.id} of STORE {NAMED}" in err
                assert (code, out) == rest[:2], (kind, spoilt, err)
                assert _said(capsys, store, name, "--strict-store")[:2] == (2, ""), (kind, spoilt)
            else:
                assert (code, out) == whole[:2], (kind, spoilt, err)
            shutil.rmtree(store.parent)
    assert noticed or name == "sql of commits"


def test_the_same_command_scores_again_what_is_damaged(
    samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """ "Nothing to do" is said of commits that are whole."""
    store = _copied(samples, tmp_path / "copy")
    outputs = sorted((SAMPLES / "outputs").glob("*.jsonl"))
    words = ["score", outputs[0], "--meta", "again=yes", "-p", PROFILE, "-q", SAMPLES / "questions.jsonl"]
    words += ["--keep-inputs", "--store", store]
    code, _, err = run_command(capsys, *words)
    assert code == 0 and "Nothing to do" in err
    damaged = Store(store).commits()[1]
    spoil(damaged.path / "kept_outputs.parquet")
    code, _, err = run_command(capsys, *words)
    assert code == 0 and "Nothing to do" not in err and err.count(NAMED) == 1
    with pytest.warns(DamagedCommit):
        assert len(Store(store).commits()) == 2
    code, _, err = run_command(capsys, "runs", "--store", store)
    assert code == 0


def test_score_says_its_lines_beside_a_damaged_commit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    publish(tmp_path / "runs", {"bad": simple_run(a=0.25)})
    spoil(Store(tmp_path / "runs").commits()[0].path / "runs.parquet")
    words = ["score", SAMPLES / "outputs", "-p", PROFILE, "-q", SAMPLES / "questions.jsonl", "--format", "json"]
    code, out, err = run_command(capsys, *words, "--store", tmp_path / "runs")
    assert code == 0 and out.startswith("[{") and "cannot be shown" not in err
    assert err.count(NAMED) == 1


@pytest.fixture
def two(tmp_path: Path) -> Store:
    """A store of two commits, a run each."""
    publish(tmp_path / "runs", {"good": simple_run(a=1.0, b=0.5)})
    publish(tmp_path / "runs", {"bad": simple_run(a=0.25, b=0.5)})
    return Store(tmp_path / "runs")


def test_a_session_answers_without_it(two: Store) -> None:
    """From Python: the query that finds it, and those after it; one that is restored is read again."""
    path = two.commits()[1].files("scores")[0]
    content = path.read_bytes()
    spoil(path)
    query = "select distinct run_id from scores order by 1"
    with open_store(two.path) as session:
        with pytest.warns(DamagedCommit, match=NAMED):
            assert session.sql(query).to_pylist() == [{"run_id": "good"}]
        assert session.sql("select run_id from runs").to_pylist() == [{"run_id": "good"}]
    path.write_bytes(content)
    with open_store(two.path) as session:
        assert session.sql(query).to_pylist() == [{"run_id": "bad"}, {"run_id": "good"}]


def test_the_functions_of_the_package_answer_without_it(two: Store) -> None:
    publish(two.path, {"later": simple_run(a=1.0, b=0.75)})
    spoil(two.commits()[1].path / "runs.parquet")
    with pytest.warns(DamagedCommit, match=NAMED):
        assert api.compare("good", "later", two.path).passed
    with pytest.warns(DamagedCommit, match=NAMED):
        found = api.score(SAMPLES / "outputs", SAMPLES / "questions.jsonl", PROFILE, store=two.path)
    assert len(found.scores) and len(found.summary)


def test_what_began_to_be_printed_ends_with_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rows that are printed cannot be taken back; a file is written again without the commit."""
    questions = {f"q{k:06}": 0.5 for k in range(5_000)}
    first = publish(tmp_path / "runs", {"a": simple_run(**questions)}, row_group=100, with_summary=True)
    publish(tmp_path / "runs", {"b": simple_run(x=0.5)}, with_summary=True)
    path = first.files("scores")[0]
    group = pq.read_metadata(path).row_group(45)
    content = bytearray(path.read_bytes())
    for number in range(group.num_columns):
        column = group.column(number)
        start = column.dictionary_page_offset or column.data_page_offset
        content[start : start + column.total_compressed_size] = bytes(column.total_compressed_size)
    path.write_bytes(content)
    words = ["sql", QUERY, "--format", "csv", "--store", tmp_path / "runs"]
    code, out, err = run_command(capsys, *words)
    assert code == 2 and "is not the whole result" in err and f"{first.id} of" in err
    assert out.startswith("run_id,question_id,i\n")
    code, _, err = run_command(capsys, *words, "-o", tmp_path / "out.csv")
    assert code == 0 and err.count(NAMED) == 1
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert len(lines) == 301 and {line[:4] for line in lines[1:]} == {"b,x,"}


def test_a_query_from_a_pipe_is_answered(
    two: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its text is there once."""
    spoil(two.commits()[1].path / "runs.parquet")
    import io

    monkeypatch.setattr("sys.stdin", io.StringIO("select run_id from runs"))
    code, out, err = run_command(capsys, "sql", "--format", "csv", "--store", two.path)
    assert (code, out) == (0, "run_id\ngood\n") and err.count(NAMED) == 1


def test_pages_are_those_without_it(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Of a viewer that is open while the damage is done."""
    publish(tmp_path / "runs", {"good": simple_run(a=1.0, b=0.5)}, with_summary=True)
    bad = publish(tmp_path / "runs", {"bad": simple_run(a=0.25, b=0.5)}, with_summary=True)
    with viewing(tmp_path / "runs") as client, pytest.warns(DamagedCommit, match=NAMED):
        assert ">bad<" in client.get("/")
        spoil(bad.files("scores")[0])
        page = client.get("/question", profile="eval_json_v2", eval_set="q@1", question="a")
        assert ">good<" in page and ">bad<" not in page
        assert ">bad<" not in client.get("/")
        assert "bad" not in client.ask("/sql/result.csv?q=select+run_id+from+scores")[1]


def test_of_a_damaged_pack_the_folders_before_it_are_read(tmp_path: Path) -> None:
    store = Store(tmp_path / "runs")
    for k in range(3):
        publish(store.path, {f"run {k}": simple_run(x=k / 4)})
    pack = compact(store).pack
    assert pack is not None
    for path in (store.path / pack).glob("*.parquet"):
        spoil(path)
    with open_store(store.path) as session, pytest.warns(DamagedCommit, match=f"{pack} .*{NAMED}"):
        assert session.sql("select run_id, score from scores order by 1").num_rows == 3


def test_compact_leaves_it_out(two: Store, capsys: pytest.CaptureFixture[str]) -> None:
    publish(two.path, {"later": simple_run(a=1.0)})
    spoil(two.commits()[1].path / "tallies.parquet")
    code, _, err = run_command(capsys, "compact", "--store", two.path)
    assert code == 0 and "2 commits put together" in err and err.count(NAMED) == 1
    code, _, err = run_command(capsys, "compact", "--store", two.path, "--strict-store")
    assert code == 2 and NAMED in err


def test_prune_takes_no_result_that_a_damaged_one_stands_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The last whole result of a run stays."""
    store = Store(tmp_path / "runs")
    old = publish(store.path, {"run": simple_run(x=0.5)})
    new = publish(store.path, {"run": simple_run(x=0.75)})
    spoil(new.files("scores")[0])
    words = ["prune", "--keep-last", "1", "--now", "--store", store.path]
    code, _, err = run_command(capsys, *words, "--strict-store")
    assert code == 2 and NAMED in err and old.path.exists()
    code, _, err = run_command(capsys, *words)
    assert code == 0 and "0 commits pruned" in err and err.count(NAMED) == 1
    assert old.path.exists()
    drop(store, [new.id])
    assert prune(store, keep_last=1, at_once=True).removed == [new.id]


def test_a_fault_that_stays_is_an_error() -> None:
    """A commit that is found twice is not tried for ever."""
    tried = []

    def answer() -> None:
        tried.append(1)
        raise DamageFound("It is torn.", advice="Mend it.", problem="torn", folders=frozenset([Path("runs/a")]))

    with pytest.raises(DamageFound, match=r"It is torn\. Mend it\."):
        answered(answer)
    assert len(tried) == 2


def test_rows_are_as_they_were_read(two: Store) -> None:
    """A file that is whole and a query that fails for another reason: no commit is noted."""
    publish(two.path, {"third": [score_row("a", 0.5)]})
    with open_store(two.path) as session:
        with pytest.raises(Exception, match="boom"):
            session.sql("select error('boom') from scores")
        assert session.sql("select count(*) as n from runs").to_pylist() == [{"n": 3}]
