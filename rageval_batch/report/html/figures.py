"""Figures as SVG: numbers in, a drawing out. Colours and fonts are those of the style sheet."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup, escape

from rageval_batch.columnar.tolerance import TOLERANCE
from rageval_batch.report.cells import count_text
from rageval_batch.report.html.texts import cut, number_text

_WIDE = 100.0


def _n(value: float) -> str:
    """A coordinate, short."""
    return f"{value:.1f}".removesuffix(".0")


def _place(value: float, low: float, high: float) -> float:
    """Where a value stands between the ends of a scale, 0 to 100; the middle where the ends are one."""
    return _WIDE / 2 if high <= low else max(0.0, min(1.0, (value - low) / (high - low))) * _WIDE


def _small(kind: str, told: str, body: str) -> Markup:
    """A drawing that fills its cell, whatever its width."""
    return Markup(
        f'<svg class="small {kind}" viewBox="0 0 100 20" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(told)}">{body}</svg>'
    )


def interval(
    value: float | None, low: float | None, high: float | None, *, scale: tuple[float, float], line: float | None = None
) -> Markup:
    """A value with its interval on a common scale, and a line to hold it against; nothing where there is no value."""
    if value is None:
        return Markup("")
    told = number_text(value)
    body = "" if line is None else f'<path class="diagonal" d="M{_n(_place(line, *scale))} -4V24"/>'
    if low is not None and high is not None:
        told += f", 95 % interval {number_text(low)} to {number_text(high)}"
        a, b = (_place(end, *scale) for end in (low, high))
        body += f'<path class="whisker" d="M{_n(a)} 10H{_n(b)}M{_n(a)} 5V15M{_n(b)} 5V15"/>'
    at = _place(value, *scale)
    return _small("interval", told, f'{body}<path class="dot" d="M{_n(at)} 10h.01"/>')


def span(value: float, low: float, high: float, *, scale: tuple[float, float]) -> Markup:
    """A mean within its smallest and largest value."""
    told = f"{number_text(value)}, from {number_text(low)} to {number_text(high)}"
    a, b, at = (_place(one, *scale) for one in (low, high, value))
    return _small(
        "span", told, f'<path class="range" d="M{_n(a)} 10H{_n(b)}"/><path class="dot" d="M{_n(at)} 10h.01"/>'
    )


def bar(value: float, most: float, told: str, *, least: float = 0.0) -> Markup:
    """A share of the largest value, from zero on; to the left of it where the least value is negative."""
    if most <= least:
        return _small("bar", told, "")
    a, b = sorted((_place(0.0, least, most), _place(value, least, most)))
    at = f' x="{_n(a)}"' if a else ""
    zero = f'<path class="diagonal" d="M{_n(_place(0.0, least, most))} 0V20"/>' if least < 0 else ""
    return _small("bar", told, f'<rect{at} width="{_n(b - a)}" y="3" height="14"/>{zero}')


def strip(counts: Sequence[int], mean: float | None, scale: tuple[float, float], *, told: str) -> Markup:
    """A histogram of one line, as high as its fullest bin, with a mark at the mean."""
    most = max(counts, default=0)
    step = _WIDE / max(1, len(counts))
    path = "".join(
        f"M{_n(k * step)} 20v{_n(-max(1.2, 19 * count / most))}h{_n(step * 0.9)}V20"
        for k, count in enumerate(counts)
        if count
    )
    at = "" if mean is None else f'<path class="mean" d="M{_n(_place(mean, *scale))} 0V20"/>'
    return _small("strip", told, f'<path class="bins" d="{path}"/>{at}')


# --- figures with axes ------------------------------------------------------------------------------------------------

_SIZE, _LEFT, _BOTTOM, _TOP = 320, 44, 34, 8
_NAME_LENGTH = 60  # characters of the name of a bar
_EXACT = 1e15  # up to which whole numbers are said with all their digits
_FEW_DOTS = 80  # of a line, that do not hide it
_TIE = 7.0  # units that the bar of what is zero is wide
_BROAD = 2 * _SIZE  # units that a line is wide where the screen has room


def _ticks(low: float, high: float, *, whole: bool = False) -> list[float]:
    """Three to six round numbers between two ends; `whole`: of counts, which have no halves."""
    if high <= low:
        return [low]
    raw = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * k for k in (1, 2, 2.5, 5, 10) if power * k >= raw)
    step = max(1.0, math.ceil(step)) if whole else step
    first = math.ceil(low / step - TOLERANCE)
    return [k * step for k in range(first, math.floor(high / step + TOLERANCE) + 1)]


def _tick(value: float) -> str:
    return (f"{value:.10g}" if abs(value) < 1e6 else f"{value:.3g}").replace("-", "−")


class _Axes:
    """A field with axes, square or broad: data in, coordinates out."""

    def __init__(
        self, x: tuple[float, float], y: tuple[float, float], *, counts: bool = False, width: int = _SIZE
    ) -> None:
        """`counts`: the upward axis has whole numbers alone."""
        self.x, self.y, self.counts, self.width = x, y, counts, width

    def across(self, value: float) -> float:
        low, high = self.x
        return _LEFT + (value - low) / ((high - low) or 1.0) * (self.width - _LEFT - 8)

    def up(self, value: float) -> float:
        low, high = self.y
        return _SIZE - _BOTTOM - (value - low) / ((high - low) or 1.0) * (_SIZE - _BOTTOM - _TOP)

    def frame(self, x_name: str, y_name: str) -> str:
        """Grid, numbers and names of the axes."""
        bottom, right = _SIZE - _BOTTOM, self.width - 8
        parts = []
        for value in _ticks(*self.x):
            at = _n(self.across(value))
            parts.append(f'<path class="grid" d="M{at} {_TOP}V{bottom}"/>')
            parts.append(f'<text x="{at}" y="{bottom + 13}" text-anchor="middle">{_tick(value)}</text>')
        for value in _ticks(*self.y, whole=self.counts):
            at = _n(self.up(value))
            parts.append(f'<path class="grid" d="M{_LEFT} {at}H{right}"/>')
            parts.append(f'<text x="{_LEFT - 5}" y="{at}" dy="3.5" text-anchor="end">{_tick(value)}</text>')
        middle = (_LEFT + right) // 2
        parts.append(f'<text class="axis" x="{middle}" y="{_SIZE - 4}" text-anchor="middle">{x_name}</text>')
        half = (bottom + _TOP) // 2
        parts.append(
            f'<text class="axis" transform="translate(10 {half}) rotate(-90)" text-anchor="middle">{y_name}</text>'
        )
        return "".join(parts)

    def drawing(self, kind: str, told: str, body: str) -> Markup:
        return Markup(
            f'<svg class="plot {kind}" viewBox="0 0 {self.width} {_SIZE}" role="img" aria-label="{escape(told)}">'
            f"{body}</svg>"
        )


def _padded(low: float, high: float) -> tuple[float, float]:
    """The ends of a scale, with a little room; something around a single value."""
    room = (high - low) * 0.04 or max(abs(high) * 0.1, 0.05)
    return low - room, high + room


def scatter(points: Sequence[Mapping[str, Any]], told: str) -> Markup:
    """Base against candidate: x, y, n (how many questions stand there), name (of a single one), kind (of change).

    Points above the diagonal rose.
    """
    if not points:
        return Markup("")
    values = [value for point in points for value in (point["x"], point["y"])]
    scale = _padded(min(values), max(values))
    axes = _Axes(scale, scale)
    low, high = scale
    parts = [axes.frame("base", "candidate")]
    parts.append(
        f'<path class="diagonal" d="M{_n(axes.across(low))} {_n(axes.up(low))}'
        f'L{_n(axes.across(high))} {_n(axes.up(high))}"/>'
    )
    most = max(point["n"] for point in points)
    for point in points:
        radius = 3.2 if most == 1 else 2.5 + 7.5 * math.sqrt(point["n"] / most)
        name = point["name"] or f"{point['n']:,} questions"
        tip = f"{name}: {number_text(point['x'])} → {number_text(point['y'])}"
        parts.append(
            f'<circle class="{escape(point["kind"])}" cx="{_n(axes.across(point["x"]))}" '
            f'cy="{_n(axes.up(point["y"]))}" r="{_n(radius)}" data-t="{escape(tip)}"/>'
        )
    return axes.drawing("scatter", told, "".join(parts))


def histogram(bins: Sequence[Mapping[str, Any]], x_name: str, told: str, *, y_name: str = "questions") -> Markup:
    """Bins with low, high and n, of questions or what else `y_name` says.

    Those below zero, above it and at it have their own colours; one from zero to zero is a narrow bar.
    """
    if not bins:
        return Markup("")
    low, high = min(one["low"] for one in bins), max(one["high"] for one in bins)
    axes = _Axes(_padded(low, high), (0.0, max(one["n"] for one in bins) * 1.05), counts=True)
    parts = [axes.frame(escape(x_name), escape(y_name))]
    room = _TIE / 2 if any(one["low"] == one["high"] for one in bins) else 0.0
    for one in bins:
        a, b, top = axes.across(one["low"]), axes.across(one["high"]), axes.up(one["n"])
        if one["low"] == one["high"]:
            kind, a, b = "tie", a - room, b + room
            place = number_text(one["low"])
        else:
            kind = "improvement" if one["low"] >= 0 else "regression" if one["high"] <= 0 else "tie"
            a, b = a + room * (one["low"] == 0), b - room * (one["high"] == 0)
            place = f"{number_text(one['low'])} to {number_text(one['high'])}"
        tip = f"{place}: {count_text(one['n'], y_name.removesuffix('s'))}"
        parts.append(
            f'<rect class="{kind}" x="{_n(a + 0.5)}" y="{_n(top)}" width="{_n(max(1.0, b - a - 1))}" '
            f'height="{_n(max(0.0, axes.up(0) - top))}" data-t="{escape(tip)}"/>'
        )
    return axes.drawing("histogram", told, "".join(parts))


def bars(values: Sequence[tuple[str, float]], told: str) -> Markup:
    """A bar for each named value, from zero: a table of names, bars and values, so that texts are never scaled."""
    if not values:
        return Markup("")
    numbers = [value for _, value in values]
    low, high = min(0.0, *numbers), max(0.0, *numbers)
    rows = []
    for name, value in values:
        said = f"{value:,.0f}".replace("-", "−") if value.is_integer() and abs(value) < _EXACT else number_text(value)
        drawn = bar(value, high, f"{name}: {said}", least=low)
        rows.append(
            f'<tr><th scope="row">{escape(cut(name, _NAME_LENGTH))}</th><td class="plotted">{drawn}</td>'
            f'<td class="num">{escape(said)}</td></tr>'
        )
    return Markup(f'<table class="bars" aria-label="{escape(told)}"><tbody>{"".join(rows)}</tbody></table>')


def line(points: Sequence[tuple[float, float]], x_name: str, y_name: str, *, told: str) -> Markup:
    """Points joined in the order of x: square, and broad for screens that have room for it."""
    if not points:
        return Markup("")
    square, broad = (_line(points, x_name, y_name, told=told, width=width) for width in (_SIZE, _BROAD))
    return square + broad


def _line(points: Sequence[tuple[float, float]], x_name: str, y_name: str, *, told: str, width: int) -> Markup:
    ordered = sorted(points)
    xs, ys = [x for x, _ in ordered], [y for _, y in ordered]
    axes = _Axes(_padded(min(xs), max(xs)), _padded(min(ys), max(ys)), width=width)
    path = "L".join(f"{_n(axes.across(x))} {_n(axes.up(y))}" for x, y in ordered)
    radius = 2.5 if len(ordered) <= _FEW_DOTS else 1
    dots = "".join(
        f'<circle class="plain" cx="{_n(axes.across(x))}" cy="{_n(axes.up(y))}" r="{radius}" '
        f'data-t="{escape(f"{number_text(x)}: {number_text(y)}")}"/>'
        for x, y in ordered
    )
    body = f'{axes.frame(escape(x_name), escape(y_name))}<path class="line" d="M{path}"/>{dots}'
    return axes.drawing("lines broad" if width > _SIZE else "lines", told, body)
