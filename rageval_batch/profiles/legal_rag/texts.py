"""Whether answers give the expected text or entity, in whole columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from rageval_batch.columnar import kernels
from rageval_batch.columnar.strings import LARGE_STRING, Flags, Strings, from_arrow, from_list
from rageval_batch.columnar.text import folded, soft_match
from rageval_batch.dataclass import dataclass
from rageval_batch.profiles.legal_rag.facts import Match
from rageval_batch.profiles.legal_rag.fields import as_text
from rageval_batch.profiles.legal_rag.outputs import Coded, Codes, Outputs
from rageval_batch.profiles.legal_rag.questions import Question

ENTITY = "entity"
TEXTS = ("text_answer", ENTITY)


@dataclass(frozen=True)
class ExpectedField:
    """An expected field of all questions, by their index: whether it is there, as a text, and, of TEXTS, folded."""

    there: Flags
    texts: pa.Array
    folded: Strings


def expected_field(questions: Sequence[Question], field: str) -> ExpectedField:
    """A field of an eval set; "" where a question does not expect it."""
    there = [field in one.expected for one in questions]
    texts = [one.expected_text(field) if field in one.expected else "" for one in questions]
    compared = [one.wanted[field] if field in TEXTS and field in one.expected else "" for one in questions]
    return ExpectedField(np.array(there, np.bool_), pa.array(texts, LARGE_STRING), from_list(compared))


@dataclass(frozen=True)
class GivenTexts:
    """Texts that answers give: first the distinct values of a field, then the answers' own texts."""

    texts: pa.Array
    folded: Strings
    in_field: int

    def matches(self, expected: ExpectedField, question: Codes, which: Codes, *, entity: bool) -> list[Match]:
        """Whether text `which[k]` is what question `question[k]` expects: has the entity, or is equal to any other text
        or similar enough; nothing is found of an expected text that is blank."""
        hay, needle = self.folded, expected.folded
        starts, ends = needle.starts[question], needle.ends[question]
        h_starts, h_ends = hay.starts[which], hay.ends[which]
        same = kernels.contains(hay.data, h_starts, h_ends, needle.data, starts, ends) & (starts < ends)
        verdict = np.where(same, "has it", "does not have it")
        got = self.texts.take(pa.array(which))
        if not entity:
            same &= h_ends - h_starts == ends - starts
            verdict = np.where(same, "is equal", "is not similar enough")
            other = np.flatnonzero(~same)
            near = soft_match(expected.texts.take(pa.array(question[other])), got.take(pa.array(other)))
            same[other] = near.to_numpy(zero_copy_only=False)
            verdict[other[same[other]]] = "is similar enough"
        where = np.where(which < self.in_field, "the field", "the answer")
        return [
            Match(matched, text, why=f"{place} {why}")
            for matched, text, place, why in zip(
                same.tolist(), got.to_pylist(), where.tolist(), verdict.tolist(), strict=True
            )
        ]


def given_texts(outputs: Outputs, field: Coded) -> GivenTexts:
    """The texts of a field and of the answers."""
    values = pa.array([as_text(value) for value in field.values], LARGE_STRING)
    answers = outputs.answer.values.texts.to_arrow()
    both = [folded(from_arrow(values)).to_arrow(), outputs.folded_answers.to_arrow()]
    compared = kernels.squash(from_arrow(pa.concat_arrays(both)))
    return GivenTexts(pa.concat_arrays([values, answers]), compared, len(values))
