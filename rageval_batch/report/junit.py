"""JUnit XML, for the test tab of a CI: a suite a run, a case a check."""

from __future__ import annotations

from dataclasses import KW_ONLY

from rageval_batch.dataclass import dataclass
from rageval_batch.report.safe_text import xml_attribute, xml_text


@dataclass(frozen=True)
class Case:
    """A check: passed, failed or skipped, and why; and what is to be said of it whatever its status."""

    name: str
    status: str
    message: str = ""
    _: KW_ONLY
    note: str = ""


@dataclass(frozen=True)
class Suite:
    """The checks of one run or comparison."""

    name: str
    cases: tuple[Case, ...]

    def count(self, status: str) -> int:
        """How many checks ended so."""
        return sum(case.status == status for case in self.cases)


def junit(suites: list[Suite]) -> str:
    """All suites as one document; any text is written so that it stays well-formed."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f"<testsuites{_counts(suites)}>"]
    for suite in suites:
        name = xml_attribute(suite.name)
        lines.append(f"  <testsuite name={name}{_counts([suite])}>")
        for case in suite.cases:
            opened = f"    <testcase classname={name} name={xml_attribute(case.name)}"
            inside = _result(case)
            lines.append(opened + (f">{inside}</testcase>" if inside else "/>"))
        lines.append("  </testsuite>")
    return "\n".join([*lines, "</testsuites>"])


def _counts(suites: list[Suite]) -> str:
    tests = sum(len(suite.cases) for suite in suites)
    failures, skipped = (sum(suite.count(status) for suite in suites) for status in ("failed", "skipped"))
    return f' tests="{tests}" failures="{failures}" errors="0" skipped="{skipped}"'


def _result(case: Case) -> str:
    """The elements of a check: none of one that passed and has no note."""
    note = f"<system-out>{xml_text(case.note)}</system-out>" if case.note else ""
    if case.status == "passed":
        return note
    return f"<{'failure' if case.status == 'failed' else 'skipped'} message={xml_attribute(case.message)}/>{note}"
