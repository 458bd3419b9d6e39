"""What a comparison says, in words."""

from __future__ import annotations

from rageval_batch.analysis.comparison import Comparison
from rageval_batch.report.compare import paired_words
from rageval_batch.report.html.texts import number_text, plain_text

_SMALL, _RARE = 0.001, 0.01


def comparison_words(result: Comparison) -> str:
    """Delta, interval and p-value of a candidate in a few sentences."""
    compared = result.compared
    name, base = plain_text(result.candidate.name), plain_text(compared.base.name)
    if result.delta is None:
        return f"{name} cannot be measured against {base}: one of the two has no {compared.metric}."
    size = number_text(abs(result.delta))
    if result.delta == 0:
        first = f"{name} and {base} have the same {compared.metric}, {number_text(result.base_score)}"
    else:
        first = f"{name} is {size} {'better' if result.delta > 0 else 'worse'} than {base} by {compared.metric}"
        first += f" ({number_text(result.base_score)} to {number_text(result.cand_score)})"
    unit = f"{compared.unit}s"
    sentences = [
        f"{first}. Of n = {result.shared:,} shared {unit}, {result.improvements:,} rose, {result.regressions:,} fell "
        f"and {result.ties:,} stayed.",
        paired_words(result),
        _interval_words(result),
    ]
    if result.only_base_count or result.only_cand_count:
        sentences.append(
            f"{result.only_base_count:,} {unit} have a value only in the base, {result.only_cand_count:,} only in the "
            "candidate."
        )
    return " ".join(sentence for sentence in sentences if sentence)


def _interval_words(result: Comparison) -> str:
    low, high = result.interval.low, result.interval.high
    if low is None or high is None:
        return "There is too little in common for an interval."
    within = f"The 95 % interval of the difference goes from {number_text(low)} to {number_text(high)}"
    if low > 0:
        verdict = "it lies above zero, so the gain is more than chance"
    elif high < 0:
        verdict = "it lies below zero, so the loss is more than chance"
    else:
        verdict = "it includes zero, so chance alone can explain the difference"
    return f"{within}: {verdict}. {_p_words(result)}"


def _p_words(result: Comparison) -> str:
    p = result.p_value
    share = f"about {1000 * p:.0f} in 1,000" if p < _RARE else f"about {100 * p:.0f} in 100"
    share = "fewer than 1 in 1,000" if p < _SMALL else "almost all" if p > 1 - _RARE else share
    text = f"If the two runs were equally good, a difference this large would come up in {share} cases (p = {p:.3g}"
    return text + (
        f"; {result.p_holm:.3g} when corrected for the number of candidates)." if result.p_holm > p else ")."
    )
