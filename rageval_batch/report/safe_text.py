"""Text of others made safe for where it is shown: terminal, JSON, CSV, Markdown, XML, HTML.

Run ids, file names, answers, and the messages of other libraries may hold anything: escape sequences that recolour or
retitle a terminal, characters that turn the direction of what follows, formulas, markup. Whatever leaves the program
goes through one of these functions.
"""

from __future__ import annotations

import re
import unicodedata

# What a terminal may act on or hide: controls, format characters, halves of surrogate pairs, unassigned and private
# code points, and the separators of lines and paragraphs. Spaces of every kind are shown as they are.
_UNSAFE = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
_JOINERS = frozenset("\u200c\u200d")  # scripts and emoji are spelled with them; they move nothing

# A spreadsheet takes a cell that begins so for a formula, some behind spaces and invisible characters too; the wide
# forms are those of Asian input methods. Python and Polars read the pattern: it has no classes of one of them alone.
_PASSED_OVER = "\0- \x7f-\xa0\xad\u1680\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff"
FORMULA = f"^(?:[\t\r\n]|[{_PASSED_OVER}]*[=+@＝＋－＠-])"
PLAIN_NUMBER = r"^[+\-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+\-]?[0-9]+)?$"  # no formula, whatever it begins with
_OPERATOR = "=="  # of a gate: no formula

_MOST_LINE = 4000  # characters of a message
_SURROGATE = re.compile("[\ud800-\udfff]")
_MARKDOWN = re.compile(r"([\\`*_\[\]|~])")


def is_safe(c: str) -> bool:
    """Whether a character can be shown as it is: nothing moves, hides or turns because of it."""
    return c.isprintable() or c in _JOINERS or unicodedata.category(c) not in _UNSAFE


def _escape(c: str) -> str:
    return c.encode("unicode_escape").decode()


def terminal_text(text: str) -> str:
    """The text on one line: what could move the cursor, colour, hide or turn text is written as an escape."""
    if text.isprintable():
        return text
    return "".join(c if is_safe(c) else _escape(c) for c in text)


def visible_name(text: str) -> str:
    """The text; one of nothing but spaces in quotation marks, because nobody sees it otherwise."""
    return f'"{text}"' if text.isspace() else text


def terminal_lines(text: str) -> str:
    """The same for a text of several lines, which stay lines."""
    return "\n".join(map(terminal_text, text.split("\n")))


def message_text(text: str) -> str:
    """A message of possibly several lines: those behind the first are indented, so that none passes for one of ours.

    Of a line that nobody would read to its end, as one that repeats a word of 100 kB, beginning and end are left.
    """
    return "\n  ".join(map(_readable_line, terminal_lines(text).split("\n")))


def _readable_line(line: str) -> str:
    if len(line) <= _MOST_LINE:
        return line
    return f"{line[: _MOST_LINE // 2]} … [{len(line):,} characters] … {line[-_MOST_LINE // 4 :]}"


def json_text(text: str) -> str:
    """Written JSON in which everything that a terminal could act on is an escape: the same value for a reader."""
    if text.isprintable():
        return text
    return "".join(c if c == "\n" or is_safe(c) else _json_escape(c) for c in text)


def _json_escape(c: str) -> str:
    units = c.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[k : k + 4]}" for k in range(0, len(units), 4))


def csv_text_cell(text: str) -> str:
    """The text of a CSV or spreadsheet cell: one that would run as a formula gets an apostrophe in front. A cell that
    is a number and nothing else is none."""
    text = valid_text(text)
    is_number = re.match(PLAIN_NUMBER, text) and "\n" not in text
    return "'" + text if re.match(FORMULA, text) and text != _OPERATOR and not is_number else text


def valid_text(text: str) -> str:
    """The text without halves of surrogate pairs, which no file can hold: they are written as escapes."""
    return _SURROGATE.sub(lambda found: _escape(found[0]), text)


def markdown_text(text: str) -> str:
    """A text that Markdown shows as it is, on one line."""
    from html import escape

    return _MARKDOWN.sub(r"\\\1", escape(terminal_text(text), quote=False))


def markdown_block(text: str) -> str:
    """A text of several lines as a block of code that it cannot end."""
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 3)
    return f"{fence}\n{terminal_lines(text)}\n{fence}"


def xml_attribute(text: str) -> str:
    """The text as a quoted attribute: what XML 1.0 cannot hold or a terminal could act on is written as an escape."""
    from xml.sax.saxutils import quoteattr  # it loads an HTTP client, which only a JUnit file has to wait for

    return quoteattr(_in_xml(text))


def xml_text(text: str) -> str:
    """The same as the content of an element; lines stay lines."""
    from xml.sax.saxutils import escape

    return escape(_in_xml(text), {"\r": "&#13;"})


def _in_xml(text: str) -> str:
    """The text without what is not safe, of which all that XML 1.0 cannot hold is a part."""
    return text if text.isprintable() else "".join(c if c in "\t\n\r" or is_safe(c) else _escape(c) for c in text)


def html_text(text: str) -> str:
    """A text that HTML shows as it is, in an element or a quoted attribute."""
    from html import escape

    return escape(terminal_lines(text), quote=True)
