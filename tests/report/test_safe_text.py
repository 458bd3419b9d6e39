"""Text of others, made safe for each place it is shown in: harmless there, and still telling what it was."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_batch.report import safe_text
from rageval_batch.report.cells import format_value, json_line
from support.hostile import HOSTILE, harmless

ANY_TEXT = st.text(st.characters(), max_size=20) | st.sampled_from(HOSTILE)


@given(ANY_TEXT)
def test_a_terminal_line_is_one_harmless_line(text: str) -> None:
    shown = safe_text.terminal_text(text)
    assert harmless(shown) and "\n" not in shown
    assert safe_text.terminal_text(shown) == shown
    assert harmless(safe_text.message_text(text))
    assert harmless(format_value([text, {text: text}]))


def test_lines_of_a_message_behind_the_first_are_indented() -> None:
    assert safe_text.message_text("run 'a\nrageval: PASSED'") == "run 'a\n  rageval: PASSED'"


@pytest.mark.parametrize("text", ["漢字\u3000仮名", "👩‍👧", "می\u200cخواهم", "1\u202f000", "naïve — “quoted”"])
def test_writing_is_left_alone(text: str) -> None:
    assert safe_text.terminal_text(text) == text


@given(ANY_TEXT)
def test_json_is_harmless_and_the_same_value(text: str) -> None:
    written = json_line({text: [text]})
    assert harmless(written)
    assert json.loads(written) == {text: [text]}
    written.encode()


@given(ANY_TEXT | st.just("a\x9b31mb\r\u202ec"))
def test_xml_is_well_formed_and_harmless(text: str) -> None:
    attribute, content = safe_text.xml_attribute(text), safe_text.xml_text(text)
    assert harmless(attribute) and harmless(content.replace("\t", ""))
    element = ElementTree.fromstring(f"<a b={attribute}>{content}</a>".encode())
    assert element.get("b") == (element.text or "")
    if all(" " <= c < "\x7f" or c in "\t\n\r" for c in text):
        assert element.get("b") == text


@given(ANY_TEXT)
def test_html_has_no_tags_and_no_way_out_of_an_attribute(text: str) -> None:
    tags: list[str] = []

    class Tags(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            tags.append(tag)
            tags.extend(name for name, _ in attrs)

    parser = Tags()
    parser.feed(f'<p title="{safe_text.html_text(text)}">{safe_text.html_text(text)}</p>')
    parser.close()
    assert tags == ["p", "title"]


@given(ANY_TEXT)
def test_markdown_stays_in_its_cell(text: str) -> None:
    shown = safe_text.markdown_text(text)
    assert harmless(shown) and "\n" not in shown and "<" not in shown
    assert "|" not in shown.replace("\\\\", "").replace("\\|", "")


@given(ANY_TEXT)
def test_a_block_of_code_ends_where_it_should(text: str) -> None:
    fence, *_, last = safe_text.markdown_block(text).split("\n")
    assert fence == last and fence not in text


@pytest.mark.parametrize(
    "text", ["=1", "+1+1", "-a", "@x", "\tx", "\rx", "\nx", "＝1", " =1", "\xa0+1", "\ufeff @x", "\0=1"]
)
def test_formulas_are_texts(text: str) -> None:
    assert safe_text.csv_text_cell(text) == "'" + text


@pytest.mark.parametrize("text", ["", " ", "==", "a=b", "1-1", "x", " x", "_=1", ".-"])
def test_other_cells_are_as_they_are(text: str) -> None:
    assert safe_text.csv_text_cell(text) == text
