"""How the rows of a profile say what they are about: by a question of the eval set, or by keys of their own.

Declarations only: `rageval_batch.inputs` has the class that reads each kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, ClassVar

import pyarrow as pa

from rageval_batch.dataclass import dataclass
from rageval_batch.model.field_table import Field
from rageval_batch.model.metric import Column
from rageval_batch.model.params import Params
from rageval_batch.model.schemas import CHUNK_TEXT, CHUNKS, QUESTION_ID, SOURCE_PATH, EvalSet, OutputField


@dataclass(frozen=True, kw_only=True)
class QuestionFormat:
    """What a question file must look like: `check` lists what differs, `score` refuses it."""

    schema: Mapping[str, Any] = field(default_factory=dict)  # JSON Schema of one question
    header: Mapping[str, Any] = field(default_factory=dict)  # JSON Schema of what stands around the questions
    problems: Callable[[dict[str, Any]], Iterator[tuple[list[str | int], str]]] | None = None  # what no schema can
    # say of a question that keeps its schema: (steps to a value that cannot be scored, what is allowed)
    key: tuple[str, ...] = ()  # fields that together are unique in a question file; none: the id alone
    marks: tuple[str, ...] = ()  # dotted keys of a question or its file that only this profile has
    strata: tuple[
        str, ...
    ] = ()  # dotted keys of a question that a subset is stratified over; a|b: b where there is no a

    def with_fields(self, names: tuple[str, ...]) -> QuestionFormat:
        """The format of questions that need these fields alone, which together are unique."""
        properties = {name: self.schema["properties"][name] for name in names}
        return replace(self, schema={**self.schema, "required": list(names), "properties": properties}, key=names)


@dataclass(frozen=True, kw_only=True)
class OutputFormat:
    """What an answer must look like: a plain text, a JSON object (or the text of one), or either."""

    schema: Mapping[str, Any] | None = None  # JSON Schema of the object; None: an answer is a plain text
    text: bool = True  # whether a plain text is an answer too


@dataclass(frozen=True, kw_only=True)
class Example:
    """A question, an answer to it and the retrieved texts that together score full marks."""

    question: Mapping[str, Any]
    output: Mapping[str, Any]  # what a row of the outputs has beside run_id and the id of the question
    contexts: tuple[Mapping[str, Any], ...] = ()  # rows of the contexts, without the id of the question


def _field(names: tuple[str, ...], type: str, meaning: str, *, required: bool = False) -> Field:
    return Field(names[0], type, required, default=None, meaning=meaning, names=names[1:])


def stated_weights(eval_set: EvalSet) -> Sequence[float]:
    """The weight that each question states; 1 where it states none."""
    return eval_set.weights


@dataclass(frozen=True, kw_only=True)
class ByQuestion:
    """Every row answers a question of the eval set; a question that a run leaves unanswered is scored as missing."""

    questions: QuestionFormat = QuestionFormat()
    outputs: OutputFormat = OutputFormat()
    example: Example | None = None  # None: one is made up from the schema
    output_fields: tuple[OutputField, ...] = ()  # of an answer that stands in the row itself
    fields_first: bool = False  # they are the answer where a row has them, whatever its `output` is
    weights: Callable[[EvalSet], Sequence[float]] = stated_weights

    questions_required: ClassVar[bool] = True
    keys: ClassVar[tuple[str, ...]] = ()
    carried: ClassVar[tuple[Column, ...]] = ()
    whole_files: ClassVar[bool] = False
    archive: ClassVar[tuple[str, str] | None] = None
    key_fields: ClassVar[tuple[Field, ...]] = (
        _field(QUESTION_ID, "text or number", "the question that is answered", required=True),
    )
    retrieved_fields: ClassVar[tuple[Field, ...]] = (
        _field(CHUNKS, "list", "what was retrieved for this answer, in place of the contexts"),
    )
    context_fields: ClassVar[tuple[Field, ...]] = (
        _field(QUESTION_ID, "text or number", "the question that it was retrieved for", required=True),
        _field(("run_id",), "text", "the run that retrieved it; without it every run"),
        _field(SOURCE_PATH, "text", "where it comes from"),
        _field(CHUNK_TEXT, "text", "the chunk", required=True),
        _field(("chunk_id",), "text", "its id"),
        _field(CHUNKS[:1], "list of objects", "in place of the fields above, all chunks of a question in one row"),
    )


@dataclass(frozen=True, kw_only=True)
class SelfKeyed:
    """Every row says itself what it is about: no question list is needed, and no row is rejected for its keys."""

    questions: QuestionFormat  # of the list (-q) of what should be there
    outputs: OutputFormat = OutputFormat()
    example: Example | None = None  # None: one is made up from the schema
    keys: tuple[str, ...]  # text columns of the outputs that reach the batch, null where a row has none
    carried: tuple[Column, ...]  # columns that scoring makes for `reconcile`, which takes them off
    reconcile: str  # table macro of sql/ over `rows` (all score rows of a job) and `listed`: the rows as stored
    log: str  # table macro of sql/ over `rows` and `stored`: run_id, question_count, answered_count, repeats, meta
    list_columns: Callable[[Params], tuple[str, ...]]  # columns that the list must have
    read_list: Callable[[pa.Table], pa.Table]  # the list as `reconcile` wants it
    texts: tuple[str, str]  # columns of the texts (-c) that rows are about: key and text
    order: tuple[str, ...]  # how the rows of a commit are sorted
    whole_files: bool = False  # a .json file of outputs is one output; its name stands in the column `file`
    archive: tuple[str, str] | None = None  # columns that say whether a row is valid, and if not, why

    questions_required: ClassVar[bool] = False
    output_fields: ClassVar[tuple[OutputField, ...]] = ()
    retrieved_fields: ClassVar[tuple[Field, ...]] = ()

    @property
    def key_fields(self) -> tuple[Field, ...]:
        """Fields of an output row that say what it is about."""
        return tuple(_field((name,), "text", "as in the record, over which it wins") for name in self.keys)

    @property
    def context_fields(self) -> tuple[Field, ...]:
        """Fields of a row of the texts (-c)."""
        key, text = self.texts
        return (
            _field((key,), "text", "what a judgement is about", required=True),
            _field((text,), "text", "its text, in which quotes are looked for", required=True),
        )


Inputs = ByQuestion | SelfKeyed
