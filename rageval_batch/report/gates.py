"""Gated runs for people and machines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from rageval_batch.analysis.gates import APPLICABLE_GATES, GatedRun, GateResult
from rageval_batch.report.cells import format_value, json_line, limit_text, truncate, value_text
from rageval_batch.report.formats import render
from rageval_batch.report.junit import Case, Suite, junit
from rageval_batch.report.layout import table
from rageval_batch.report.provenance import how_to_give
from rageval_batch.report.safe_text import markdown_text, terminal_text
from rageval_batch.report.screen import PLAIN, Screen, verdict_tone

FEW = 12  # runs whose gates are all shown; of more, a line a run
MOST_LINES = 40  # runs of a Markdown comment or a table
MOST_CLAIMS = 3  # of a failing run
_TEXT_ROOM = 100
_TONES = {"status": verdict_tone, "result": verdict_tone}
_COLUMNS = ("gate", "status", "actual", "limit", "n", "why")

ROWS = pa.schema(
    [
        *((name, pa.string()) for name in ("run_id", "profile", "eval_set", "pass_fail", "gate", "metric", "stat")),
        ("actual", pa.float64()), ("op", pa.string()), ("limit", pa.float64()), ("level", pa.string()),
        ("status", pa.string()), ("failure", pa.string()), ("n", pa.int64()), ("reason", pa.string()),
    ]
)  # fmt: skip


def gate_table(results: Sequence[GatedRun]) -> pa.Table:
    """A row a run and gate."""
    return pa.Table.from_pylist(_gate_rows(results), schema=ROWS)


def _gate_rows(results: Sequence[GatedRun]) -> list[dict[str, Any]]:
    return [row for result in results for row in result.rows()]


def gate_text(results: Sequence[GatedRun], format: str, single: bool, *, screen: Screen = PLAIN) -> str:
    """Results in a text format; `single` JSON is one object."""
    if format == "json":
        lines = [json_line(result.as_dict()) for result in results]
        return lines[0] if single else "[" + ",\n ".join(lines) + "]"
    if format == "jsonl":
        return "\n".join(json_line(result.as_dict()) for result in results)
    if format == "junit":
        return junit([_suite(result) for result in results])
    if format == "md":
        return _markdown(results)
    return _tables(results, screen) if format == "table" else render(_gate_rows(results), ROWS.names, format)


def _verdict(result: GatedRun) -> str:
    return "PASS" if result.passed else "FAIL"


def _level(result: GatedRun, format: str) -> str:
    return format.format(result.level) if result.has_levels else ""


def _rule(gate: GateResult) -> str:
    return f"{gate.stat} of {gate.metric}" if gate.metric else gate.stat.replace("_", " ")


def _against(gate: GateResult, exact: bool = False) -> tuple[str, str]:
    """(actual, limit) as they are shown: a failing value is not rounded so far that it looks like its limit."""
    return value_text(gate.actual, gate.limit, exact), f"{gate.op} {limit_text(gate.limit)}"


def _why(gate: GateResult) -> str:
    return gate.failure or gate.reason or ""


def _line(gate: GateResult, exact: bool = False) -> dict[str, Any]:
    actual, limit = _against(gate, exact)
    why = _why(gate).partition(": ")[0]
    return {"gate": gate.gate, "status": gate.status, "actual": actual, "limit": limit, "n": gate.n, "why": why}


def _brief(gate: GateResult, exact: bool, *, limit: bool = False) -> str:
    """A gate in a few words, for a line that has several; `limit`: with what it is not."""
    if gate.stat == APPLICABLE_GATES:
        return str(gate.failure)
    return f"{gate.gate} {' not '.join(_against(gate, exact)[: 1 + limit])}"


def _details(result: GatedRun) -> list[str]:
    """What a failure says beside its name: too long for a column; of missing fields, how they are given."""
    lines = []
    for gate in result.of_status("failed"):
        failure, _, names = _why(gate).partition(": ")
        if names:
            hint = f". {how_to_give(names.split(', '))}" if gate.stat == "missing_provenance" else ""
            lines.append(f"{gate.gate}: {failure}: {names}{hint}")
    return lines


def _gate_sentence(gate: GateResult) -> str:
    """A gate in one sentence of a file."""
    actual, limit = _against(gate, exact=True)
    if gate.status == "skipped":
        return f"{gate.gate}: skipped, {gate.reason}"
    return f"{gate.gate}: {_rule(gate)} is {actual}, must be {limit} (n {gate.n}): {_why(gate)}"


# --- table ----------------------------------------------------------------------------------------------------------


def _tables(results: Sequence[GatedRun], screen: Screen) -> str:
    if len(results) > FEW:
        return _overview(results, screen)
    parts = []
    for result in results:
        verdict = screen.paint(_verdict(result), verdict_tone(result.passed))
        parts.append(f"{verdict}  {format_value(result.run.record['run_id'])}" + _level(result, "  level {}"))
        parts.append(table([_line(gate, screen.exact) for gate in result.gates], _COLUMNS, screen, tones=_TONES))
        notes = [
            *_details(result),
            *result.unanswered,
            *([result.note] if result.note else []),
            *_claims(result, screen.exact),
        ]
        parts.append("\n".join([*map(terminal_text, notes), ""]))
    return "\n".join(parts).rstrip("\n")


def _overview(results: Sequence[GatedRun], screen: Screen) -> str:
    """A line a run, those that fail first; a screen shows so many and says how many more there are."""
    ordered = sorted(results, key=lambda result: result.passed)
    ordered = ordered if screen.exact else ordered[:MOST_LINES]
    rows = [
        {
            "run_id": result.run.record["run_id"],
            "result": _verdict(result),
            "failed": ", ".join(_brief(gate, screen.exact) for gate in result.of_status("failed")),
            "skipped": ", ".join(gate.gate for gate in result.of_status("skipped")),
        }
        for result in ordered
    ]
    more = len(results) - len(ordered)
    columns = [name for name in rows[0] if name != "skipped" or any(row["skipped"] for row in rows)]
    lines = [table(rows, columns, screen, optional=("skipped",), tones=_TONES)]
    return "\n".join([*lines, *([f"… and {more:,} more runs. --format csv or -o FILE has all."] if more else [])])


def _claims(result: GatedRun, whole: bool = False) -> list[str]:
    """The first claims that do not hold; `whole`: all of them, uncut."""
    if result.passed or not result.failing_claims:
        return []
    lines = []
    for claim in result.failing_claims if whole else result.failing_claims[:MOST_CLAIMS]:
        head = f"{format_value(claim['task_id'])} {format_value(claim['claim_id'])}: {claim['reason']}: "
        text = format_value(claim["text"])
        lines.append(head + (text if whole else truncate(text, max(_TEXT_ROOM - len(head), _TEXT_ROOM // 3))))
    more = len(result.failing_claims) - len(lines)
    return [f"{len(result.failing_claims)} claims do not hold:", *lines, *([f"… and {more} more"] if more else [])]


# --- Markdown -------------------------------------------------------------------------------------------------------


def _markdown(results: Sequence[GatedRun]) -> str:
    """For a pull request: a failing run explains itself, a passing one is a line; many are cut."""
    failed = [result for result in results if not result.passed]
    passed = [result for result in results if result.passed]
    lines = [
        f"### Gates: {len(failed)} of {len(results)} runs failed"
        if failed
        else f"### Gates: {_all(len(passed))} passed"
    ]
    full = failed[: FEW // 2]
    for result in full:
        lines += ["", *_failed_run(result)]
    if len(failed) > len(full):
        lines += ["", *(_failed_line(result) for result in failed[len(full) : MOST_LINES])]
        lines += [f"- … and {len(failed) - MOST_LINES} more that failed"] if len(failed) > MOST_LINES else []
    if passed:
        lines += ["", *(_passed_line(result) for result in passed[:FEW])]
        lines += [f"- … and {len(passed) - FEW} more that passed"] if len(passed) > FEW else []
    return "\n".join(lines)


def _all(count: int) -> str:
    return "the run" if count == 1 else f"all {count} runs"


def _failed_run(result: GatedRun) -> list[str]:
    lines = [f"**FAIL** {_md_run(result)}", ""]
    rows = [_line(gate, exact=True) for gate in result.of_status("failed")]
    lines.append(render(rows, ("gate", "actual", "limit", "n", "why"), "md"))
    if details := [*_details(result), *result.unanswered]:
        lines += ["", *map(markdown_text, details)]
    if skipped := result.of_status("skipped"):
        lines += ["", "Skipped: " + ", ".join(markdown_text(gate.gate) for gate in skipped)]
    if claims := _claims(result):
        lines += ["", *(f"- {markdown_text(line)}" if k else line for k, line in enumerate(claims))]
    return lines


def _failed_line(result: GatedRun) -> str:
    return f"- **FAIL** {_md_run(result)}: " + markdown_text(
        "; ".join(_brief(gate, True, limit=True) for gate in result.of_status("failed"))
    )


def _passed_line(result: GatedRun) -> str:
    parts = [_brief(gate, True) for gate in result.of_status("passed")]
    parts += [f"{gate.gate} skipped" for gate in result.of_status("skipped")]
    return f"- **PASS** {_md_run(result)}: " + markdown_text("; ".join([", ".join(parts), *result.unanswered]))


def _md_run(result: GatedRun) -> str:
    record = result.run.record
    return markdown_text(
        f"{format_value(record['run_id'])} ({record['profile']}, {record['eval_set']}{_level(result, ', level {}')})"
    )


# --- JUnit ----------------------------------------------------------------------------------------------------------


def _suite(result: GatedRun) -> Suite:
    cases = [
        Case(
            gate.gate,
            gate.status,
            "" if gate.status == "passed" else _gate_sentence(gate),
            note=result.unanswered_by_gate.get(gate.gate, ""),
        )
        for gate in result.gates
    ]
    return Suite(result.run.record["run_id"], tuple(cases))
