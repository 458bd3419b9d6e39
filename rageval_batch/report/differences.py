"""Two answers with what differs between them marked, and of long ones the stretches around the first differences."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from difflib import SequenceMatcher

from rageval_batch.dataclass import dataclass
from rageval_batch.report.graphemes import cut_place

_WINDOW = 800  # words that are compared at a time: the matcher is quadratic
_NEAR = 60  # characters around a place among which words begin
_LEAST_CONTEXT = 60  # characters that are shown beside a difference
_LEAD = 240  # characters that are shown before the first difference of a text that is cut, so that it is soon seen
_LEAST_GAP = 80  # characters that are left out: fewer are not worth that it is said
_CJK = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
# One character of a script that is written without spaces, or white space, or a word, or any other character.
_TOKEN = re.compile(rf"[{_CJK}]|\s+|[^\W_]+?(?=[{_CJK}]|\W|_|$)|.", re.S)
_MARGIN = re.compile(r"(^\s+|\s*\n\s*|\s+$)")
_ALONE = re.compile(rf"[{_CJK}\s]")


@dataclass(frozen=True)
class Piece:
    """A part of an answer that the other answer has too, or not; or how many characters are not shown in its place."""

    text: str
    changed: bool = False
    left_out: int = 0


Pieces = tuple[Piece, ...]


def marked_differences(before: str, after: str, most: int) -> tuple[Pieces, Pieces]:
    """Both texts in pieces; of longer ones than `most` characters the stretches around the first differences.

    White space is marked only where nothing else differs: indentation would hide what does. Where one text has
    something that the other has not, the other has an empty changed piece, so that both sides show the same place.
    """
    head = _shared_head(before, after)
    tail = _shared_tail(before[head:], after[head:])
    mine, theirs = (text[head : len(text) - tail] for text in (before, after))
    left, right = [Piece(before[:head])], [Piece(after[:head])]
    while (mine or theirs) and not (_fills(left, most) or _fills(right, most)):
        (some, my_rest), (others, their_rest) = _tokens(mine), _tokens(theirs)
        codes = SequenceMatcher(None, some, others, autojunk=False).get_opcodes()
        if (my_rest or their_rest) and len(codes) > 1 and codes[-1][0] != "equal":
            codes.pop()  # words that the next window may find the like of
        for kind, a, b, c, d in codes:
            left.append(Piece("".join(some[a:b]), kind != "equal"))
            right.append(Piece("".join(others[c:d]), kind != "equal"))
        _, _, my_end, _, their_end = codes[-1]
        mine, theirs = "".join(some[my_end:]) + my_rest, "".join(others[their_end:]) + their_rest
        head = _shared_head(mine, theirs)
        left.append(Piece(mine[:head]))
        right.append(Piece(theirs[:head]))
        mine, theirs = mine[head:], theirs[head:]
    if any(piece.changed and piece.text.strip() for piece in (*left, *right)):
        _join_over_spaces(left, right)
        left, right = ([part for piece in _joined(side) for part in _without_margins(piece)] for side in (left, right))
    left += (Piece("", left_out=len(mine)), Piece(before[len(before) - tail :]))
    right += (Piece("", left_out=len(theirs)), Piece(after[len(after) - tail :]))
    return stretches(_joined(left), _joined(right), most)


def stretches(before: Sequence[Piece], after: Sequence[Piece], most: int) -> tuple[Pieces, Pieces]:
    """Both sides with at most so many characters each: the first differences, and as much around them as there is
    room for."""
    context = most
    while context > _LEAST_CONTEXT and max(_size(_near(side, context)) for side in (before, after)) > most:
        context = max(_LEAST_CONTEXT, context * 4 // 5)
    lead = context if context == most else min(context, _LEAD)
    first, second = (_first(_near(side, context, lead), most) for side in (before, after))
    return _joined(first), _joined(second)


def beginning(text: str, most: int) -> Pieces:
    """A text that there is nothing to compare with: its first characters."""
    return _joined(_first([Piece(text)], most))


def _shared_head(before: str, after: str) -> int:
    """How many characters both texts share where they begin, up to where a word ends."""
    head = _shared(before, after)
    if head == len(before) == len(after):
        return head
    for place in range(head, max(0, head - _NEAR), -1):
        if _ALONE.match(before[place - 1]) and cut_place(before, place) == place == cut_place(after, place):
            return place
    return min(cut_place(before, head), cut_place(after, head)) if head >= _NEAR else 0


def _shared_tail(before: str, after: str) -> int:
    """How many characters both texts share where they end, from where a word begins."""
    tail = _shared(before[::-1], after[::-1])
    for size in range(tail, max(0, tail - _NEAR), -1):
        place, other = len(before) - size, len(after) - size
        if _ALONE.match(before[place]) and cut_place(before, place) == place and cut_place(after, other) == other:
            return size
    return 0


def _shared(before: str, after: str) -> int:
    """How many characters two texts share where they begin."""
    low, high = 0, min(len(before), len(after))
    while low < high:
        middle = (low + high + 1) // 2
        if before[low:middle] == after[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _tokens(text: str) -> tuple[list[str], str]:
    """(the first words, the text behind them); a mark stays with what it is on."""
    words: list[str] = []
    end = 0
    for found in _TOKEN.finditer(text):
        begins = cut_place(text, found.start()) == found.start()
        marked = words and unicodedata.combining(words[-1][-1]) and found[0][0].isalnum()
        if words and (not begins or (marked and not _ALONE.match(found[0]))):
            words[-1] += found[0]
        elif len(words) == _WINDOW:
            break
        else:
            words.append(found[0])
        end = found.end()
    return words, text[end:]


def _join_over_spaces(left: list[Piece], right: list[Piece]) -> None:
    """Let words that differ in a row be one difference: the space that both have between them is a part of it."""
    for k in range(1, len(left) - 1):
        beside = left[k - 1].changed and left[k + 1].changed
        if beside and not left[k].changed and left[k].text.isspace() and "\n" not in left[k].text:
            left[k], right[k] = (Piece(side[k].text, True) for side in (left, right))


def _without_margins(piece: Piece) -> list[Piece]:
    """A changed piece with the white space at its ends, and around the ends of its lines, as unmarked pieces."""
    if not piece.changed or not piece.text:
        return [piece]
    return [Piece(part, not part.isspace()) for part in _MARGIN.split(piece.text) if part]


# --- what is shown of them --------------------------------------------------------------------------------------------


def _size(pieces: Sequence[Piece]) -> int:
    return sum(len(piece.text) for piece in pieces)


def _fills(pieces: Sequence[Piece], most: int) -> bool:
    """Whether the differences that are found take all the room."""
    return any(piece.changed for piece in pieces) and _size(_near(pieces, _LEAST_CONTEXT)) > most


def _near(pieces: Sequence[Piece], context: int, lead: int | None = None) -> list[Piece]:
    """The pieces without what both texts have further than `context` from a difference, or than `lead` before the first
    one."""
    changes = [k for k, piece in enumerate(pieces) if piece.changed]
    if not changes:
        return list(pieces)
    out: list[Piece] = []
    for k, piece in enumerate(pieces):
        if piece.changed or piece.left_out:
            out.append(piece)
            continue
        text = piece.text
        end = _end_before(text, context) if k > changes[0] else 0
        before = context if lead is None or k > changes[0] else lead
        start = _start_behind(text, len(text) - before) if k < changes[-1] else len(text)
        if start - end < _LEAST_GAP:
            out.append(piece)
        else:
            out += (Piece(text[:end]), Piece("", left_out=start - end), Piece(text[start:]))
    return out


def _first(pieces: Sequence[Piece], most: int) -> list[Piece]:
    """The first pieces, of at most so many characters; of a long change its beginning."""
    out: list[Piece] = []
    for piece in pieces:
        room = min(most, max(_LEAST_CONTEXT, most // 2)) if piece.changed and len(pieces) > 1 else most
        end = _end_before(piece.text, room)
        if end or most > 0:
            out.append(Piece(piece.text[:end], piece.changed))
        out.append(Piece("", left_out=piece.left_out + len(piece.text) - end))
        most = most - end if end == len(piece.text) or piece.changed else 0
    return out


def _end_before(text: str, at: int) -> int:
    """A place to cut at or before this one: behind the end of a line or where a word ends, if one does nearby."""
    if at >= len(text):
        return len(text)
    near = text[max(0, at - _NEAR) : at]
    if (line := near.rfind("\n")) >= 0:
        return at - len(near) + line + 1
    found = next((k for k in range(len(near), max(0, len(near) - _NEAR // 3), -1) if _ALONE.match(near[k - 1])), None)
    return cut_place(text, at if found is None else at - len(near) + found)


def _start_behind(text: str, at: int) -> int:
    """A place to begin at or behind this one: at the end of a line or where a word begins, if one does nearby.

    Line ends are kept on both sides, so that what is said to be left out stands on a line of its own.
    """
    if at <= 0:
        return 0
    near = text[at : at + _NEAR]
    if (line := near.find("\n")) >= 0:
        return at + line
    found = next((k for k in range(min(len(near), _NEAR // 3)) if _ALONE.match(near[k])), None)
    return cut_place(text, at if found is None else at + found)


def _joined(pieces: Sequence[Piece]) -> Pieces:
    """The pieces without empty ones, but for changed ones; those of one kind that follow each other are one."""
    out: list[Piece] = []
    for piece in pieces:
        if not piece.text and not piece.left_out and not piece.changed:
            continue
        if out and out[-1].changed == piece.changed and bool(out[-1].left_out) == bool(piece.left_out):
            last = out.pop()
            out.append(Piece(last.text + piece.text, piece.changed, last.left_out + piece.left_out))
        else:
            out.append(piece)
    return tuple(out)
