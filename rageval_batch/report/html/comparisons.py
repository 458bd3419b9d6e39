"""A base against its candidates: a line for each, and for some the questions, drawn and with both answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rageval_batch.analysis.compared_runs import (
    ComparedRun,
    ComparedRuns,
    NothingToCompare,
    differences,
    find_compared_runs,
)
from rageval_batch.analysis.comparison import Comparison, Rules, compare, with_answers
from rageval_batch.analysis.paired_units import MISSING, NULL, TIE, Mover
from rageval_batch.analysis.session import Session
from rageval_batch.answering import DamageFound
from rageval_batch.columnar.statistics import RESAMPLES
from rageval_batch.dataclass import dataclass
from rageval_batch.errors import RagevalError
from rageval_batch.report.cells import count_text
from rageval_batch.report.differences import Pieces, beginning, marked_differences
from rageval_batch.report.html import figures
from rageval_batch.report.html.asked import question_texts
from rageval_batch.report.html.blocks import Answers, Block, Figure, Moved, Section, Table, Words
from rageval_batch.report.html.scope import Scope
from rageval_batch.report.html.sections import count_labels, ends_text
from rageval_batch.report.html.texts import direction, language, number_text, plain_text
from rageval_batch.report.html.words import comparison_verdict, comparison_words
from rageval_batch.report.readable import ESCAPES_SHOWN, has_shown_escapes, moved_words, readable
from rageval_batch.sql_text import quoted

MOST_CANDIDATES = 24  # that are compared; the best come first
MOST_DRAWN = 4  # whose questions are drawn and whose answers are shown
MOST_ANSWER = 1_500  # characters of an answer
_MOST_MOVED = 100
_FEW_POINTS, _FINE, _COARSE = 300, 60, 24  # questions up to which each has its own place in a scatter plot; its grid
_DELTA_BINS = 10  # on each side of zero


@dataclass(frozen=True)
class Outcome:
    """A base and its candidates, compared; or what keeps them from it."""

    notes: tuple[Words, ...]
    results: tuple[Comparison, ...] = ()
    candidates: int = 0  # that can be compared; the best of them are

    @property
    def drawn_note(self) -> tuple[Words, ...]:
        """That not every candidate is shown question by question, where that is so."""
        if self.candidates <= MOST_DRAWN:
            return ()
        return (Words(f"Question by question: the best {MOST_DRAWN} of n = {self.candidates:,} candidates."),)

    @property
    def drawn(self) -> tuple[Comparison, ...]:
        """The candidates whose questions and answers are shown."""
        return self.results[:MOST_DRAWN]


def compared_runs(session: Session, scope: Scope, base: str | None, *, drawn_alone: bool = False) -> Outcome:
    """The comparison of a scope; without a base the best run is the base. The session keeps the pairs.

    `drawn_alone`: only the candidates that are shown question by question, whose p-values are not corrected for others:
    to test hundreds takes longer than all else.
    """
    chosen = base if base in scope.runs else None if base else scope.runs[0]
    if chosen is None or len(scope.runs) == 1:
        said = (
            f"{plain_text(base or '')} has no result with this eval set" if chosen is None else "There is one run only"
        )
        which = ": the runs share none. --eval-set picks one, --base another run" if chosen is None else ""
        return Outcome((Words(f"{said}{which}. Nothing to compare."),))
    try:
        every = _all_compared(session, scope, chosen)
        shown, others = every.parted(MOST_DRAWN if drawn_alone else MOST_CANDIDATES)
        tested = None if drawn_alone else others
        results = tuple(compare(session, shown, Rules(), answers=False, keep_pairs=True, others=tested))
    except NothingToCompare:
        return Outcome((Words("No other run has the same questions, source, parameters and version of the profile."),))
    except DamageFound:
        raise
    except RagevalError as error:
        return Outcome((Words(str(error)),))
    notes = () if drawn_alone else _notes(scope, every, results, chosen_base=base)
    return Outcome(notes, results, len(every.candidates))


def _all_compared(session: Session, scope: Scope, base: str) -> ComparedRuns:
    """The base and all runs of the scope that can be compared with it, best first; of all runs of a set those that
    `rageval compare --all` compares."""
    names = () if scope.every else [run for run in scope.runs if run != base]
    found = find_compared_runs(
        session, base, names, every=scope.every, profile=scope.profile, eval_set=scope.eval_set, strict=False
    )
    same = {run.name: run for run in found.candidates if not differences(found.base, run)}
    if not same:
        raise NothingToCompare(f"No run can be compared with '{base}'.")
    return replace(found, candidates=tuple(same[name] for name in scope.runs if name in same))


def comparison_section(session: Session, outcome: Outcome, id: str) -> Section:
    """A line for each candidate, and the first of them question by question."""
    blocks: list[Block] = [*outcome.notes]
    if outcome.results:
        blocks += (_lines(session, outcome.results, f"{id}-comparison"), *outcome.drawn_note)
    for k, result in enumerate(outcome.drawn):
        blocks += drawn_comparison(session, result, f"{id}-comparison-{k}")
    return Section(f"{id}-comparison", "Comparison", tuple(blocks))


def movers_section(session: Session, outcome: Outcome, id: str) -> Section:
    """What moved most, with both answers, read again from the inputs."""
    blocks = moved_answers(session, outcome.drawn)
    return Section(f"{id}-movers", "Movers", (*outcome.drawn_note, *blocks) or outcome.notes)


def _notes(
    scope: Scope, every: ComparedRuns, results: Sequence[Comparison], *, chosen_base: str | None
) -> tuple[Words, ...]:
    """Who the base is, who was left out, and what p-values are corrected for."""
    count = len(every.candidates)
    notes = [f"The base is {plain_text(every.base.name)}{'' if chosen_base else ', the best run'}."]
    if other := len(scope.runs) - 1 - count:
        notes.append(
            "Not compared, because scored with another source, other parameters or another version of the profile: "
            f"{count_text(other, 'run')}."
        )
    if count > len(results):
        bound = "; there are so many that it is an upper bound" if results[0].holm_is_bound else ""
        notes.append(
            f"The best {len(results)} of n = {count:,} candidates are here; rageval compare --all has all. "
            f"p (Holm) is corrected for all of them{bound}."
        )
    return (Words(" ".join(notes)),)


def _lines(session: Session, results: Sequence[Comparison], id: str) -> Table:
    """A line for each candidate."""
    rows: list[dict[str, Any]] = [
        {
            "candidate": result.candidate.name, "n": result.shared, "cand": result.cand_score, "delta": result.delta,
            "paired_delta": result.paired_delta,
            "low": result.interval.low, "high": result.interval.high, "p": result.p_value, "p_holm": result.p_holm,
            "improvements": result.improvements, "regressions": result.regressions, "ties": result.ties,
        }
        for result in results
    ]  # fmt: skip
    compared = results[0].compared
    rows.sort(key=lambda row: (row["cand"] is None, -(row["cand"] or 0.0), row["candidate"]))
    ends = [row[name] for row in rows for name in ("paired_delta", "low", "high") if row[name] is not None] + [0.0]
    scale = (min(ends), max(ends))
    plot = [figures.interval(row["paired_delta"], row["low"], row["high"], scale=scale, line=0.0) for row in rows]
    return Table(
        f"{id}-table", "Candidates against the base", tuple(rows[0]), rows=rows,
        sql="select candidate, n, cand, delta, improvements, regressions, ties\n"
        f"from score_deltas({_of_all(results)})\n"
        "order by cand desc nulls last, candidate",
        total=len(rows),
        note=f"score: {compared.stat} of {compared.metric}; delta: of the whole runs; paired: {compared.paired_stat} "
        f"of the n shared {compared.unit}s. low, high: 95 % interval of that, by {RESAMPLES:,} resamples; p: sign-flip "
        "test. Both are computed by rageval compare, not in SQL.",
        labels={"p_holm": "p (Holm)", "improvements": "better", "regressions": "worse", "ties": "same",
                "cand": "score", "paired_delta": "paired", **count_labels(session, compared.profile, compared.unit)},
        plots={ends_text(scale): plot}, plotted="paired_delta",
    )  # fmt: skip


def macro_arguments(result: Comparison) -> str:
    """What `regressions` and `run_delta` are called with to give this comparison, and not one of the same two runs by
    another profile or eval set."""
    return f"{quoted(result.compared.base.name)}, {quoted(result.candidate.name)},\n    {_of_set([result])}"


def _of_all(results: Sequence[Comparison]) -> str:
    """What `score_deltas` is called with to give these comparisons."""
    names = ", ".join(quoted(result.candidate.name) for result in results)
    return f"{quoted(results[0].compared.base.name)}, [{names}],\n    {_of_set(results)}"


def _of_set(results: Sequence[Comparison]) -> str:
    """The arguments that say which eval set and profile comparisons are of."""
    compared = results[0].compared
    same = all(result.candidate.eval_set == compared.base.eval_set for result in results)
    name = compared.base.eval_set if same else compared.base.questions_sha256 or compared.base.eval_set  # of two names
    return f"of_eval_set := {quoted(name)}, of_profile := {quoted(compared.profile)}"


def drawn_comparison(session: Session, result: Comparison, id: str) -> list[Block]:
    """One candidate: what it says in words, a point a question, a histogram of deltas, and the table behind both.

    The session still holds the pairs that the result was made of.
    """
    name = result.candidate.name
    shown = plain_text(name)
    pairs = f"from compared where run_id = {quoted(name)} and delta is not null"
    ends = session.rows(
        f"select min(least(base_score, cand_score)) as low, max(greatest(base_score, cand_score)) as high, "
        f"max(abs(delta)) as most, count(*) as n {pairs}"
    )[0]
    table = Table(
        f"{id}-questions",
        f"Questions of {shown}, most moved first",
        ("question_id", "base_score", "cand_score", "delta", "status"),
        rows=session.rows(
            "select question_id, base_score, cand_score, delta, status "
            f"from compared where run_id = {quoted(name)} order by abs(delta) desc nulls last, question_id "
            f"limit {_MOST_MOVED}"
        ),
        sql=f"select question_id, base_score, cand_score, delta, status\n"
        f"from regressions({macro_arguments(result)})\n"
        "order by abs(delta) desc nulls last, question_id",
        total=ends["n"] + result.only_base_count + result.only_cand_count,
        behind=True,
    )
    words = Words(comparison_words(result), comparison_verdict(result))
    if not ends["n"]:
        return [words, table]
    n = f"n = {ends['n']:,}"
    told = f"{result.improvements:,} above the diagonal, {result.regressions:,} below, {result.ties:,} on it"
    return [
        words,
        Figure(
            f"{id}-scatter", f"{shown}: score of each question, {n}",
            figures.scatter(_points(session, pairs, ends), f"Base against {shown}: {told}"), told=told,
        ),
        Figure(
            f"{id}-deltas", f"{shown}: histogram of deltas, {n}",
            figures.histogram(_delta_bins(session, pairs, ends["most"]), "delta", f"Deltas of {shown}: {told}"),
            told=f"{result.improvements:,} rose, {result.regressions:,} fell, {result.ties:,} stayed"
            f"{': the narrow bar at zero' if result.ties else ''}",
        ),
        table,
    ]  # fmt: skip


def _points(session: Session, pairs: str, ends: dict[str, Any]) -> list[dict[str, Any]]:
    """Questions by place: those that fall together are one point with their number."""
    step = (ends["high"] - ends["low"]) / (_FINE if ends["n"] <= _FEW_POINTS else _COARSE) or 1.0
    points = session.rows(
        f"select avg(base_score) as x, avg(cand_score) as y, count(*) as n, status as kind, "
        f"case when count(*) = 1 then any_value(question_id) end as name "
        f"{pairs} group by status, round(base_score / {step!r}), round(cand_score / {step!r}) order by n desc, x, y"
    )
    return [{**point, "name": plain_text(point["name"]) if point["name"] else None} for point in points]


def _delta_bins(session: Session, pairs: str, most: float) -> list[dict[str, Any]]:
    """Questions by delta, those that fell and those that rose; what stayed has a bin from zero to zero."""
    width = most / _DELTA_BINS or 1.0
    size = f"greatest(1, least({_DELTA_BINS}, ceil(abs(delta) / {width!r})))"
    return session.rows(
        f"select (bin - (bin > 0)::integer) * {width!r} as low, (bin + (bin < 0)::integer) * {width!r} as high, "
        f"count(*) as n from (select case when status = '{TIE}' then 0 else sign(delta) * {size} end as bin {pairs}) "
        "group by bin order by bin"
    )


def moved_answers(session: Session, results: Sequence[Comparison]) -> list[Block]:
    """The questions that moved most, with both answers, candidate by candidate."""
    blocks: list[Block] = []
    for result, whole in zip(results, with_answers(session, results), strict=True):
        name = plain_text(result.candidate.name)
        if not whole.movers:
            blocks.append(Words(f"No question of {name} moved."))
            continue
        notes = [note for note in whole.notes if note not in result.notes]  # why answers could not be read
        blocks += map(Words, notes)
        title = f"{plain_text(result.compared.base.name)} → {name}"
        scope = Scope(result.compared.profile, result.candidate.eval_set, (result.candidate.name,), every=False)
        names = [mover.question_id for mover in whole.movers]
        asked = question_texts(session, scope, names)
        moved = []
        repeats = [_repeat_notes(session, run, names) for run in (result.compared.base, result.candidate)]
        for mover in whole.movers:
            moved.append(_moved(whole, mover, asked, repeats=[of_run.get(mover.question_id) for of_run in repeats]))
        blocks.append(Answers(title, tuple(moved)))
    return blocks


def _repeat_notes(session: Session, run: ComparedRun, questions: Sequence[str]) -> dict[str, str]:
    """Of questions that a run has several answers to: that the score is their mean, and which of them is shown."""
    if run.repeats < 2:
        return {}
    rows = session.rows(
        "select question_id, count(*) as n, min(repeat) as shown, arg_min(score, repeat) as score\nfrom scores\n"
        f"where run_id = {quoted(run.name)} and profile = {quoted(run.profile)} and eval_set = {quoted(run.eval_set)}\n"
        f"  and question_id in ({', '.join(map(quoted, questions))})\ngroup by question_id\nhaving count(*) > 1"
    )
    return {
        row["question_id"]: f"Mean of {row['n']:,} repeats; the answer of repeat {row['shown']} "
        f"({number_text(row['score'])}) is shown."
        for row in rows
    }


_ABSENT = {NULL: "The answer is null.", MISSING: "The run has no answer to this question.", None: "No answer to show."}


def _moved(result: Comparison, mover: Mover, asked: Mapping[str, str], *, repeats: Sequence[str | None]) -> Moved:
    """A question that moved, with what must be said of the repeats of both runs."""
    before, after = mover.base_answer, mover.cand_answer
    left: Pieces | None
    right: Pieces | None
    shown = before, after
    if before and after:
        shown = _laid_out(before, after)
        left, right = marked_differences(*shown, MOST_ANSWER)
    else:  # nothing to compare with
        left, right = (None if text is None else beginning(readable(text), MOST_ANSWER) for text in (before, after))
    return Moved(
        question=mover.question_id,
        base=result.compared.base.name,
        candidate=result.candidate.name,
        base_score=mover.base_score,
        cand_score=mover.cand_score,
        delta=mover.delta,
        before=left,
        after=right,
        asked=asked.get(mover.question_id),
        base_direction=direction(before or ""),
        cand_direction=direction(after or ""),
        base_language=language(before or ""),
        cand_language=language(after or ""),
        base_absent=_ABSENT[mover.base_absent],
        cand_absent=_ABSENT[mover.cand_absent],
        base_note=_note(repeats[0], before, shown[0]),
        cand_note=_note(repeats[1], after, shown[1]),
        note=moved_words(before, after) if before and after else None,
    )


def _note(of_repeats: str | None, answer: str | None, shown: str | None) -> str | None:
    """What must be said of an answer: which repeat it is, and that it is not shown as it was given."""
    of_escapes = ESCAPES_SHOWN if answer and shown != answer and has_shown_escapes(answer) else None
    return " ".join(filter(None, (of_repeats, of_escapes))) or None


def _laid_out(before: str, after: str) -> tuple[str, str]:
    """Both answers as people read them; as they were given where only that tells them apart."""
    shown = readable(before), readable(after)
    return (before, after) if shown[0] == shown[1] else shown
