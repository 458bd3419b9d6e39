"""Comparisons for people and for CI."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rageval_batch.analysis.compared_runs import ComparedRuns
from rageval_batch.analysis.comparison import SIGNIFICANT, Comparison, Rules
from rageval_batch.analysis.paired_units import MISSING, NULL, Mover
from rageval_batch.errors import IncompatibleRuns
from rageval_batch.report.cells import count_text, format_value, json_line, limit_text, value_text
from rageval_batch.report.differences import Pieces, beginning, marked_differences
from rageval_batch.report.formats import and_more, render, titled
from rageval_batch.report.junit import Case, Suite, junit
from rageval_batch.report.layout import prose
from rageval_batch.report.readable import ESCAPES_READ, without_escapes
from rageval_batch.report.safe_text import markdown_text, terminal_text
from rageval_batch.report.screen import PLAIN, Screen, delta_tone, verdict_tone

COLUMNS = (
    "base_run", "candidate_run", "profile", "metric", "stat", "base", "candidate", "delta", "paired_delta",
    "interval_low", "interval_high",
    "p_value", "p_holm", "improvements", "regressions", "ties", "only_base_count", "only_cand_count", "passed",
)  # fmt: skip
_PAIRED = "paired"  # the mean delta of the shared units, of which the interval is
_LOW, _HIGH = "95% low", "high"
_SHOWN_IDS = 12  # of a list, for people
_SHOWN_ANSWERS = 3
_ANSWER = 400  # characters
_ABSENT = {NULL: "(the answer is null)", MISSING: "(no answer)"}


def compare_text(results: Sequence[Comparison], format: str, screen: Screen = PLAIN) -> str:
    """Comparisons in one of the text formats; one object of JSON for one candidate, an array for several."""
    if format == "json":
        objects = [result.as_dict() for result in results]
        return json_line(objects[0] if len(objects) == 1 else objects)
    if format == "jsonl":
        return "\n".join(json_line(result.as_dict()) for result in results)
    if format == "junit":
        return junit(
            [
                Suite(f"{r.compared.base.name} -> {r.candidate.name}", tuple(_cases(r, exact=True, ids=None)))
                for r in results
            ]
        )
    if format not in ("table", "md"):
        return render(compare_rows(results), COLUMNS, format)
    return (
        _one_comparison(results[0], format, screen) if len(results) == 1 else _many_comparisons(results, format, screen)
    )


def compare_rows(results: Sequence[Comparison]) -> list[dict[str, Any]]:
    """A flat row for each candidate."""
    return [{name: whole[name] for name in COLUMNS} for whole in (result.as_dict() for result in results)]


def mismatch_text(error: IncompatibleRuns, format: str) -> str | None:
    """What a program reads where runs must not be compared; null where there is no such form of it."""
    if format == "json" and error.found:
        return json_line(error.found[0] if len(error.found) == 1 else error.found)
    if format == "junit":
        return junit([Suite("compare", (Case("compatible", "failed", str(error)),))])
    return None


def _cases(result: Comparison, *, exact: bool, ids: int | None) -> list[Case]:
    """A check for every rule; `exact`: with all digits; `ids`: how many questions are named, null: all listed ones."""
    rules = result.rules
    if rules.fail_on == SIGNIFICANT:
        return [Case("no significant drop", "passed" if result.passed else "failed", _interval(result, exact))]
    enough = result.delta is not None and rules.passed(result.delta, 0, result.interval)
    few = result.regressions <= rules.max_regressions
    worse = and_more(result.listed["regressed"], result.regressions, ids)
    return [
        Case(
            "delta",
            "passed" if enough else "failed",
            _delta_words(result, exact),
        ),
        Case(
            "regressions",
            "passed" if few else "failed",
            f"{count_text(result.regressions, 'regression')}, at most {rules.max_regressions} allowed"
            + (f": {worse}" if worse else ""),
        ),
    ]


def _delta_words(result: Comparison, exact: bool) -> str:
    """The delta beside the least that it must be; where there is none, why."""
    least = result.rules.min_delta
    if result.delta is None:
        runs = ((result.compared.base.name, result.base_score), (result.candidate.name, result.cand_score))
        without = [f"'{name}'" for name, score in runs if score is None]
        have = "has" if len(without) == 1 else "have"
        return (
            f"there is no delta: {' and '.join(without)} {have} no {result.compared.metric}, as no "
            f"{result.compared.unit} has a value and a weight above 0"
        )
    return f"the delta is {value_text(result.delta, least, exact)} and must be at least {limit_text(least)}"


def rule_text(rules: Rules) -> str:
    """The rules of a comparison in words, with the options that change them."""
    if rules.fail_on == SIGNIFICANT:
        return "Fails only on a drop that the 95 % interval shows (--fail-on significant)."
    worse = (
        "on any regression; allow some with --max-regressions"
        if rules.max_regressions == 0
        else f"on more than {count_text(rules.max_regressions, 'regression')} (--max-regressions)"
    )
    least = (
        "on a worse score" if rules.min_delta == 0 else f"on a delta below {limit_text(rules.min_delta)} (--min-delta)"
    )
    return f"Fails {least} and {worse}."


def _interval(result: Comparison, exact: bool) -> str:
    low, high = (format_value(end, exact) for end in (result.interval.low, result.interval.high))
    return f"95 % interval of the delta {low} to {high}"


def paired_words(result: Comparison, exact: bool = False) -> str:
    """What the interval is of, where the delta of the whole runs is another number; else nothing."""
    if not result.is_of_more_than_pairs:
        return ""
    unit = result.compared.unit
    return (
        f"The delta is of the whole runs. Interval and p are of the {count_text(result.shared, unit)} with a value in "
        f"both, whose {result.compared.paired_stat} delta is {format_value(result.paired_delta, exact)}."
    )


def _verdict(result: Comparison, exact: bool, *, ids: int | None) -> str:
    failed = [case.message for case in _cases(result, exact=exact, ids=ids) if case.status == "failed"]
    return "PASSED" if result.passed else "FAILED: " + "; ".join(failed)


def _head(title: str, verdict: str, passed: bool, *, format: str, screen: Screen) -> list[str]:
    """What was compared, and how it ended."""
    if format == "md":
        return [f"## {markdown_text(title)}", f"**{markdown_text(verdict)}**"]
    said = prose(terminal_text(verdict), screen)
    return [prose(terminal_text(title), screen), screen.paint(said, verdict_tone(passed))]


def _one_comparison(result: Comparison, format: str, screen: Screen) -> str:
    compared = result.compared
    exact = format == "md" or screen.exact
    most = None if format == "table" and screen.exact else _SHOWN_IDS  # Markdown has to fit into a comment
    line = {
        "base": result.base_score,
        "candidate": result.cand_score,
        "delta": result.delta,
        **({_PAIRED: result.paired_delta} if result.is_of_more_than_pairs else {}),
        _LOW: result.interval.low,
        _HIGH: result.interval.high,
        "p": result.p_value,
        "better": result.improvements,
        "worse": result.regressions,
        "same": result.ties,
    }
    title = f"{compared.base.name} -> {result.candidate.name}: {_measure(compared)}"
    parts = [
        *_head(title, _verdict(result, exact, ids=most), result.passed, format=format, screen=screen),
        _paragraph(rule_text(result.rules), format, screen),
        render([line], list(line), format, screen=screen, tones={"delta": delta_tone, _PAIRED: delta_tone}),
        *(_paragraph(note, format, screen) for note in (paired_words(result, exact), *result.notes) if note),
    ]
    for name, count, what in (
        ("only_base", result.only_base_count, "with a value in the base only"),
        ("only_cand", result.only_cand_count, "with a value in the candidate only"),
    ):
        if count:
            ids = and_more(result.listed[name], count, most)
            parts.append(_paragraph(f"{count_text(count, compared.unit)} {what}: {ids}", format, screen))
    for side, repeats in (("base", result.base_repeats), ("candidate", result.cand_repeats)):
        if repeats:
            values = ", ".join(f"{name} {format_value(value, exact)}" for name, value in repeats.items())
            parts.append(_paragraph(f"{side}: {values}", format, screen))
    if result.movers:
        before, after = f"base_{compared.metric}", f"cand_{compared.metric}"
        columns = ("question_id", before, after, "delta")
        rows = [
            dict(zip(columns, (one.question_id, one.base_score, one.cand_score, one.delta), strict=True))
            for one in result.movers
        ]
        moved = result.improvements + result.regressions
        title = "moved most" + (f" ({len(rows)} of {moved:,})" if moved > len(rows) else "")
        parts += [titled(title, format), render(rows, columns, format, screen=screen, tones={"delta": delta_tone})]
        parts += _answers(result, format, screen)
    return "\n\n".join(parts)


def _answers(result: Comparison, format: str, screen: Screen) -> list[str]:
    """Both answers of the questions that moved most; cut only for people."""
    whole = format == "table" and screen.exact
    shown = result.movers if whole else result.movers[:_SHOWN_ANSWERS]
    rows = [
        {
            "question": mover.question_id if side == "base" else "",
            "run": side,
            "answer": _ABSENT.get(absent or "", answer),
        }
        for mover in shown
        for side, answer, absent in zip(
            ("base", "candidate"), _both_answers(mover, whole), (mover.base_absent, mover.cand_absent), strict=True
        )
    ]
    if all(row["answer"] is None for row in rows):  # the inputs cannot be read any more
        return []
    parts = [titled("answers", format), render(rows, ("question", "run", "answer"), format, screen=screen)]
    answers = [answer for mover in shown for answer in (mover.base_answer, mover.cand_answer) if answer]
    if not whole and any(without_escapes(answer) != answer for answer in answers):
        parts.append(_paragraph(ESCAPES_READ, format, screen))
    return parts


def _both_answers(mover: Mover, whole: bool) -> tuple[str | None, str | None]:
    """Both answers; of long ones, for people, what is around the first differences."""
    before, after = mover.base_answer, mover.cand_answer
    if whole:
        return before, after
    before, after = (None if answer is None else without_escapes(answer) for answer in (before, after))
    if before is not None and after is not None:
        first, second = marked_differences(before, after, _ANSWER)
        return _told(first), _told(second)
    alone = _told(beginning(before or after or "", _ANSWER))
    return None if before is None else alone, None if after is None else alone


def _told(pieces: Pieces) -> str:
    """The pieces as one text that says what is left out."""
    return "".join(f"[… {piece.left_out:,} characters …]" if piece.left_out else piece.text for piece in pieces)


def _paragraph(text: str, format: str, screen: Screen) -> str:
    return markdown_text(text) if format == "md" else prose(terminal_text(text), screen)


def _measure(compared: ComparedRuns) -> str:
    better = "higher" if compared.higher_is_better else "lower"
    return f"{compared.stat} of {compared.metric}, {better} is better"


def _many_comparisons(results: Sequence[Comparison], format: str, screen: Screen) -> str:
    """A line for each candidate, best first."""
    paired = any(result.is_of_more_than_pairs for result in results)
    metric = results[0].compared.metric
    value = metric if metric == "score" else f"cand_{metric}"
    rows = [
        {
            "candidate": result.candidate.name,
            value: result.cand_score,
            "delta": result.delta,
            **({_PAIRED: result.paired_delta} if paired else {}),
            _LOW: result.interval.low,
            _HIGH: result.interval.high,
            "p (Holm)": result.p_holm,
            "better": result.improvements,
            "worse": result.regressions,
            "n": result.shared,
            "passed": result.passed,
        }
        for result in sorted(results, key=lambda result: -(result.delta or 0.0))
    ]
    compared = results[0].compared
    failed = sum(not result.passed for result in results)
    verdict = "PASSED" if not failed else f"FAILED: {failed} of {len(results)} candidates"
    base = f"{compared.base.name} ({format_value(results[0].base_score, format == 'md' or screen.exact)})"
    title = f"{len(results)} candidates against {base}: {_measure(compared)}"
    notes = dict.fromkeys(note for result in results for note in result.notes)
    if paired:
        said = (
            f"paired: the {compared.paired_stat} delta of the {compared.unit}s with a value in both runs, of which "
            "interval and p are."
        )
        notes = {said: None, **notes}
    tones = {"delta": delta_tone, _PAIRED: delta_tone, "passed": verdict_tone}
    return "\n\n".join(
        [
            *_head(title, verdict, not failed, format=format, screen=screen),
            _paragraph(rule_text(results[0].rules), format, screen),
            render(rows, list(rows[0]), format, screen=screen, optional=("p (Holm)", (_LOW, _HIGH)), tones=tones),
            *(_paragraph(note, format, screen) for note in notes),
        ]
    )
