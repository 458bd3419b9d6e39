"""No parameter is inert: another value of it changes a column or a gate of at least one case."""

from typing import Any

import pytest

from rageval_batch.model import Profile
from rageval_batch.profiles.registry import get_profile
from support.cases import OTHER_VALUES, PROFILES, Case, Row, cases, score_rows

HOLDS: dict[str, Any] = {
    ">=": lambda value, limit: value >= limit,
    "<=": lambda value, limit: value <= limit,
    "==": lambda value, limit: value == limit,
}


def groups(profile: str) -> list[tuple[Row, list[Case]]]:
    """Cases of equal parameters together, those of the defaults first."""
    found: dict[str, tuple[Row, list[Case]]] = {}
    for case in cases(profile):
        found.setdefault(repr(case.params), (case.params, []))[1].append(case)
    return sorted(found.values(), key=lambda group: group[0] != {})


def judged(profile: Profile, answers: list[Case], params: Row) -> list[Any]:
    """Score rows, each with the gates of the run's level that its own values keep."""
    level = profile.read_params(params).get("level", "")
    return [
        (
            row,
            [
                (gate.name, HOLDS[gate.op](row[gate.metric], gate.limit))
                for gate in profile.gates
                if gate.level in ("", level) and row.get(gate.metric) is not None
            ],
        )
        for row in score_rows(profile, answers, params)
    ]


def test_every_parameter_has_another_value() -> None:
    assert {name: set(values) for name, values in OTHER_VALUES.items()} == {
        name: {param.name for param in get_profile(name).params} for name in PROFILES
    }


@pytest.mark.parametrize(("name", "param"), [(name, param) for name in PROFILES for param in OTHER_VALUES[name]])
def test_every_parameter_changes_a_case(name: str, param: str) -> None:
    profile = get_profile(name)
    other = OTHER_VALUES[name][param]
    assert any(
        judged(profile, answers, params) != judged(profile, answers, {**params, param: other})
        for params, answers in groups(name)
        if params.get(param) != other
    )
