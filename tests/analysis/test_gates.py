"""Gates: every statistic against its slow oracle, and the command from end to end."""

import csv
import io
import json
import math
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import gates as oracle
from rageval_batch.analysis.catalog import open_store
from rageval_batch.analysis.catalog_rows import GateRow, MetricRow, ProfileRow
from rageval_batch.analysis.gate_file import gates_of, read_gates
from rageval_batch.analysis.session import Session
from rageval_batch.cli import main
from rageval_batch.errors import DeclarationError, InputError
from rageval_batch.model import METRIC_STATS, OPS, Gate
from rageval_batch.profiles.registry import PROFILES
from rageval_batch.report.junit import Case, Suite, junit
from rageval_batch.resources import samples_folder
from rageval_batch.runs.store import Store
from support.command import run_command
from support.effort import examples
from support.gated_stores import SCHEMA, add_commit, score_row

HOSTILE = "=x'\"; drop table runs;--<script>&\x01\x1b[31m|`*\u202e門禁\n🙂"


# --- statistics against the oracle ------------------------------------------------------------------------------------

# The same columns with other ideas of a null, so that every kind of metric is gated.
METRICS = (
    MetricRow(profile="eval_json_v2", metric="score", null_counts_as=0.0),
    MetricRow(profile="eval_json_v2", metric="schema_ok"),
    MetricRow(
        profile="eval_json_v2",
        metric="grounding",
        numerator="grounding_ok_refs",
        denominator="grounding_total_refs",
    ),
)
VALUES = st.none() | st.floats(-100, 100).map(lambda x: round(x, 6)) | st.sampled_from([0.0, 1.0, 50.0])
PARTS = st.sampled_from([(None, None), (0, 0), (0, 3), (2, 3), (9, 9)])
ANSWERS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "score": VALUES,
        "schema_ok": st.none() | st.booleans(),
        "grounding": VALUES,
        "parts": PARTS,
        "fail_reason": st.sampled_from([None, None, "empty_output"]),
    }
)


@st.composite
def run_rows(draw: st.DrawFn) -> list[dict[str, Any]]:
    """The answers of a run, sometimes with repeats."""
    repeats = draw(st.sampled_from([1, 1, 2, 3]))
    rows = []
    for k in range(draw(st.integers(1, 5))):
        weight = draw(st.sampled_from([1.0, 1.0, 0.0, 0.25, 3.0, 1e30]))
        for repeat in range(draw(st.integers(1, repeats))):
            answer = draw(ANSWERS)
            ok, total = answer.pop("parts")
            row = {"question_id": f"q{k}", "repeat": repeat, "weight": weight, **answer}
            rows.append({**row, "grounding_ok_refs": ok, "grounding_total_refs": total})
    return rows


def catalog(gates: list[Gate], waived: bool = False, coverage: tuple[str, ...] = ()) -> list[ProfileRow]:
    """A profile with these gates; those named are on coverage."""
    rows = tuple(
        GateRow(
            profile="eval_json_v2",
            gate=g.name,
            metric=g.metric,
            stat=g.stat,
            op=g.op,
            limit=g.limit,
            level=g.level,
            failure=g.failure,
            waived=waived,
            coverage=g.name in coverage,
        )
        for g in gates
    )
    profile = ProfileRow(
        profile="eval_json_v2",
        schema=SCHEMA,
        run_stat="mean",
        score_top=100.0,
        metrics=METRICS,
        gates=rows,
        provenance=("model_id", "judge", "tool"),
    )
    return [profile]


@settings(max_examples=examples(12), deadline=None)
@given(
    st.lists(run_rows(), min_size=1, max_size=8),
    st.lists(st.tuples(st.sampled_from(OPS), st.sampled_from([0.0, 0.5, 1.0, 2.0, 50.0])), min_size=34, max_size=34),
)
def test_every_statistic_agrees_with_the_oracle(
    runs: list[list[dict[str, Any]]], rules: list[tuple[str, float]]
) -> None:
    wanted = [*((metric, stat) for metric in METRICS for stat in METRIC_STATS), (None, "usable_share")]
    gates = [
        Gate(f"g{k}", metric.metric if metric else "", stat, op=op, limit=limit)
        for k, ((metric, stat), (op, limit)) in enumerate(zip(wanted, rules, strict=True))
    ]
    with tempfile.TemporaryDirectory() as folder:
        add_commit(Path(folder), {f"run-{k}": rows for k, rows in enumerate(runs)})
        with Session(Store(folder), catalog(gates)) as session:
            found = {(row["run_id"], row["gate"]): row for row in session.rows("from gate_results")}
    assert len(found) == len(runs) * len(gates)
    for k, rows in enumerate(runs):
        for gate, (metric, stat) in zip(gates, wanted, strict=True):
            parts = (
                (metric.numerator, metric.denominator) if metric and metric.numerator and metric.denominator else None
            )
            actual = oracle.figure(rows, gate.metric, stat, metric.null_counts_as if metric else None, parts)
            row = found[f"run-{k}", gate.name]
            assert (row["actual"] is None) == (actual is None), (gate, rows)
            if actual is not None:
                assert math.isclose(row["actual"], actual, rel_tol=1e-9, abs_tol=1e-9), (gate, rows)
                if abs(abs(actual - Fraction(gate.limit)) - oracle.TOLERANCE) < Fraction(1, 10**12):
                    continue
            assert row["status"] == oracle.status(actual, gate.op, gate.limit), (gate, row)
            assert row["failure"] == ("QualityGateFailure" if row["status"] == "failed" else None)


APPLYING = {"applies": ("schema_ok", 0.0), "fails": ("schema_ok", 9.0), "skipped": ("grounding", 0.0)}


@settings(max_examples=examples(40), deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(sorted(APPLYING)), st.booleans(), st.sampled_from(["", "initial"])),
        min_size=1,
        max_size=5,
    )
)
def test_a_run_that_no_gate_on_quality_applies_to_has_nothing_to_judge(kinds: list[tuple[str, bool, str]]) -> None:
    gates = [
        Gate(f"g{k}", metric, "mean", op=">=", limit=limit, level=level)
        for k, (kind, _, level) in enumerate(kinds)
        for metric, limit in [APPLYING[kind]]
    ]
    coverage = tuple(f"g{k}" for k, (_, on_coverage, _) in enumerate(kinds) if on_coverage)
    with tempfile.TemporaryDirectory() as folder:
        add_commit(Path(folder), {"a": [score_row("q", 1.0, schema_ok=True)]})
        with Session(Store(folder), catalog(gates, coverage=coverage)) as session:
            rows = session.rows("from gate_results")
    for level in ("", "initial"):
        mine = [(kind, on_coverage) for kind, on_coverage, its in kinds if its == level]
        statuses = [({"applies": "passed", "fails": "failed"}.get(kind, kind), flag) for kind, flag in mine]
        found = [row for row in rows if row["gate"] == "applicable_gates" and row["level"] == level]
        assert len(found) == bool(mine and oracle.nothing_to_judge(statuses)), (level, kinds)
        assert all((row["status"], row["failure"]) == ("failed", "nothing to judge") for row in found)


def test_gates_agree_with_run_summary_to_the_last_bit(tmp_path: Path) -> None:
    rows = [score_row(f"q{k}", k / 7, weight=1 + k / 3, schema_ok=k % 3 == 0) for k in range(50)]
    add_commit(tmp_path, {"a": rows, "b": [{**row, "repeat": r} for row in rows[:9] for r in (0, 1)]})
    stats = ("mean", "weighted_mean", "min", "max", "sum", "p50", "p90", "p95")
    gates = [Gate(stat, "score", stat, op=">=", limit=0.0) for stat in stats]
    with Session(Store(tmp_path), catalog(gates)) as session:
        summary = {row["run_id"]: row for row in session.rows("from run_summary where metric = 'score'")}
        for row in session.rows("from gate_results"):
            assert row["actual"] == summary[row["run_id"]][row["stat"]]


@pytest.mark.parametrize(
    ("op", "actual", "status"),
    [
        (">=", 0.98 - 5e-10, "passed"),
        (">=", 0.98 - 2e-9, "failed"),
        ("<=", 0.98 + 5e-10, "passed"),
        ("<=", 0.98 + 2e-9, "failed"),
        (">", 0.98 + 5e-10, "failed"),
        (">", 0.98 + 2e-9, "passed"),
        ("<", 0.98 - 5e-10, "failed"),
        ("<", 0.98 - 2e-9, "passed"),
        ("==", 0.98 + 5e-10, "passed"),
        ("==", 0.98 + 2e-9, "failed"),
    ],
)
def test_limits_hold_within_a_tolerance(tmp_path: Path, op: str, actual: float, status: str) -> None:
    add_commit(tmp_path, {"a": [score_row("q", actual)]})
    with Session(Store(tmp_path), catalog([Gate("g", "score", "mean", op=op, limit=0.98)])) as session:
        assert session.rows("from gate_results")[0]["status"] == status


def test_statistics_of_a_run(tmp_path: Path) -> None:
    rows = [score_row("q1", 1.0), score_row("q2", 0.0, fail_reason="missing_output")]
    gates = [
        Gate("answered", "", "answered_share", op="==", limit=1.0, failure="SystemError"),
        Gate("record", "", "missing_provenance", op="==", limit=0.0, failure="MissingProvenance"),
    ]
    metas = {"a": {"meta": [("judge", "j")]}, "b": {"model_id": " ", "question_count": 0}}
    add_commit(tmp_path, {"a": rows, "b": rows}, **metas)
    for waived in (False, True):
        with Session(Store(tmp_path), catalog(gates, waived)) as session:
            found = {(row["run_id"], row["gate"]): row for row in session.rows("from gate_results")}
        verdict = "skipped" if waived else "failed"
        assert [found["a", "answered"][name] for name in ("actual", "status", "n")] == [0.5, verdict, 2]
        assert found["b", "answered"]["status"] == "skipped"  # no eval set to be answered
        assert found["a", "record"]["actual"] == 1.0
        assert found["a", "record"]["failure"] == (None if waived else "MissingProvenance: tool")
        assert found["b", "record"]["failure"] == (None if waived else "MissingProvenance: model_id, judge, tool")


def test_older_results_and_many_commits(tmp_path: Path) -> None:
    first = add_commit(tmp_path, {"a": [score_row("q", 10.0)]})
    add_commit(tmp_path, {"a": [score_row("q", 99.0, schema_ok=True)], "b@c": [score_row("q", 50.0)]})
    with open_store(tmp_path, functions=False, named=[f"a@{first.id}"]) as session:
        rows = session.rows("select run_id, actual from gate_results where gate = 'eval_score_avg' order by run_id")
        assert [tuple(row.values()) for row in rows] == [("a", 99.0), (f"a@{first.id}", 10.0), ("b@c", 50.0)]
        assert {row["run_id"] for row in session.rows("from gated(['b@c', 'none'])")} == {"b@c"}


# --- what gates a profile has -----------------------------------------------------------------------------------------


def gate_file(folder: Path, text: str) -> str:
    """A file of gates."""
    path = folder / "gates.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def table(**fields: Any) -> str:
    """A gate in TOML."""
    whole = {"name": "g", "metric": "score", "stat": "mean", "op": ">=", "limit": 1} | fields
    return "[[gate]]\n" + "".join(
        f"{k} = {json.dumps(v, ensure_ascii=False)}\n" for k, v in whole.items() if v is not None
    )


def test_a_file_adds_and_replaces_by_name(tmp_path: Path) -> None:
    text = table(name="eval_score_avg", limit=90) + table(name="mine", op="=")
    gates = gates_of(PROFILES["eval_json_v2"], read_gates(gate_file(tmp_path, text), PROFILES))
    assert [(g.name, g.op, g.limit, g.level) for g in gates] == [
        ("eval_score_avg", ">=", 90.0, ""),
        ("schema_pass_rate", ">=", 0.98, ""),
        ("provenance", "==", 0.0, ""),
        ("mine", "==", 1.0, ""),
    ]
    alone = read_gates(gate_file(tmp_path, "defaults = false\n" + text), PROFILES)
    assert [gate.name for gate in gates_of(PROFILES["eval_json_v2"], alone)] == ["eval_score_avg", "mine"]


def test_levels_are_written_out(tmp_path: Path) -> None:
    text = (
        table(name="schema_pass_rate", metric="schema_ok", limit=1, level="target")
        + table(name="own", limit=2, profile="eval_json_v2")
        + table(name="own", limit=3)
    )
    gates = gates_of(PROFILES["eval_json_v2"], read_gates(gate_file(tmp_path, text), PROFILES))
    limits = {(gate.name, gate.level): gate.limit for gate in gates}
    assert limits == {
        ("eval_score_avg", "initial"): 95.0, ("eval_score_avg", "target"): 95.0,
        ("schema_pass_rate", "initial"): 0.98, ("schema_pass_rate", "target"): 1.0,
        ("provenance", "initial"): 0.0, ("provenance", "target"): 0.0,
        ("own", "initial"): 2.0, ("own", "target"): 2.0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no gates"),
        ("gate = 3", "$.gate: Expected a list, got a whole number."),
        ("gates = []\nmore = 1", "$: Unknown key 'more'"),
        ("defaults = 1\n" + table(), "$.defaults: Expected true or false, got a whole number."),
        (table(stat="avg"), "$.gate[0].stat: 'avg' is not known. Allowed: mean"),
        (table() + table(name="h", op="=>"), "$.gate[1].op: '=>' is not known"),
        (table(level="prod"), "$.gate[0].level: 'prod' is not known. Allowed: initial, target"),
        (table(limit="95"), "$.gate[0].limit: Expected a number, got a text."),
        (table(limit=True), "$.gate[0].limit: Expected a number, got true or false."),
        (
            '[[gate]]\nname="g"\nmetric="score"\nop=">="\nlimit = nan\n',
            "limit: Expected a finite number, got nan",
        ),
        (table(limit=None), "$.gate[0]: limit is missing"),
        (table(limit=10**400), "$.gate[0].limit: Number out of range"),
        (table(name=None), "$.gate[0]: name is missing"),
        (table(name=""), "$.gate[0].name: must not be empty"),
        (table(metric=None), "$.gate[0]: metric is missing"),
        (table(metric="scor"), "Did you mean 'score'?"),
        (table(metric=["score"]), "$.gate[0].metric: Expected a text, got a list."),
        (table(stat="usable_share"), "usable_share is of a run"),
        (table(profile="eval"), "Unknown profile 'eval'"),
        (table(limits=3), "$.gate[0]: Unknown key 'limits'. Did you mean 'limit'?"),
        (table() + table(), "gate 'g' is there twice"),
        ("[[gate", "cannot be read"),
    ],
)
def test_a_bad_file_says_where(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        read_gates(gate_file(tmp_path, text), PROFILES)
    assert said in str(caught.value)
    assert "gates.toml" in str(caught.value)


@pytest.mark.parametrize(
    "wrong",
    [{"stat": "avg"}, {"op": "~"}, {"level": "x"}, {"limit": math.inf}, {"metric": ""}, {"stat": "usable_share"}],
)
def test_a_declaration_checks_itself(wrong: dict[str, Any]) -> None:
    with pytest.raises(DeclarationError):
        replace(Gate("g", "score", "mean", op=">=", limit=1.0), **wrong)


# --- the command ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs that pass, fail for a value, fail for their record; one with hostile names."""
    path = tmp_path_factory.mktemp("gates") / "runs"
    good = [score_row(f"q{k}", 100.0, schema_ok=True, grounding=1.0) for k in range(4)]
    broken = score_row("q4", 0.0, schema_ok=False, fail_reason="invalid_json")
    missing = score_row("q5", 0.0, schema_ok=False, fail_reason="missing_output")
    rows = {"good": good, "bad": [*good, broken, missing], "nameless": good, HOSTILE: [broken]}
    add_commit(path, rows, nameless={"model_id": None, "adapter_id": ""})
    return path


@pytest.fixture
def call(store: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Any]:
    """`rageval gate …` on the store: (exit code, stdout, stderr)."""

    def run(*words: str, at: Path = store) -> tuple[int, str, str]:
        return run_command(capsys, "gate", *words, "--store", at)

    yield run


def test_json_of_a_run_that_passes(call: Any) -> None:
    code, out, _ = call("good", "--format", "json")
    found = json.loads(out)
    assert code == 0
    assert (found["run_id"], found["pass_fail"]) == ("good", "pass")
    assert found["metrics"] == {"eval_score_avg": 100.0, "schema_pass_rate": 1.0}
    assert found["failing_gates"] == found["skipped_gates"] == found["failing_claims"] == []
    assert [gate["status"] for gate in found["gates"]] == ["passed"] * 3
    assert found["provenance"]["model_id"] == "known"
    assert (found["signature"], found["version"], found["params_sha256"]) == ("made", "0", "4567")


def test_json_of_a_run_that_fails(call: Any) -> None:
    code, out, _ = call("bad", "--format", "json")
    found = json.loads(out)
    assert (code, found["pass_fail"]) == (1, "fail")
    failing = [{k: gate[k] for k in ("name", "actual", "limit", "failure")} for gate in found["failing_gates"]]
    assert failing == [
        {"name": "eval_score_avg", "actual": 400 / 6, "limit": 95.0, "failure": "QualityGateFailure"},
        {"name": "schema_pass_rate", "actual": 4 / 6, "limit": 0.98, "failure": "QualityGateFailure"},
    ]


def test_provenance_is_a_gate(call: Any) -> None:
    code, out, _ = call("nameless", "--format", "json")
    found = json.loads(out)
    assert code == 1
    assert [(g["name"], g["actual"], g["failure"]) for g in found["failing_gates"]] == [
        ("provenance", 2.0, "MissingProvenance: model_id, adapter_id")
    ]
    code, out, _ = call("nameless", "--allow-missing-provenance", "--format", "json")
    found = json.loads(out)
    assert (code, found["pass_fail"]) == (0, "pass")
    assert found["skipped_gates"] == [{"name": "provenance", "reason": "allowed to be missing"}]


def test_one_object_for_one_run_and_an_array_for_several(call: Any) -> None:
    assert isinstance(json.loads(call("good", "--format", "json")[1]), dict)
    code, out, err = call("good", "bad", "good", "--format", "json")
    assert code == 1
    assert [found["run_id"] for found in json.loads(out)] == ["good", "bad"]
    assert "1 passed, 1 failed" in err
    everything = json.loads(call("--all", "--format", "json")[1])
    assert {found["run_id"] for found in everything} == {"good", "bad", "nameless", HOSTILE}
    lines = call("--all", "--format", "jsonl")[1].splitlines()
    assert [json.loads(line) for line in lines] == everything


def test_a_store_of_one_run_gated_with_all_is_an_array(call: Any, tmp_path: Path) -> None:
    add_commit(tmp_path, {"only": [score_row("q", 100.0, schema_ok=True)]})
    assert len(json.loads(call("--all", "--format", "json", at=tmp_path)[1])) == 1


def test_a_gate_with_nothing_to_apply_to_is_skipped_and_shown(call: Any, tmp_path: Path) -> None:
    """eval_json_v2 has no parts for its score, so its micro mean does not exist."""
    path = gate_file(tmp_path, table(name="hollow", stat="micro", failure="Hollow"))
    code, out, _ = call("good", "--gates", path, "--format", "json")
    found = json.loads(out)
    assert (code, found["skipped_gates"]) == (0, [{"name": "hollow", "reason": "no value of score"}])
    assert found["metrics"]["hollow"] is None
    assert "hollow" in call("good", "--gates", path)[1]
    alone = gate_file(tmp_path, "defaults = false\n" + table(name="hollow", stat="micro"))
    code, out, _ = call("good", "--gates", alone, "--format", "json")
    found = json.loads(out)
    assert (code, found["pass_fail"]) == (1, "fail")
    assert found["failing_gates"] == [
        {
            "name": "applicable_gates", "actual": 0.0, "limit": 1.0, "failure": "nothing to judge", "metric": None,
            "stat": "applicable_gates", "op": ">=", "n": 1,
        }
    ]  # fmt: skip
    assert found["metrics"] == {"hollow": None}
    for form in ("table", "md", "junit", "csv", "jsonl"):
        code, out, _ = call("good", "--gates", alone, "--format", form)
        assert code == 1 and "nothing to judge" in out


def test_levels(call: Any, tmp_path: Path) -> None:
    path = gate_file(
        tmp_path,
        table(name="grounding", metric="grounding", limit=0.5, level="initial", failure="Loose")
        + table(name="grounding", metric="grounding", limit=1.5, level="target", failure="Strict"),
    )
    assert call("good", "--gates", path)[0] == 0
    code, out, _ = call("good", "--gates", path, "--level", "target", "--format", "json")
    found = json.loads(out)
    assert (code, found["level"]) == (1, "target")
    assert [(g["name"], g["limit"], g["failure"]) for g in found["failing_gates"]] == [("grounding", 1.5, "Strict")]
    assert {gate["level"] for gate in found["gates"]} == {"target"}
    only = gate_file(tmp_path, "defaults = false\n" + table(level="target"))
    code, _, err = call("good", "--gates", only)
    assert code == 2
    assert "no gates of level initial" in err


def test_replacing_a_gate_opens_it(call: Any, tmp_path: Path) -> None:
    text = table(name="eval_score_avg", limit=60) + table(name="schema_pass_rate", metric="schema_ok", limit=0.6)
    assert call("bad", "--gates", gate_file(tmp_path, text))[0] == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nobody",), "Unknown run 'nobody'"),
        (("god",), "Did you mean 'good'?"),
        ((), "Name the runs to gate, or give --all"),
        (("good", "--all"), "Name the runs to gate, or give --all"),
        (("good", "--gates", "/nowhere/gates.toml"), "Cannot read /nowhere/gates.toml"),
        (("good", "--level", "prod"), "'prod' is not one of"),
        (("good", "-p", "include_rate"), "not with this profile"),
        (("--all", "--eval-set", "other"), "no run of that profile or eval set"),
        (("good", "--format", "parquet"), "needs a file"),
        (("good", "--format", "parquet", "-o", "/nowhere/x.parquet"), "Cannot write /nowhere/x.parquet"),
        (("good", "-o", "/nowhere/x.txt"), "Cannot write /nowhere/x.txt"),
    ],
)
def test_errors_are_a_sentence_and_exit_2(call: Any, words: tuple[str, ...], said: str) -> None:
    code, out, err = call(*words)
    assert (code, out) == (2, "")
    assert said in err


def test_an_empty_store_is_exit_2(call: Any, tmp_path: Path) -> None:
    for words in (("good",), ("--all",)):
        code, _, err = call(*words, at=tmp_path / "none")
        assert code == 2
        assert "There is no store" in err


def test_a_profile_without_gates_is_exit_2(call: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = PROFILES["eval_json_v2"]
    bare = replace(own, gates=(), summary=replace(own.summary, provenance=()))
    monkeypatch.setitem(PROFILES, "eval_json_v2", bare)
    code, _, err = call("good")
    assert code == 2
    assert "has no gates of its own. Give some with --gates" in err
    assert call("good", "--gates", gate_file(tmp_path, table()))[0] == 0


def test_table_shows_every_gate(call: Any) -> None:
    code, out, err = call("--all")
    assert code == 1
    assert "PASS  good" in out and "FAIL  bad" in out and "FAIL  nameless" in out
    assert "schema_pass_rate  failed  0.6666666666666666  >= 0.98" in out
    assert "MissingProvenance: model_id, adapter_id" in out
    assert "1 passed, 3 failed" in err
    assert "\x1b" not in out and "\x01" not in out and "\u202e" not in out


def test_a_failing_value_is_not_rounded_to_its_limit(call: Any, tmp_path: Path) -> None:
    add_commit(tmp_path, {"near": [score_row("q", 94.9999999, schema_ok=True)]})
    assert "94.9999999" in call("near", at=tmp_path)[1]


def test_many_runs_are_a_line_each(call: Any, tmp_path: Path) -> None:
    rows = {f"run-{k:03d}": [score_row("q", float(k), schema_ok=True)] for k in range(60, 110)}
    add_commit(tmp_path, rows)
    lines = call("--all", at=tmp_path)[1].splitlines()
    assert lines[1].startswith("run-060") and "FAIL" in lines[1] and "eval_score_avg 60" in lines[1]
    assert "PASS" in lines[-1]
    text = call("--all", "--format", "md", at=tmp_path)[1]
    assert "35 of 50 runs failed" in text
    assert "and 3 more that passed" in text
    assert len(text) < 10_000


def test_markdown_of_a_failing_run_is_about_ten_lines(call: Any) -> None:
    code, out, _ = call("bad", "--format", "md")
    assert code == 1
    assert len(out.splitlines()) <= 10
    assert "**FAIL** bad" in out
    assert "| eval\\_score\\_avg | 66.66666666666667 | &gt;= 95 | 6 | QualityGateFailure |" in out
    passed = [line for line in call("good", "--format", "md")[1].splitlines() if line]
    assert len(passed) == 2 and passed[1].startswith("- **PASS** good")
    hostile = call(HOSTILE, "--format", "md")[1]
    assert "<script>" not in hostile and "\x1b" not in hostile


def test_junit(call: Any, tmp_path: Path) -> None:
    path = gate_file(tmp_path, table(name=HOSTILE, stat="micro") + table(name="hot", op="<", failure=HOSTILE))
    code, out, _ = call("--all", "--gates", path, "--format", "junit")
    root = ET.fromstring(out)
    assert code == 1
    suites = {suite.get("name"): suite for suite in root}
    assert len(suites) == 4
    assert [suites["good"].get(name) for name in ("tests", "failures", "skipped")] == ["5", "1", "1"]
    cases = {case.get("name"): case for case in suites["bad"]}
    failure = cases["eval_score_avg"].find("failure")
    assert failure is not None
    message = "eval_score_avg: mean of score is 66.66666666666667, must be >= 95 (n 6): QualityGateFailure"
    assert failure.get("message") == message
    assert sum(case.find("skipped") is not None for case in suites["good"]) == 1


@settings(deadline=None)
@given(st.text(st.characters()), st.text(st.characters(exclude_categories=())), st.text())
def test_junit_is_well_formed_whatever_it_holds(suite: str, name: str, message: str) -> None:
    cases = tuple(Case(name, status, message) for status in ("passed", "failed", "skipped"))
    text = junit([Suite(suite, cases), Suite("empty", ())])
    root = ET.fromstring(text.encode())
    assert [root.get(name) for name in ("tests", "failures", "skipped")] == ["3", "1", "1"]
    if suite.isprintable():
        assert root[0].get("name") == suite


def test_csv_and_parquet_have_a_row_a_gate(call: Any, tmp_path: Path) -> None:
    target = tmp_path / "gates.parquet"
    assert call("--all", "--format", "parquet", "-o", str(target))[0] == 1
    rows = pq.read_table(target).to_pylist()
    assert len(rows) == 12
    assert pq.read_schema(target).field("failure").type == pa.string()
    listed = list(csv.DictReader(io.StringIO(call("--all", "--format", "csv")[1])))
    assert [row["gate"] for row in listed] == [row["gate"] for row in rows]
    assert {row["run_id"].removeprefix("'") for row in listed} == {row["run_id"] for row in rows}
    only = tmp_path / "good.parquet"
    assert call("good", "--format", "parquet", "-o", str(only))[0] == 0
    assert pq.read_schema(only) == pq.read_schema(target)


def test_the_view_is_there_for_sql(store: Path) -> None:
    with open_store(store, functions=False) as session:
        table = session.sql("from gate_results")
    assert table.column_names == [
        "run_id", "profile", "eval_set", "gate", "metric", "stat", "actual", "op", "limit", "level", "status",
        "failure", "n",
    ]  # fmt: skip
    assert table.num_rows == 12


def test_same_bits_on_every_thread_count(tmp_path: Path) -> None:
    rows = {f"r{r}": [score_row(f"q{k}", (k * 37 + r) % 101 / 3, weight=k / 7) for k in range(400)] for r in range(20)}
    add_commit(tmp_path, rows)
    gates = [Gate(stat, "score", stat, op=">=", limit=0.0) for stat in METRIC_STATS]
    found = []
    for threads in (1, 2, 5):
        with Session(Store(tmp_path), catalog(gates)) as session:
            session.sql(f"set threads = {threads}")
            found.append(session.rows("from gate_results order by run_id, gate"))
    assert found[0] == found[1] == found[2]


# --- levels and coverage of scored runs -------------------------------------------------------------------------------


def claim_run(supported: int, of: int, **fields: Any) -> dict[str, Any]:
    """An answer with so many claims that are supported, each with an evidence item that supports it."""
    claims = [
        {"text": "x", "supported": k < supported, "evidence": [{"evidence_id": f"e{k}", "supports": True}]}
        for k in range(of)
    ]
    return {"claims": claims, **fields}


@pytest.fixture
def scored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """Score one answer a run by claim_evidence, then call `rageval`: (exit code, stdout)."""

    def call(*words: str) -> tuple[Any, str]:
        with pytest.raises(SystemExit) as left:
            main([*words, "--store", str(tmp_path / "runs")])
        return left.value.code, capsys.readouterr().out

    def score(runs: dict[str, Any], *params: str) -> None:
        questions, outputs = tmp_path / "gold.jsonl", tmp_path / f"{'-'.join(runs)}.jsonl"
        questions.write_text('{"task_id": "t", "query": "x"}', encoding="utf-8")
        lines = [json.dumps({"run_id": run, "task_id": "t", "output": output}) for run, output in runs.items()]
        outputs.write_text("\n".join(lines), encoding="utf-8")
        given = [word for param in params for word in ("--param", param)]
        assert call("score", str(outputs), "-p", "claim_evidence", "-q", str(questions), *given)[0] == 0

    call.score = score  # type: ignore[attr-defined]
    return call


def test_the_level_of_a_run_is_its_parameter(scored: Any) -> None:
    """17 of 20 claims are 0.85: enough for the level initial (0.85), not for target (0.90)."""
    scored.score({"loose": claim_run(17, 20)})
    scored.score({"strict": claim_run(17, 20)}, "level=target")
    assert scored("gate", "loose")[0] == 0
    code, out = scored("gate", "loose", "strict", "--format", "json")
    loose, strict = json.loads(out)
    assert code == 1
    assert (loose["level"], loose["pass_fail"]) == ("initial", "pass")
    assert (strict["level"], strict["pass_fail"]) == ("target", "fail")
    assert [(gate["name"], gate["actual"], gate["limit"]) for gate in strict["failing_gates"]] == [
        ("claim_precision", 0.85, 0.9)
    ]
    assert {gate["level"] for gate in strict["gates"]} == {"target"}
    code, out = scored("gate", "--all")
    assert code == 1 and "PASS  loose  level initial" in out and "FAIL  strict  level target" in out
    assert "level target" in scored("gate", "strict", "--format", "md")[1]
    assert scored("gate", "--all", "--level", "initial")[0] == 0
    both = json.loads(scored("gate", "--all", "--level", "target", "--format", "json")[1])
    assert [(run["level"], run["pass_fail"]) for run in both] == [("target", "fail")] * 2


def test_a_rescored_run_has_the_level_of_its_newest_result(scored: Any) -> None:
    scored.score({"run": claim_run(17, 20)})
    assert scored("gate", "run")[0] == 0
    assert scored("rescore", "run", "--param", "level=target")[0] == 0
    assert scored("gate", "run")[0] == 1


def test_a_run_with_nothing_but_coverage_fails(scored: Any) -> None:
    scored.score({"mute": {"answer": "I do not know."}, "speaking": claim_run(1, 1)})
    for level in ((), ("--level", "initial"), ("--level", "target")):
        code, out = scored("gate", "mute", *level, "--format", "json")
        found = json.loads(out)
        assert (code, found["pass_fail"]) == (1, "fail")
        assert [(gate["name"], gate["failure"]) for gate in found["failing_gates"]] == [
            ("applicable_gates", "nothing to judge")
        ]
        assert len(found["skipped_gates"]) == 7 and found["metrics"]["answered_share"] == 1.0
    for form in ("table", "md", "junit", "csv"):
        code, out = scored("gate", "--all", "--format", form)
        assert code == 1 and out.count("nothing to judge") == 1
    root = ET.fromstring(scored("gate", "mute", "--format", "junit")[1])
    assert [root.get(name) for name in ("tests", "failures", "skipped")] == ["9", "1", "7"]
    code, out = scored("sql", "select run_id from gate_results where gate = 'applicable_gates'", "--format", "json")
    assert [row["run_id"] for row in json.loads(out)] == ["mute", "mute"]  # at either level


def test_many_runs_say_that_there_is_nothing_to_judge(scored: Any) -> None:
    scored.score({f"mute-{k:02d}": {"answer": "I do not know."} for k in range(14)})
    assert scored("gate", "--all")[1].count("nothing to judge") == 14
    assert scored("gate", "--all", "--format", "md")[1].count("nothing to judge") == 14


# --- claims -----------------------------------------------------------------------------------------------------------


def test_claims_that_fail_are_read_again_from_the_inputs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A profile that knows claims lists those that do not hold, in the order of the questions."""

    def failing(prepared: Any, batch: pa.RecordBatch) -> list[dict[str, Any]]:
        long = [k for k, text in enumerate(batch.column("output").to_pylist()) if text.startswith("bad")]
        return [
            {"row": k, "claim_id": f"c{part}", "text": HOSTILE, "reason": "no_evidence"}
            for k in reversed(long)
            for part in (1, 2)
        ]

    own = PROFILES["eval_json_v2"]
    claiming = replace(own, scoring=replace(own.scoring, failing_claims=failing))
    monkeypatch.setitem(PROFILES, "eval_json_v2", claiming)
    questions = samples_folder() / "eval_json_v2" / "questions.json"
    ids = [question["id"] for question in json.loads(questions.read_text(encoding="utf-8"))]
    outputs = tmp_path / "outputs.jsonl"
    rows = [(run, question, f"{word}") for run, word in (("one", "bad"), ("two", "fine")) for question in ids[1::-1]]
    lines = [json.dumps({"run_id": r, "question_id": q, "output": o}) for r, q, o in rows]
    outputs.write_text("\n".join(lines), encoding="utf-8")
    place = ["--store", str(tmp_path / "runs")]

    def call(*words: str) -> tuple[Any, str]:
        with pytest.raises(SystemExit) as left:
            main([*words, *place])
        return left.value.code, capsys.readouterr().out

    assert call("score", str(outputs), "-p", "eval_json_v2", "-q", str(questions))[0] == 0
    code, out = call("gate", "one", "two", "--format", "json")
    one, two = json.loads(out)
    assert code == 1
    assert [(c["task_id"], c["claim_id"]) for c in one["failing_claims"]] == [
        (ids[0], "c1"), (ids[0], "c2"), (ids[1], "c1"), (ids[1], "c2"),
    ]  # fmt: skip
    assert one["failing_claims"][0] == {"task_id": ids[0], "claim_id": "c1", "text": HOSTILE, "reason": "no_evidence"}
    assert two["failing_claims"] == []
    assert "4 claims do not hold" in call("gate", "one")[1]
    assert "\x1b" not in call("gate", "one", "--format", "md")[1]
    outputs.unlink()
    gone = json.loads(call("gate", "one", "--format", "json")[1])
    assert gone["failing_claims"] == [] and "is gone" in gone["note"]
