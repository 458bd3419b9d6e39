"""No score that a user would call wrong without a word: names of runs, rejects, parts that lack their inputs."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from rageval_batch.analysis.catalog import open_store
from rageval_batch.cli import cli
from rageval_batch.errors import RagevalError
from support.inputs import put
from support.places import SAMPLES_FOLDER

QUESTIONS = [
    {"id": "1", "question": "Capital of France?", "must_include": ["Paris"]},
    {"id": "2", "question": "Capital of Germany?", "must_include": ["Berlin"]},
]


def score(folder: Path, *arguments: Any) -> Result:
    """`rageval score` into a store of the folder."""
    return CliRunner().invoke(cli, ["score", *map(str, arguments), "--store", str(folder / "runs")])


def refused(result: Result) -> str:
    """The sentence of an expected error."""
    assert isinstance(result.exception, RagevalError), result.output
    return str(result.exception)


def runs_of(folder: Path) -> dict[str, dict[str, Any]]:
    """The records of a store by run."""
    with open_store(folder / "runs", functions=False) as session:
        return {row["run_id"]: row for row in session.rows("from runs")}


def answers(*texts: str) -> list[dict[str, Any]]:
    return [{"question_id": str(k), "output": text} for k, text in enumerate(texts, start=1)]


# --- questions that test nothing ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ({"id": "1", "question": "Capital?", "reference": "Paris"}, "must_include"),
        ({"id": "1", "question": "Capital?", "must_includes": ["Paris"], "require_citation": True}, "did you mean"),
        ({"id": "1", "question": "Capital?", "must_include": [], "require_citation": False}, "something to test"),
    ],
)
def test_a_question_that_tests_nothing_is_an_error(tmp_path: Path, question: dict[str, Any], said: str) -> None:
    """`score` and `check` refuse the same questions, and name the question and the fields."""
    outputs, questions = put(tmp_path / "o.jsonl", answers("Lyon")), put(tmp_path / "q.jsonl", [question])
    assert said in refused(score(tmp_path, outputs, "-p", "include_rate", "-q", questions))
    checked = CliRunner().invoke(cli, ["check", str(questions), "-p", "include_rate"], standalone_mode=False)
    assert checked.return_value == 2 and said in checked.output


# --- names of runs --------------------------------------------------------------------------------------------------


def adapters(folder: Path) -> Path:
    """Two adapters whose files have the same name, and their questions."""
    put(folder / "all/adapterA/outputs.jsonl", answers("Paris", "Berlin"))
    put(folder / "all/adapterB/outputs.jsonl", answers("Rome", "Berlin"))
    return put(folder / "q.jsonl", QUESTIONS)


def test_files_of_one_name_in_folders_are_runs_of_their_own(tmp_path: Path) -> None:
    """The run is named by the part of the path that differs; nothing is rejected as a duplicate."""
    questions = adapters(tmp_path)
    result = score(tmp_path, tmp_path / "all", "-p", "include_rate", "-q", questions)
    assert result.exit_code == 0 and "+ 0 rejected" in result.output
    assert set(runs_of(tmp_path)) == {"adapterA", "adapterB"}
    assert "'adapterA', 'adapterB'" in result.output


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (["--run-id", "mine"], {"mine"}),
        (["--run-id-from", "stem"], {"outputs"}),
        (["--run-id-from", "path"], {"all/adapterA/outputs", "all/adapterB/outputs"}),
    ],
)
def test_the_run_can_be_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], names: set[str]
) -> None:
    """--run-id and --run-id-from decide."""
    questions = adapters(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert score(tmp_path, "all", "-p", "include_rate", "-q", questions, *options).exit_code == 0
    assert set(runs_of(tmp_path)) == names


def test_a_run_named_by_the_user_wins_over_the_column_and_is_kept_for_rescoring(tmp_path: Path) -> None:
    """What named the run is part of the commit: rescore and explain find the rows again."""
    rows = [{**row, "run_id": "other"} for row in answers("Paris", "Berlin")]
    outputs, questions = put(tmp_path / "o.jsonl", rows), put(tmp_path / "q.jsonl", QUESTIONS)
    assert score(tmp_path, outputs, "-p", "include_rate", "-q", questions, "--run-id", "mine").exit_code == 0
    store = ["--store", str(tmp_path / "runs")]
    rescored = CliRunner().invoke(cli, ["rescore", "mine", "--param", "w_safe=0.1", *store])
    assert rescored.exit_code == 0, rescored.output
    assert CliRunner().invoke(cli, ["explain", "mine", "1", *store]).exit_code == 0
    assert set(runs_of(tmp_path)) == {"mine"}


def test_a_run_column_that_is_asked_for_must_be_there(tmp_path: Path) -> None:
    """--run-id-from column does not fall back on the name of the file."""
    outputs, questions = put(tmp_path / "o.jsonl", answers("Paris")), put(tmp_path / "q.jsonl", QUESTIONS)
    assert "null_run_id" in refused(
        score(tmp_path, outputs, "-p", "include_rate", "-q", questions, "--run-id-from", "column")
    )


# --- rejects --------------------------------------------------------------------------------------------------------


def test_rejects_are_told_with_their_reasons_and_the_run_is_marked(tmp_path: Path) -> None:
    """The line has the reasons and counts, the command that shows them, and a mark at a run that lost over 1 %."""
    rows = [*answers("Paris", "Berlin"), {"question_id": "9", "output": "x"}, {"question_id": "1", "output": "y"}]
    outputs = put(tmp_path / "o.jsonl", rows)
    result = score(tmp_path, outputs, "-p", "include_rate", "-q", put(tmp_path / "q.jsonl", QUESTIONS))
    assert result.exit_code == 0
    assert "+ 2 rejected (unknown_question 1, duplicate 1)" in result.output
    assert 'rageval sql "from rejects where commit' in result.output
    assert "--map run_id=COLUMN or --map repeat=COLUMN" in result.output
    assert "lost more than 1 % of the rows to rejects: 'o' 2 of 4" in result.output
    header, line = (text.split() for text in result.stdout.splitlines()[:2])
    assert header[-3:] == ["rejected", "answered", "questions"]
    assert line[-3:] == ["2", "2", "2"]
    assert dict(runs_of(tmp_path)["o"]["meta"])["rejected_rows"] == "2 of 4"


def test_a_run_that_lost_little_is_not_marked(tmp_path: Path) -> None:
    """One row of many."""
    questions = [{"id": str(k), "question": "?", "must_include": ["a"]} for k in range(200)]
    rows = [*({"question_id": str(k), "output": "a"} for k in range(200)), {"question_id": "none", "output": "a"}]
    outputs = put(tmp_path / "o.jsonl", rows)
    result = score(tmp_path, outputs, "-p", "include_rate", "-q", put(tmp_path / "q.jsonl", questions))
    assert "(unknown_question 1)" in result.output and "lost more than" not in result.output
    assert "rejected" not in result.stdout.splitlines()[0]


# --- parts that lack their inputs -----------------------------------------------------------------------------------


def test_grounding_without_contexts_is_told_once(tmp_path: Path) -> None:
    """Which part, how many rows, what to give: on stderr and in the record of each run."""
    folder = SAMPLES_FOLDER / "eval_json_v2"
    arguments = [folder / "outputs", "-p", "eval_json_v2", "-q", folder / "questions.json"]
    result = score(tmp_path, *arguments)
    assert result.exit_code == 0 and result.output.count("grounding: ") == 1
    assert "-c FILE" in result.output
    for record in runs_of(tmp_path).values():
        assert "grounding: not computed" in dict(record["meta"])["warnings"]
    again = score(tmp_path, *arguments, "-c", folder / "contexts.jsonl")
    assert again.exit_code == 0 and "grounding: " not in again.output


def test_facts_without_required_evidence_are_told(tmp_path: Path) -> None:
    """A right fact scores 0.7 where the question has no required_evidence and the answer no citation."""
    question = {"id": "1", "type": "fact_exact", "question": "How many?", "expected": {"count": 5}}
    outputs = put(tmp_path / "o.jsonl", [{"question_id": "1", "output": json.dumps({"count": 5})}])
    result = score(tmp_path, outputs, "-p", "legal_rag", "-q", put(tmp_path / "q.jsonl", [question]))
    assert result.exit_code == 0, result.output
    assert "70.0" in result.stdout
    assert "citation_correctness: 1 of 1 rows" in result.output and "required_evidence" in result.output


def test_a_failure_that_most_answers_share_is_told(tmp_path: Path) -> None:
    """Plain texts where JSON is wanted: the run is 0, and the command says why."""
    folder = SAMPLES_FOLDER / "eval_json_v2"
    ids = [question["id"] for question in json.loads((folder / "questions.json").read_text(encoding="utf-8"))]
    outputs = put(tmp_path / "o.jsonl", [{"question_id": name, "output": "a plain text"} for name in ids])
    result = score(tmp_path, outputs, "-p", "eval_json_v2", "-q", folder / "questions.json")
    assert result.exit_code == 0
    assert f"fail for one reason, invalid_json: 'o' {len(ids)} of {len(ids)}" in result.output


# --- rows of another shape ------------------------------------------------------------------------------------------


def rows_of(folder: Path, columns: str) -> list[dict[str, Any]]:
    """Columns of the stored rows of the one commit."""
    with open_store(folder / "runs", functions=False) as session:
        (commit,) = session.commits
    table = pq.read_table(commit.files("scores")[0], columns=columns.split(), partitioning=None)
    found: list[dict[str, Any]] = table.to_pylist()
    return found


def test_claims_that_are_plain_texts_are_told_and_score_nothing(tmp_path: Path) -> None:
    """The stages alone would have made it a full score."""
    task = {"task_id": "1", "query": "?", "expected_entities": ["IL-6"]}
    answer = {"answer": "IL-6", "claims": ["IL-6 rises", "so does CRP"], "stages": {"expected": 2, "completed": 2}}
    outputs = put(tmp_path / "o.jsonl", [{"task_id": "1", "output": answer}])
    result = score(tmp_path, outputs, "-p", "claim_evidence", "-q", put(tmp_path / "q.jsonl", [task]))
    assert result.exit_code == 0, result.output
    (row,) = rows_of(tmp_path, "score fail_reason fail_detail")
    assert row["score"] == 0 and row["fail_reason"] == "wrong_shape"
    assert row["fail_detail"].startswith("claims is a list of texts, wanted is a list of {claim_id, text")
    assert "most answers of 1 run fail for one reason, wrong_shape (claims is a list of texts" in result.output


def test_a_source_map_of_another_shape_is_told(tmp_path: Path) -> None:
    """The score stays as the page has it, with grounding 0; the reason says why."""
    folder = SAMPLES_FOLDER / "eval_json_v2"
    question = json.loads((folder / "questions.json").read_text(encoding="utf-8"))[0]
    example = question["expected"]["answer_example"]
    outputs = put(
        tmp_path / "o.jsonl", [{"question_id": question["id"], "output": {**example, "source_map": ["handbook.md"]}}]
    )
    questions = put(tmp_path / "q.jsonl", [question])
    result = score(tmp_path, outputs, "-p", "eval_json_v2", "-q", questions, "-c", folder / "contexts.jsonl")
    assert result.exit_code == 0, result.output
    (row,) = rows_of(tmp_path, "score schema_ok fail_reason fail_detail grounding")
    assert row["schema_ok"] and row["grounding"] == 0 and row["fail_reason"] == "wrong_shape"
    assert row["fail_detail"] == "source_map is a list of texts, wanted is a list of {refs: [{file, anchors: [text]}]}"
    assert "wrong_shape (source_map is a list of texts" in result.output


def test_judgements_without_scores_are_told(tmp_path: Path) -> None:
    """What the records have, and what is wanted."""
    outputs = put(tmp_path / "o.jsonl", [{"output": {"rating": 4, "comment": "good"}}])
    result = score(tmp_path, outputs, "-p", "judge_protocol")
    assert result.exit_code == 0, result.output
    (row,) = rows_of(tmp_path, "score fail_reason fail_detail")
    assert row["score"] is None and row["fail_reason"] == "missing_field"
    assert row["fail_detail"].startswith("the record has rating, comment; wanted: scores with FORMAT_COMPLIANCE")
    assert "missing_field (the record has rating, comment" in result.output


# --- what belongs to nothing ----------------------------------------------------------------------------------------


def test_contexts_and_metadata_of_nothing_are_told(tmp_path: Path) -> None:
    """How many rows of contexts have no question or run, and how many runs of --run-meta, each with the first."""
    outputs = put(tmp_path / "o.jsonl", [{"run_id": "a", "question_id": "1", "output": "Paris 12"}])
    questions = put(tmp_path / "q.jsonl", [{"id": "1", "reference": "Paris"}])
    contexts = put(
        tmp_path / "c.jsonl",
        [
            {"question_id": "1", "chunks": ["12"]},
            {"question_id": "9", "chunks": ["x"]},
            {"run_id": "b", "question_id": "1", "chunks": ["x"]},
        ],
    )
    metadata = put(tmp_path / "m.jsonl", [{"run_id": "a", "k": 1}, {"run_id": "z", "k": 2}])
    result = score(tmp_path, outputs, "-p", "reference", "-q", questions, "-c", contexts, "--run-meta", metadata)
    assert result.exit_code == 0, result.output
    assert f"1 of 3 contexts are of no question of the eval set (first '9', {contexts}, line 2)" in result.output
    assert "contexts of runs without answers: 1, the first 'b'" in result.output
    assert "--run-meta has runs without answers: 1, the first 'z'" in result.output


def test_an_empty_file_of_judged_texts_is_told(tmp_path: Path) -> None:
    samples = SAMPLES_FOLDER / "judge_protocol"
    empty = put(tmp_path / "targets.jsonl", b"")
    words = ("-p", "judge_protocol", "-q", samples / "samples.jsonl", "-c")
    result = score(tmp_path, samples / "judgements.jsonl", *words, empty)
    assert result.exit_code == 0, result.output
    assert f"WARNING: {empty} is empty: it has no contexts." in result.output
    assert "is empty" not in score(tmp_path, samples / "judgements.jsonl", *words, samples / "targets.jsonl").output


def test_metadata_of_a_run_wins_over_that_of_all(tmp_path: Path) -> None:
    rows = [{"run_id": run, "question_id": "1", "output": "Paris"} for run in "ab"]
    outputs, questions = put(tmp_path / "o.jsonl", rows), put(tmp_path / "q.jsonl", [{"id": "1", "reference": "Paris"}])
    prompt = put(tmp_path / "p.md", b"prompt_version: v1\n")
    metadata = put(tmp_path / "m.csv", b"run_id,prompt_version,index_version\na,v2,8\n")
    words = (
        "-p",
        "reference",
        "-q",
        questions,
        "--prompt",
        prompt,
        "--meta",
        "index_version=7",
        "--run-meta",
        metadata,
    )
    result = score(tmp_path, outputs, *words)
    assert result.exit_code == 0, result.output
    found = {run: (one["prompt_version"], one["index_version"]) for run, one in runs_of(tmp_path).items()}
    assert found == {"a": ("v2", "8"), "b": ("v1", "7")}


def test_files_without_rows_and_blank_cells_say_nothing(tmp_path: Path) -> None:
    """An empty file of contexts is told; a blank cell of --run-meta is no metadata."""
    outputs = put(tmp_path / "o.jsonl", [{"run_id": "a", "question_id": "1", "output": "Paris"}])
    questions, contexts = put(tmp_path / "q.jsonl", [{"id": "1", "reference": "Paris"}]), put(tmp_path / "c.jsonl", b"")
    metadata = put(tmp_path / "m.csv", b"run_id,model_id,index_version,note\na,,7,\n")
    result = score(tmp_path, outputs, "-p", "reference", "-q", questions, "-c", contexts, "--run-meta", metadata)
    assert result.exit_code == 0, result.output
    assert f"{contexts} is empty: it has no contexts" in result.output
    record = runs_of(tmp_path)["a"]
    assert (record["model_id"], record["index_version"]) == (None, "7")
    assert "note" not in dict(record["meta"])
    blank = put(tmp_path / "b.csv", b"run_id,note\n,x\n")
    assert "run metadata without run_id" in refused(
        score(tmp_path, outputs, "-p", "reference", "-q", questions, "--run-meta", blank)
    )


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("m.jsonl", [{"run_id": "a", "k": 1}, {"run_id": "a", "k": 2}], "line 2: run 'a' has other metadata already"),
        ("m.json", b'{"a": {"k": 1}, "a": {"k": 2}}', "'a' is there twice with other values"),
    ],
)
def test_metadata_that_contradicts_itself_is_an_error(tmp_path: Path, name: str, content: Any, said: str) -> None:
    """Neither row wins; the same row twice is no contradiction."""
    outputs, questions = put(tmp_path / "o.jsonl", answers("Paris", "Rome")), put(tmp_path / "q.jsonl", QUESTIONS)
    words = (outputs, "-p", "include_rate", "-q", questions)
    assert said in refused(score(tmp_path, *words, "--run-meta", put(tmp_path / name, content)))
    assert "--meta k is given twice" in refused(score(tmp_path, *words, "--meta", "k=1", "--meta", "k=2"))
    assert score(tmp_path, *words, "--meta", "k=1", "--meta", "k=1").exit_code == 0
    assert "--param w_safe is given twice" in refused(
        score(tmp_path, *words, "--param", "w_safe=0.1", "--param", "w_safe=0.3")
    )
    prompt = put(tmp_path / "p.txt", b"prompt_version: 3\nAnswer.")
    for told in ("prompt_sha256=abc", "prompt_version=4"):
        message = refused(score(tmp_path, *words, "--prompt", prompt, "--meta", told))
        assert f"--meta {told} contradicts --prompt {prompt}" in message
    assert score(tmp_path, *words, "--prompt", prompt, "--meta", "prompt_version=3").exit_code == 0
    for option in ("--run-meta", "--prompt", "--source"):
        assert f"{option} is given 2 times" in refused(score(tmp_path, *words, option, "a.txt", option, "b.txt"))


def test_gates_say_where_missing_answers_flatter(tmp_path: Path) -> None:
    """Less is better, and a question without an answer has no value: the gate names both numbers. A missing answer is a
    refusal."""
    outputs, questions = put(tmp_path / "o.jsonl", answers("Paris")), put(tmp_path / "q.jsonl", QUESTIONS)
    assert score(tmp_path, outputs, "-p", "include_rate", "-q", questions).exit_code == 0
    gates = put(
        tmp_path / "g.toml", b'[[gates]]\nname = "clean"\nmetric = "exclude_hits"\nstat = "max"\nop = "<="\nlimit = 0\n'
    )
    for format in ("table", "md", "json", "junit"):
        words = ["gate", "--all", "--gates", str(gates), "--store", str(tmp_path / "runs"), "--format", format]
        output = CliRunner().invoke(cli, words).output
        assert "is over 1 of 2 questions; those without an answer (1) count neither" in output.replace("\\", "")
    micro = put(
        tmp_path / "m.toml", b'[[gates]]\nname = "m"\nmetric = "include_rate"\nstat = "micro"\nop = ">="\nlimit = 0.9\n'
    )
    words = ["gate", "--all", "--gates", str(micro), "--store", str(tmp_path / "runs")]
    assert "micro of include_rate is over 1 of 2 questions" in CliRunner().invoke(cli, words).output
    references = put(tmp_path / "r.jsonl", [{"id": "1", "reference": "Paris"}, {"id": "2", "reference": "Berlin"}])
    assert score(tmp_path / "other", outputs, "-p", "reference", "-q", references).exit_code == 0
    with open_store(tmp_path / "other" / "runs", functions=False) as session:
        (row,) = session.rows("select mean, n_scored from run_summary where metric = 'refused'")
    assert row["mean"] == 0.5


def test_a_comparison_shows_what_its_interval_is_of(tmp_path: Path) -> None:
    """Less is better: whole runs have 3/4 and 1/2, the two shared questions 1, 0 and 0, 1, whose mean delta is 0."""
    questions = put(
        tmp_path / "q.jsonl", [{"id": str(k), "question": "?", "must_not_include": ["bad"]} for k in range(4)]
    )
    given: dict[str, list[str | None]] = {
        "a": ["bad", "bad", "good", "bad"],
        "b": ["good", None, "bad", None],
        "c": ["good", None, None, None],
    }
    rows = [
        {"run_id": run, "id": str(k), "output": text}
        for run, texts in given.items()
        for k, text in enumerate(texts)
        if text is not None
    ]
    assert score(tmp_path, put(tmp_path / "o.jsonl", rows), "-p", "include_rate", "-q", questions).exit_code == 0
    words = ["--metric", "exclude_hits", "--store", str(tmp_path / "runs"), "--format"]
    for format in ("table", "md"):
        output = CliRunner().invoke(cli, ["compare", "a", "b", *words, format]).output
        assert "of the 2 questions with a value in both, whose weighted mean delta is 0.0." in output
        assert "2 questions with a value in the base only: 1, 3" in output
        assert "paired" in CliRunner().invoke(cli, ["compare", "a", "b", "c", *words, format]).output
        assert "paired" not in CliRunner().invoke(cli, ["compare", "a", "a", *words, format]).output
    found = json.loads(CliRunner().invoke(cli, ["compare", "a", "b", *words, "json"]).output)
    assert (found["delta"], found["paired_delta"]) == (0.25, 0.0)
    assert found["interval_low"] <= found["paired_delta"] <= found["interval_high"]
    assert ",delta,paired_delta,interval_low," in CliRunner().invoke(cli, ["compare", "a", "b", *words, "csv"]).output


# --- stores ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [
        ["runs"], ["show", "a"], ["explain", "a", "1"], ["gate", "--all"], ["leaderboard"], ["sql", "from leaderboard"],
        ["compare", "a", "b"], ["rescore", "--all"], ["monitor", "--metric", "score", "--window", "7d"],
    ],
    ids=lambda command: command[0],
)  # fmt: skip
def test_a_store_that_is_not_there_is_an_error(tmp_path: Path, command: list[str]) -> None:
    """Everywhere but in `score`; the folder is not made."""
    result = CliRunner().invoke(cli, [*command, "--store", str(tmp_path / "nowhere")])
    assert "nowhere" in refused(result)
    assert not (tmp_path / "nowhere").exists()


def test_a_profile_without_parameters_says_so(tmp_path: Path) -> None:
    outputs, questions = put(tmp_path / "o.jsonl", answers("Paris")), put(tmp_path / "q.jsonl", QUESTIONS)
    message = refused(score(tmp_path, outputs, "-p", "reference", "-q", questions, "--param", "least=1"))
    assert "Unknown parameter of reference 'least'. There are none." in message


def test_means_over_fewer_questions_say_over_how_many(tmp_path: Path) -> None:
    rows = "question_id,run_id,faithfulness,relevance\na,r,0.5,0.2\nb,r,1.0,\nc,r,0.1,0.4\n"
    (tmp_path / "s.csv").write_text(rows, encoding="utf-8")
    store = str(tmp_path / "runs")
    words = ["import-scores", str(tmp_path / "s.csv"), "--score", "faithfulness", "--store", store]
    said = "r: relevance_avg over 2 of 3 questions; others have no value and count neither for the run nor against it."
    for found in (CliRunner().invoke(cli, words), CliRunner().invoke(cli, ["show", "r", "--store", store])):
        assert found.exit_code == 0 and said in found.output and "faithfulness_avg over" not in found.output
