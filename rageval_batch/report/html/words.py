"""What a comparison says, in words."""

from __future__ import annotations

from rageval_batch.analysis.comparison import Comparison
from rageval_batch.columnar.statistics import RESAMPLES
from rageval_batch.report.cells import count_text
from rageval_batch.report.compare import paired_words
from rageval_batch.report.html.texts import number_text, plain_text

_SMALL, _RARE = 0.001, 0.01
_UNLIKELY = 0.05
_LEAST_P = 1.000001 / (RESAMPLES + 1)  # of a test by resamples: all of them less extreme than what was seen


def results_text(results: int, runs: int) -> str:
    """How many runs there are, and how many results they have where some were asked several eval sets."""
    return (
        count_text(runs, "run") if results == runs else f"{count_text(results, 'result')} of {count_text(runs, 'run')}"
    )


def comparison_words(result: Comparison) -> str:
    """Delta, interval and p-value of a candidate in a few sentences."""
    compared = result.compared
    name, base = plain_text(result.candidate.name), plain_text(compared.base.name)
    if result.delta is None:
        return (
            f"{name} cannot be measured against {base}: one of the two has no {compared.metric}, as no "
            f"{compared.unit} of it has a value and a weight above 0."
        )
    size = number_text(abs(result.delta))
    if result.delta == 0:
        first = (
            f"{name} and {base} have the same {compared.stat} of {compared.metric}, {number_text(result.base_score)}"
        )
    else:
        first = f"{name} is {size} {'better' if result.delta > 0 else 'worse'} than {base} by {compared.stat} of "
        first += f"{compared.metric} ({number_text(result.base_score)} to {number_text(result.cand_score)})"
    shared = count_text(result.shared, f"shared {compared.unit}")
    sentences = [
        f"{first}. Of n = {shared}, {result.improvements:,} rose, {result.regressions:,} fell and {result.ties:,} "
        "stayed.",
        paired_words(result),
        _interval_words(result),
    ]
    if result.only_base_count or result.only_cand_count:
        sentences.append(
            f"With a value only in the base: {count_text(result.only_base_count, compared.unit)}; only in the "
            f"candidate: {result.only_cand_count:,}."
        )
    return " ".join(sentence for sentence in sentences if sentence)


def _interval_words(result: Comparison) -> str:
    low, high = result.interval.low, result.interval.high
    if low is None or high is None:
        return "There is too little in common for an interval."
    ends = f"from {number_text(low)} to {number_text(high)}"
    within = f"The 95 % interval of the {result.compared.paired_stat} difference goes {ends}"
    return f"{within}. {_p_words(result)} {_verdict_words(result, low, high=high)}"


def comparison_verdict(result: Comparison) -> str | None:
    """passed or failed where interval and test both say that the difference is more than chance; else nothing.

    The test is that of the corrected p-value: of many candidates some differ by chance.
    """
    low, high = result.interval.low, result.interval.high
    if low is None or high is None or result.p_holm >= _UNLIKELY:
        return None
    return "passed" if low > 0 else "failed" if high < 0 else None


def _verdict_words(result: Comparison, low: float, *, high: float) -> str:
    """What interval and test say together: they are two measures of chance and may disagree."""
    rare = result.p_holm < _UNLIKELY
    test = f"the test, corrected for {result.tests:,} candidates," if result.tests > 1 else "the test"
    if low <= 0 <= high:
        if rare:
            return f"The interval includes zero, but {test} is under 5 %: weak evidence of a difference."
        return f"The interval includes zero and {test} is not under 5 %: chance alone can explain the difference."
    side, what = ("above", "gain") if low > 0 else ("below", "loss")
    if rare:
        return f"The interval lies {side} zero and {test} is under 5 %: the {what} is more than chance."
    if result.p_value <= _LEAST_P:
        return (
            f"The interval lies {side} zero; {test} is not under 5 % and cannot be, as p is at least 1 in "
            f"{RESAMPLES + 1:,} before it is corrected: the interval alone speaks for a {what}."
        )
    if result.p_value < _UNLIKELY:
        return (
            f"The interval lies {side} zero, but {test} is not under 5 %: of so many candidates one may be this "
            f"far off by chance alone, which is weak evidence of a {what}."
        )
    return f"The interval lies {side} zero, but {test} is not under 5 %: weak evidence of a {what}."


def _p_words(result: Comparison) -> str:
    p = result.p_value
    share = f"about {1000 * p:.0f} in 1,000" if p < _RARE else f"about {100 * p:.0f} in 100"
    share = "fewer than 1 in 1,000" if p < _SMALL else "almost all" if p > 1 - _RARE else share
    text = f"If the two runs were equally good, a difference this large would come up in {share} cases (p = {p:.3g}"
    if result.tests == 1:
        return text + ")."
    bound = "at most " if result.holm_is_bound else ""
    return f"{text}; {bound}{result.p_holm:.3g} when corrected for {result.tests:,} candidates)."
