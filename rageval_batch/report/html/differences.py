"""Two answers, with what differs between them marked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher

MOST_TOKENS = 800  # of a text that is compared word by word: the matcher is quadratic
# A word, or one character of a script that is written without spaces, or white space, or any other character.
_TOKEN = re.compile(
    r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]|\s+|[^\W_]+?(?=[\u3040-\u30ff\u3400-\u9fff]|\W|_|$)|.",
    re.S,
)


@dataclass(frozen=True)
class Piece:
    """A part of an answer that the other answer has too, or not."""

    text: str
    changed: bool


def marked_differences(before: str, after: str) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
    """Both texts in pieces; texts of too many words are compared only where they begin, the rest is unmarked.

    White space is marked only where nothing else differs: indentation would hide what does.
    """
    (mine, my_rest), (theirs, their_rest) = (_tokens(text) for text in (before, after))
    left: list[Piece] = []
    right: list[Piece] = []
    for kind, a, b, c, d in SequenceMatcher(None, mine, theirs, autojunk=False).get_opcodes():
        left.append(Piece("".join(mine[a:b]), kind != "equal"))
        right.append(Piece("".join(theirs[c:d]), kind != "equal"))
    if any(piece.changed and not piece.text.isspace() and piece.text for piece in (*left, *right)):
        left, right = ([part for piece in side for part in _without_margins(piece)] for side in (left, right))
    return _whole(left, my_rest), _whole(right, their_rest)


def _without_margins(piece: Piece) -> tuple[Piece, ...]:
    """A changed piece with the white space at its ends as pieces of their own, unmarked."""
    if not piece.changed:
        return (piece,)
    inner = piece.text.strip()
    start = piece.text.index(inner)
    margin = Piece(piece.text[:start], False), Piece(piece.text[start + len(inner) :], False)
    return (margin[0], Piece(inner, True), margin[1])


def _tokens(text: str) -> tuple[list[str], str]:
    """(the first words, the text behind them)"""
    words: list[str] = []
    end = 0
    for found in _TOKEN.finditer(text):
        if len(words) == MOST_TOKENS:
            break
        words.append(found[0])
        end = found.end()
    return words, text[end:]


def _whole(pieces: list[Piece], rest: str) -> tuple[Piece, ...]:
    return tuple(piece for piece in (*pieces, Piece(rest, False)) if piece.text)
