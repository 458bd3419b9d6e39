"""Configuration files decoded into types: what is wrong is said with its JSON path and what is allowed there."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pytest

from rageval_batch.errors import InputError, did_you_mean
from rageval_batch.typed_config import DecodeError, decode, read_typed_config


class Inner(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A table in a list."""

    name: Annotated[str, msgspec.Meta(min_length=1)]
    weight: float = 1.0
    form: Literal["map", "list"] = "map"
    paths: str | list[str] = ""


class Outer(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A file."""

    inner: list[Inner] | None = None
    counts: dict[str, int] = {}


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({"iner": []}, "$: Unknown key 'iner'. Did you mean 'inner'? Available: inner, counts."),
        ({"inner": 3}, "$.inner: Expected a list or null, got a whole number."),
        ({"inner": [{"name": "a"}, {}]}, "$.inner[1]: name is missing."),
        ({"inner": [{"name": ""}]}, "$.inner[0].name: must not be empty."),
        ({"inner": [{"name": "a", "wait": 1}]},
         "$.inner[0]: Unknown key 'wait'. Did you mean 'weight'? Available: name, weight, form, paths."),
        ({"inner": [{"name": "a", "weight": "1"}]}, "$.inner[0].weight: Expected a number, got a text."),
        ({"inner": [{"name": "a", "form": "tree"}]}, "$.inner[0].form: 'tree' is not known. Allowed: list, map."),
        ({"inner": [{"name": "a", "paths": [3]}]}, "$.inner[0].paths[0]: Expected a text, got a whole number."),
        ({"inner": [{"name": "a", "paths": True}]}, "$.inner[0].paths: Expected a text or a list, got true or false."),
        ({"counts": {"a": 1.5}}, "$.counts.a: Expected a whole number, got a number."),
        ({"\ud800": 1}, "$: Expected texts of whole characters"),
        ({"a`b\n - at `$.x`": 1}, "$: Unknown key"),
    ],
)  # fmt: skip
def test_what_is_wrong_and_where(value: dict[str, Any], says: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decode(value, Outer)
    assert str(caught.value).startswith(says)


def test_a_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "outer.toml"
    path.write_text('[[inner]]\nname = "a"\nweight = 2\n')
    assert read_typed_config(str(path), Outer) == Outer(inner=[Inner(name="a", weight=2.0)])
    path.write_text("[[inner]]\nname = 3\n")
    with pytest.raises(InputError, match=r"outer\.toml, \$\.inner\[0\]\.name: Expected a text, got a whole number\."):
        read_typed_config(str(path), Outer)


def test_names_that_are_offered_are_cut_and_on_one_line() -> None:
    said = did_you_mean("run", "a\nb", ["a\nc", "x" * 8000])
    assert said == f"Unknown run 'a\\nb'. Did you mean 'a\\nc'? Available: a\\nc, {'x' * 200}…."
