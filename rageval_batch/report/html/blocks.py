"""What a page is made of: sections of tables, figures, paragraphs and answers side by side. Data only, unrounded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, field
from typing import Any

from markupsafe import Markup

from rageval_batch.dataclass import dataclass
from rageval_batch.report.differences import Pieces, stretches

_LONG_NAME = 20


@dataclass(frozen=True)
class Table:
    """Rows with the SQL that made them; `total` says how many there are where not all are here."""

    id: str
    title: str
    columns: tuple[str, ...]
    _: KW_ONLY
    rows: Sequence[Mapping[str, Any]]
    sql: str
    total: int | None = None  # null: more than these, and nobody counted
    note: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)  # what a column is called where its name is not enough
    plots: Mapping[str, Sequence[Markup]] = field(default_factory=dict)  # columns of small figures, a figure a row
    plotted: str | None = None  # the column that the figures draw and stand behind; null: they are the last columns
    heat: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # columns coloured by value: lowest, highest
    shown: Mapping[str, Sequence[str]] = field(
        default_factory=dict
    )  # numbers that are not rounded as others, a text a row
    behind: bool = False  # it stands folded away behind a figure
    sorts: Mapping[str, tuple[str, str | None]] = field(default_factory=dict)  # where a heading leads, how it is sorted
    pages: tuple[tuple[str, str], ...] = ()  # other pages of the same rows: what they are called, where they are
    picks: Sequence[str] = ()  # what a row is called in a form, where rows can be picked
    picked: frozenset[str] = frozenset()  # those that are

    def label(self, column: str) -> str:
        """The heading of a column."""
        return self.labels.get(column, column.replace("_", " "))

    @property
    def places(self) -> tuple[tuple[str, bool], ...]:
        """Columns and figures from left to right: (name, whether it is one of figures)."""
        figures = [(title, True) for title in self.plots]
        columns = [(name, False) for name in self.columns]
        at = self.columns.index(self.plotted) + 1 if self.plotted in self.columns else len(columns)
        return (*columns[:at], *figures, *columns[at:])


@dataclass(frozen=True)
class Figure:
    """A drawing with its table behind it; `told` says in words what is to be seen."""

    id: str
    title: str
    drawing: Markup
    _: KW_ONLY
    told: str


@dataclass(frozen=True)
class Standing:
    """A run in a short list of the best: its score, and that with its interval on a scale."""

    run: str
    score: float | None
    drawing: Markup


@dataclass(frozen=True)
class Tile:
    """One profile and eval set at a glance; `id` is that of its chapter."""

    id: str
    title: str
    subtitle: str
    _: KW_ONLY
    best: Standing
    facts: tuple[str, ...]
    standings: tuple[Standing, ...]
    verdict: str | None = None  # passed, failed: of the best run


@dataclass(frozen=True)
class Tiles:
    """What a page says, in a few numbers."""

    tiles: tuple[Tile, ...]


@dataclass(frozen=True)
class Strip:
    """The distribution of a metric in one run."""

    run: str
    drawing: Markup
    mean: float | None
    _: KW_ONLY
    n: int


@dataclass(frozen=True)
class Card:
    """The distributions of one metric, a strip a run, on one scale."""

    metric: str
    better: str
    low: float
    _: KW_ONLY
    high: float
    strips: tuple[Strip, ...]
    counted: str = "n"  # what the numbers of what means are over are called


@dataclass(frozen=True)
class Cards:
    """The distributions of all metrics."""

    title: str
    cards: tuple[Card, ...]

    @property
    def has_long_names(self) -> bool:
        """Whether names of runs need more room than a narrow card has."""
        return any(len(strip.run) > _LONG_NAME for card in self.cards[:1] for strip in card.strips)


@dataclass(frozen=True)
class Words:
    """A paragraph; `verdict` (passed, failed) gives it a sign."""

    text: str
    verdict: str | None = None


@dataclass(frozen=True, kw_only=True)
class Moved:
    """A question that moved, with both answers and what differs between them."""

    question: str
    base: str
    candidate: str
    base_score: float | None
    cand_score: float | None
    delta: float
    before: Pieces | None  # null: there is no answer, or it cannot be read any more
    after: Pieces | None
    asked: str | None = None  # the text of the question
    base_note: str | None = None  # what must be said of a score and the answer below it
    cand_note: str | None = None
    base_direction: str = "auto"  # how the lines of an answer run
    cand_direction: str = "auto"
    base_language: str | None = None  # that an answer is written in
    cand_language: str | None = None
    base_absent: str  # what stands in place of an answer where there is none
    cand_absent: str
    note: str | None = None  # what must be said of both

    def sides(self, most: int) -> tuple[Pieces | None, Pieces | None]:
        """Both answers, at most so many characters of each."""
        before, after = stretches(self.before or (), self.after or (), most)
        return None if self.before is None else before, None if self.after is None else after

    @property
    def is_same(self) -> bool:
        """Whether both answers are one text."""
        return self.before is not None and self.before == self.after and not any(one.changed for one in self.before)


@dataclass(frozen=True)
class Answers:
    """Questions that moved, answers side by side."""

    title: str
    moved: tuple[Moved, ...]


Block = Table | Figure | Tiles | Cards | Words | Answers


@dataclass(frozen=True)
class Section:
    """A part of a page that can be linked to."""

    id: str
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Chapter:
    """The sections about one profile and eval set; without a title those about the whole page."""

    id: str
    title: str | None
    subtitle: str | None
    _: KW_ONLY
    sections: tuple[Section, ...]
