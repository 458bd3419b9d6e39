"""The tables of a profile file, as they are written: keys and types are checked here, expressions are not."""

from __future__ import annotations

import tomllib
from typing import Annotated, Literal

import msgspec

from rageval_batch.errors import InputError
from rageval_batch.typed_config import DecodeError, decode

_Text = Annotated[str, msgspec.Meta(min_length=1)]


class MetricTable(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A metric that says more of itself than its expression."""

    expr: str
    doc: str = ""
    higher_is_better: bool = True
    scale: float | None = 1.0  # from the worst value to the best; 0: a count, which has neither
    null_counts_as: float | None = None


class ParamTable(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A parameter that says more of itself than its default."""

    default: float | int | str | list[str]
    doc: str = ""
    low: float | None = None
    high: float | None = None
    choices: list[str] = []


class ScoreTable(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The table [score]."""

    expr: str
    top: float = 1.0
    doc: str = ""


class ReasonTable(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The table [fail_reason]."""

    expr: str


class GateTable(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A table [[gates]]."""

    name: _Text
    metric: str = ""
    stat: str = "mean"
    op: _Text
    limit: float
    level: str = ""
    failure: str = "QualityGateFailure"


class ProfileTables(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A whole profile file."""

    name: _Text
    title: str = ""
    doc: str = ""
    version: Annotated[int, msgspec.Meta(ge=1)] = 1  # counted up where the same answers get other numbers
    extends: str | None = None
    groups: list[str] | Literal["*"] = []
    headline: list[str] | None = None  # metrics that the line of a run shows beside its score; else the first three
    run_stat: Literal["mean", "weighted_mean"] = "mean"
    fields: dict[str, _Text] = {}
    any_of: list[str] = []  # fields of which a question needs at least one
    outputs: dict[str, _Text] = {}  # fields of an output row that are read in place of an answer
    output_members: list[str] = []  # more of them, which stand in the JSON object `output` alone
    params: dict[str, float | int | str | list[str] | ParamTable] = {}
    let: dict[str, str] = {}  # values of any type that expressions behind them use
    metrics: dict[str, str | MetricTable] = {}
    score: str | ScoreTable | None = None
    fail_reason: str | ReasonTable | None = None
    gates: list[GateTable] = []


def read_tables(text: str, where: str) -> ProfileTables:
    """The tables of a profile file; InputError with the place of what cannot be read."""
    try:
        return decode(tomllib.loads(text), ProfileTables)
    except DecodeError as error:
        raise InputError(f"{where}, {error}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where} is not TOML: {error}.") from error
