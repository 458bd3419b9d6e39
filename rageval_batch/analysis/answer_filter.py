"""Which answers a query can be about, as far as its text says so: only their inputs are read again.

A query may name runs and questions by constants: where each place that it reads `answers` in is bound to some of them,
no others are needed. What is not understood stands for all answers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from rageval_batch.dataclass import dataclass

_VIEWS = frozenset(("answers", "stored_answers"))
_BY_NAME = frozenset(("query", "query_table"))  # functions that read tables whose names are texts
_JOINS = frozenset(("INNER", "LEFT", "RIGHT", "OUTER"))
_PLAIN = frozenset(("REGULAR", "CROSS", "NATURAL"))  # kinds of joins that do not depend on the order of rows
_OTHERWISE_NAMED = ("sample", "column_name_alias")  # what lets a table have other rows or names of columns

# What DuckDB's parser makes of a query, without all that is as it always is.
SYNTAX_TREE = "select json_serialize_sql($1::varchar, skip_default := true, skip_empty := true, skip_null := true)"

Node = Mapping[str, Any]


@dataclass(frozen=True)
class AnswerFilter:
    """Answers of these runs to these questions; null: of all."""

    runs: frozenset[str] | None = None
    questions: frozenset[str] | None = None

    def covers(self, other: AnswerFilter) -> bool:
        """Whether all answers of the other are among these."""
        return all(
            mine is None or (theirs is not None and theirs <= mine)
            for mine, theirs in ((self.runs, other.runs), (self.questions, other.questions))
        )

    def __or__(self, other: AnswerFilter) -> AnswerFilter:
        """Answers that have those of both among them."""
        return AnswerFilter(_either(self.runs, other.runs), _either(self.questions, other.questions))


def _either(one: frozenset[str] | None, other: frozenset[str] | None) -> frozenset[str] | None:
    return None if one is None or other is None else one | other


NO_ANSWERS = AnswerFilter(frozenset(), frozenset())
ALL_ANSWERS = AnswerFilter()


def answer_filter(syntax_tree: str) -> AnswerFilter:
    """The answers that a query needs, by what SYNTAX_TREE gives of it."""
    tree = json.loads(syntax_tree)
    if tree.get("error") or any(one.get("function_name") in _BY_NAME for one in _nodes(tree)):
        return ALL_ANSWERS
    if all(_is_description(one["node"]) for one in tree["statements"]):
        return NO_ANSWERS
    found = NO_ANSWERS
    bound = 0
    for node in _nodes(tree):
        if node.get("type") == "SELECT_NODE":
            for table in _tables(node.get("from_table", {})):
                found |= _bound(node, table)
                bound += 1
    read = sum(_is_answers(node) for node in _nodes(tree))
    return found if read and bound == read else ALL_ANSWERS


def _nodes(tree: Any) -> Iterator[Node]:
    """All objects of a tree."""
    waiting = [tree]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            yield one
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one


def _is_description(node: Node) -> bool:
    """Whether a statement says what columns there are, for which no row is read."""
    return bool(node.get("from_table", {}).get("show_type") == "DESCRIBE")


def _is_answers(node: Node) -> bool:
    return node.get("type") == "BASE_TABLE" and str(node.get("table_name")).lower() in _VIEWS


def _tables(table: Node) -> Iterator[Node]:
    """The places in which a `from` clause reads answers, as far as a condition of its query binds them."""
    if table.get("type") == "JOIN":
        if table.get("join_type") in _JOINS and table.get("ref_type") in _PLAIN:
            yield from _tables(table["left"])
            yield from _tables(table["right"])
    elif _is_answers(table) and not any(table.get(name) for name in _OTHERWISE_NAMED):
        yield table


def _bound(node: Node, table: Node) -> AnswerFilter:
    """The answers that are left of a table by the conditions of the query that reads it."""
    names = {"runs": "run_id", "questions": "question_id"}
    found: dict[str, frozenset[str] | None] = dict.fromkeys(names)
    own = table.get("alias") or table["table_name"]
    for condition in _conditions(node.get("where_clause", {})):
        column, values = _constants(condition)
        for kind, name in names.items():
            if column[-1:] == [name] and (column[:-1] in ([], [own]) or _is_shared(node["from_table"], name)):
                known = found[kind]
                found[kind] = values if known is None else known & values
    return AnswerFilter(**found)


def _is_shared(table: Node, column: str) -> bool:
    """Whether all tables of a `from` clause have one value of a column in each row."""
    if table.get("type") != "JOIN":
        return True
    using = [name.lower() for name in table.get("using_columns", ())]
    inner = table.get("join_type") == "INNER" and column in using
    return inner and _is_shared(table["left"], column) and _is_shared(table["right"], column)


def _conditions(where: Node) -> Iterator[Node]:
    """The conditions that all hold."""
    if where.get("type") == "CONJUNCTION_AND":
        for child in where["children"]:
            yield from _conditions(child)
    elif where:
        yield where


def _constants(condition: Node) -> tuple[list[str], frozenset[str]]:
    """(the column that a condition compares with texts, these texts); no column where it does anything else."""
    if condition.get("type") == "COMPARE_EQUAL":
        sides = [condition["left"], condition["right"]]
        if sides[0].get("type") != "COLUMN_REF":
            sides.reverse()
    elif condition.get("type") == "COMPARE_IN":
        sides = condition["children"]
    else:
        return [], frozenset()
    column, *values = sides
    texts = [_text(value) for value in values]
    if column.get("type") != "COLUMN_REF" or any(text is None for text in texts):
        return [], frozenset()
    return [name.lower() for name in column["column_names"]], frozenset(text for text in texts if text is not None)


def _text(value: Node) -> str | None:
    literal = value.get("literal", {})
    text = literal.get("text")
    return text if value.get("type") == "VALUE_CONSTANT" and literal.get("kind") == "STRING" else None
