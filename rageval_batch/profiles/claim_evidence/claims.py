"""Claims of answers with their evidence, and what supports them."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rageval_batch.columnar import kernels
from rageval_batch.columnar.json_tape import Tape
from rageval_batch.columnar.json_values import filled, ids, labels, members, objects, text_nodes, words
from rageval_batch.columnar.strings import Flags, Ints, Strings
from rageval_batch.dataclass import dataclass
from rageval_batch.profiles.claim_evidence.support import Support, lexical_support

TYPES = ("", "fact", "log")  # of a claim; a missing one is a fact, any other word something else
WHY = ("no_evidence", "labelled_unsupported", "low_overlap", "not_in_evidence")  # the first that holds

Labels = npt.NDArray[np.int8]  # 1 and 0 as labelled, -1 without a label


@dataclass(frozen=True)
class Items:
    """Evidence items of claims that have an id or a text; texts are nodes, -1 where there is none."""

    claim: Ints
    id: pa.Array
    text: Ints
    _: KW_ONLY
    label: Labels
    supports: Flags


@dataclass(frozen=True, kw_only=True)
class Claims:
    """Claims of a batch with their evidence; ids and texts are nodes, `evidence` is how many items there are."""

    row: Ints
    id: Ints
    text: Ints
    log: Flags
    fact: Flags
    label: Labels
    evidence: Ints
    supported: Flags
    items: Items
    lexical: Support

    def failing(self) -> tuple[Ints, Labels]:
        """(index, place in WHY) of claims other than log that have no evidence or are not supported."""
        which = np.flatnonzero(~self.log & (~self.supported | (self.evidence == 0))).astype(np.int32)
        bare, labelled = self.evidence[which] == 0, self.label[which] >= 0
        worded = self.lexical.keyword_counts[which] > 0
        return which, np.where(bare, 0, np.where(labelled, 1, np.where(worded, 2, 3))).astype(np.int8)


def read_claims(tape: Tape, lists: Ints, threshold: float) -> Claims:
    """The claims of answers from the node of each one's list. A label says whether one is supported, else its words."""
    nodes, row = objects(tape, lists)
    id_, said, kind, evidence, supported = members(tape, nodes, "claim_id", "text", "type", "evidence", "supported")
    said, type_, label = text_nodes(tape, said), words(tape, kind, TYPES), labels(tape, supported)

    nodes, claim = objects(tape, evidence)
    item_id, item_text, supports = members(tape, nodes, "evidence_id", "text", "supports")
    item_ids, item_text, item_label = ids(tape, item_id), text_nodes(tape, item_text), labels(tape, supports)
    item_texts = tape.texts(item_text)
    there = item_ids.is_valid().to_numpy(zero_copy_only=False) | filled(item_texts)
    if not there.all():  # an item that says nothing is none
        claim, item_text, item_label = claim[there], item_text[there], item_label[there]
        item_ids, item_texts = item_ids.filter(pa.array(there)), tape.texts(item_text)

    lexical = _lexical(tape, said, label, texts=item_texts, claim=claim, item_label=item_label, threshold=threshold)
    return Claims(
        row=row,
        id=id_,
        text=said,
        log=type_ == TYPES.index("log"),
        fact=(type_ == TYPES.index("fact")) | (type_ == TYPES.index("")),
        label=label,
        evidence=np.bincount(claim, minlength=len(row)).astype(np.int32),
        supported=np.where(label >= 0, label == 1, lexical.supported),
        items=Items(
            claim,
            item_ids,
            item_text,
            label=item_label,
            supports=np.where(item_label >= 0, item_label == 1, lexical.supports),
        ),
        lexical=lexical,
    )


def _lexical(
    tape: Tape, said: Ints, label: Labels, *, texts: Strings, claim: Ints, item_label: Labels, threshold: float
) -> Support:
    """The support by words. A claim for which labels say everything has no words here, as none is looked at."""
    unlabelled = label < 0
    unlabelled[claim[item_label < 0]] = True
    return lexical_support(
        tape.texts(np.where(unlabelled, said, -1).astype(np.int32)), texts, claim, threshold=threshold
    )


# --- for explaining an answer ---------------------------------------------------------------------------------------


def claim_lines(tape: Tape, claims: Claims) -> list[dict[str, Any]]:
    """Every claim: whether it is supported, who says so, and which of its keywords its evidence has and lacks.

    A claim whose support labels alone say has no keywords, as the score looks at none; no keywords are null. One of
    type log counts nowhere: whether it is supported is null.
    """
    texts, names = _texts_and_names(tape, claims)
    support = claims.lexical
    keywords = kernels.keyword_texts(support.keywords)
    lines = []
    for k, said in enumerate(texts):
        places = range(int(support.keywords.bounds[k]), int(support.keywords.bounds[k + 1]))
        counted = not claims.log[k]
        lines.append(
            {
                "claim_id": names[k],
                "text": said,
                "type": "log" if claims.log[k] else "fact" if claims.fact[k] else "other",
                "evidence": int(claims.evidence[k]),
                "supported": bool(claims.supported[k]) if counted else None,
                "said by": _said_by(claims, int(claims.label[k]), k) if counted else None,
                "keywords found": " ".join(keywords.at(at) for at in places if support.keyword_found[at]) or None,
                "not found": " ".join(keywords.at(at) for at in places if not support.keyword_found[at]) or None,
            }
        )
    return lines


def _said_by(claims: Claims, label: int, claim: int) -> str:
    """What decided about a claim or an item of its evidence."""
    if label >= 0:
        return "label"
    return "words" if claims.lexical.keyword_counts[claim] else "containment"


def evidence_lines(tape: Tape, claims: Claims) -> list[dict[str, Any]]:
    """Every evidence item: the claim it stands for, whether it supports that, and who says so."""
    _, names = _texts_and_names(tape, claims)
    items = claims.items
    texts = tape.texts(items.text).to_arrow().to_pylist()
    return [
        {
            "claim_id": names[claim],
            "evidence_id": id_,
            "supports": bool(supports),
            "said by": _said_by(claims, label, claim),
            "text": said,
        }
        for claim, id_, supports, label, said in zip(
            items.claim.tolist(), items.id.to_pylist(), items.supports, items.label.tolist(), texts, strict=True
        )
    ]


def _texts_and_names(tape: Tape, claims: Claims) -> tuple[list[str], list[str]]:
    """(texts, names) of claims; one without an id is called by its place."""
    given = ids(tape, claims.id).to_pylist()
    names = [name if name is not None else f"#{k}" for k, name in enumerate(given, start=1)]
    return tape.texts(claims.text).to_arrow().to_pylist(), names
