"""The first section of a report: what every profile says, in a few numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rageval_batch.analysis.runs import Run
from rageval_batch.analysis.session import Session
from rageval_batch.report.cells import count_text
from rageval_batch.report.html import figures
from rageval_batch.report.html.blocks import Chapter, Section, Standing, Table, Tile, Tiles, Words
from rageval_batch.report.html.scope import Scope
from rageval_batch.report.html.sections import level_condition, picked_runs
from rageval_batch.report.html.texts import number_text

_MOST_RUNS = 5


def glance_section(
    session: Session, chapters: Sequence[Chapter], scopes: Sequence[Scope], *, runs: Sequence[Run]
) -> Section:
    """A tile for each chapter: the best run with its interval, the runs behind it, and how many pass the gates."""
    failed: dict[tuple[str, str], dict[str, bool]] = {}
    for row in session.rows(
        "select profile, eval_set, run_id, bool_or(status = 'failed') as failed\nfrom gate_results\n"
        f"where {picked_runs(scopes)}\n  and {level_condition(session, runs)}\ngroup by all"
    ):
        failed.setdefault((row["profile"], row["eval_set"]), {})[row["run_id"]] = row["failed"]
    tiles = []
    for chapter, scope in zip(chapters, scopes, strict=False):  # there may be more scopes than chapters
        (board,) = (block for block in chapter.sections[0].blocks if isinstance(block, Table))
        if board.rows:
            tiles.append(
                _tile(
                    chapter,
                    board.rows,
                    len(scope.runs),
                    failed=failed.get((scope.profile, scope.eval_set), {}),
                    unit=profile.unit if (profile := session.profile(scope.profile)) else "question",
                )
            )
    if not tiles:
        return Section("glance", "At a glance", (Words("No run has a score."),))
    return Section("glance", "At a glance", (Tiles(tuple(tiles)),))


def _tile(
    chapter: Chapter, rows: Sequence[Mapping[str, Any]], count: int, *, failed: Mapping[str, bool], unit: str
) -> Tile:
    shown = rows[:_MOST_RUNS]
    ends = [row[name] for row in shown for name in ("score", "low", "high") if row[name] is not None] or [0.0]
    scale = (min(ends), max(ends))
    standings = tuple(
        Standing(row["run_id"], row["score"], figures.interval(row["score"], row["low"], row["high"], scale=scale))
        for row in shown
    )
    best = rows[0]
    facts = [f"{best['stat']} of n = {count_text(best['n'], unit)}"]
    if best["low"] is not None:
        facts[0] += f", 95 % interval {number_text(best['low'])} to {number_text(best['high'])}"
    if count > len(shown):
        facts.append(f"The best {len(shown)} of {count:,} runs.")
    if failed:
        passed = sum(not one for one in failed.values())
        facts.append(f"Gates: {passed:,} of {count_text(len(failed), 'run')} pass{'es' if len(failed) == 1 else ''}.")
    verdict = {True: "failed", False: "passed", None: None}[failed.get(best["run_id"])]
    return Tile(
        chapter.id,
        chapter.title or "",
        chapter.subtitle or "",
        best=standings[0],
        facts=tuple(facts),
        standings=standings,
        verdict=verdict,
    )
