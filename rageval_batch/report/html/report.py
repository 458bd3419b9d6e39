"""The report: all that a store says of some runs in one HTML file that needs nothing else."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import KW_ONLY
from datetime import UTC, datetime

from markupsafe import Markup

from rageval_batch.analysis.compared_runs import runs_to_compare
from rageval_batch.analysis.gates import wanted_runs
from rageval_batch.analysis.runs import find_run
from rageval_batch.analysis.session import Session
from rageval_batch.dataclass import dataclass
from rageval_batch.report.cells import count_text
from rageval_batch.report.html import sections
from rageval_batch.report.html.blocks import Block, Cards, Chapter, Figure, Section, Tiles, Words
from rageval_batch.report.html.comparisons import MOST_ANSWER, compared_runs, comparison_section, movers_section
from rageval_batch.report.html.distributions import distributions_section
from rageval_batch.report.html.glance import glance_section
from rageval_batch.report.html.groups import groups_section
from rageval_batch.report.html.pages import asset, no_link, page
from rageval_batch.report.html.scope import Scope, keep_summaries, scopes
from rageval_batch.report.html.words import results_text
from rageval_batch.version import __version__

MOST_BYTES = 3_000_000
_MOST_CHAPTERS = 12
_TIMES = 8  # that a page is made smaller


@dataclass(frozen=True)
class Limits:
    """How much a page shows."""

    rows: int = sections.MOST_ROWS
    cell: int = 300
    chapters: int = _MOST_CHAPTERS
    _: KW_ONLY
    figures: bool = True
    answer: int = MOST_ANSWER  # characters of an answer of a question that moved

    def smaller(self) -> Limits:
        """About half as much; figures go when nothing else helps."""
        return Limits(
            max(5, self.rows // 2), max(20, self.cell // 2), max(1, self.chapters - 2), figures=self.rows > 25,
            answer=max(100, self.answer // 2),
        )  # fmt: skip


@dataclass(frozen=True)
class Report:
    """What a report says, before it is laid out."""

    title: str
    chapters: tuple[Chapter, ...]
    made_at: datetime


def build_report(
    session: Session, names: Sequence[str], base: str | None, *, profile: str | None = None, eval_set: str | None = None
) -> Report:
    """The report of these runs, or of all current ones; StoreError where one is not there.

    Without a base, the first of the named runs is the base, else the best run of each eval set. Of runs that have
    several results, those are taken that a comparison with the base takes.
    """
    chosen = base or (names[0] if names else None)
    if chosen is not None and names:
        runs = runs_to_compare(session, chosen, names, profile=profile, eval_set=eval_set)
    else:
        runs = wanted_runs(session, (), profile, eval_set=eval_set)
        if base is not None and base not in {run.record["run_id"] for run in runs}:
            runs = [find_run(session, base, profile, eval_set=eval_set), *runs]
    keep_summaries(session)
    if len(runs) <= sections.MOST_ROWS:  # intervals of more runs are made for those that are shown alone
        keep_summaries(session, ("leaderboard",))
    found = scopes(session, runs)
    last = Chapter("input", None, None, sections=(sections.rejects_section(session, found, runs), *_left_out(found)))
    ids = scope_ids(found)
    chapters = [_chapter(session, scope, ids[k], base=chosen) for k, scope in enumerate(found[:_MOST_CHAPTERS])]
    gates = sections.gates_section(session, found, runs)
    first = Chapter(
        "all",
        None,
        None,
        sections=(
            glance_section(session, chapters, found, runs=runs),
            sections.compared_section(session, found),
            gates,
        ),
    )
    counted = results_text(len(runs), len({run.record["run_id"] for run in runs}))
    profiles = {scope.profile for scope in found}
    by = found[0].profile if len(profiles) == 1 else count_text(len(profiles), "profile")
    title = f"{counted} by {by}"
    return Report(title, (first, *chapters, last), datetime.now(UTC))


def _left_out(found: Sequence[Scope]) -> list[Section]:
    if len(found) <= _MOST_CHAPTERS:
        return []
    left = ", ".join(f"{scope.profile} {scope.eval_set}" for scope in found[_MOST_CHAPTERS:][:20])
    words = Words(
        f"{len(found) - _MOST_CHAPTERS:,} more eval sets are not in this file: {left}. Choose with -p and --eval-set."
    )
    return [Section("left-out", "Not shown", (words,))]


def scope_ids(found: Sequence[Scope]) -> list[str]:
    """A name for each scope that can stand in a link: its profile, with a number where that is there twice."""
    seen: dict[str, int] = {}
    ids = []
    for scope in found:
        seen[scope.profile] = seen.get(scope.profile, 0) + 1
        ids.append(scope.profile if seen[scope.profile] == 1 else f"{scope.profile}-{seen[scope.profile]}")
    return ids


def _chapter(session: Session, scope: Scope, id: str, *, base: str | None) -> Chapter:
    outcome = compared_runs(session, scope, base)
    return Chapter(
        id, scope.profile, scope.eval_set,
        sections=(
            sections.leaderboard_section(session, scope, id),
            distributions_section(session, scope, id),
            comparison_section(session, outcome, id),
            sections.fail_reasons_section(session, scope, id),
            sections.confusions_section(session, scope, id),
            groups_section(session, scope, id),
            sections.hardest_section(session, scope, id),
            movers_section(session, outcome, id),
        ),
    )  # fmt: skip


def report_html(report: Report) -> str:
    """The report as one file of at most three megabytes: where it is more, tables and texts are cut further."""
    limits = Limits()
    text = _laid_out(report, limits)
    for _ in range(_TIMES):
        if len(text.encode()) <= MOST_BYTES:
            break
        limits = limits.smaller()
        text = _laid_out(report, limits)
    return text


def _laid_out(report: Report, limits: Limits) -> str:
    style, early, script = (asset(name) for name in ("style.css", "early.js", "script.js"))
    whole = page(
        "report.html",
        report=report,
        chapters=_chapters(report, limits),
        limits=limits,
        link=no_link,
        version=__version__,
        style=Markup(style),
        early=Markup(early),
        script=Markup(script),
        style_hash=_hash(style),
        early_hash=_hash(early),
        script_hash=_hash(script),
    )
    return str(whole).encode("utf-8", "replace").decode()


def _chapters(report: Report, limits: Limits) -> list[Chapter]:
    first, *middle, last = report.chapters
    chosen = [_with_fewer_tiles(first, limits.chapters), *middle[: limits.chapters], last]
    if limits.figures:
        return chosen
    return [Chapter(c.id, c.title, c.subtitle, sections=tuple(_without_figures(s) for s in c.sections)) for c in chosen]


def _with_fewer_tiles(chapter: Chapter, most: int) -> Chapter:
    """The chapter with tiles of those chapters alone that the page has."""
    glance, *others = chapter.sections
    blocks = tuple(Tiles(block.tiles[:most]) if isinstance(block, Tiles) else block for block in glance.blocks)
    return Chapter(chapter.id, None, None, sections=(Section(glance.id, glance.title, blocks), *others))


def _without_figures(section: Section) -> Section:
    kept: tuple[Block, ...] = tuple(block for block in section.blocks if not isinstance(block, Cards | Figure))
    return Section(section.id, section.title, kept)


def _hash(text: str) -> str:
    """The source expression that lets a browser run exactly this text."""
    return "sha256-" + b64encode(hashlib.sha256(text.encode()).digest()).decode()
