"""The notebooks run from top to bottom, and say what is committed with them."""

import json
import runpy
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl
import pytest
from IPython.core.formatters import DisplayFormatter

import rageval_batch
from rageval_batch.api import Scores
from support.pages import ANSWERS, hostile_name
from support.places import ROOT

FOLDER = ROOT / "notebooks"
RUNNER = runpy.run_path(str(FOLDER / "execute.py"))


def texts(notebook: dict[str, Any]) -> list[str]:
    """What the cells print and show as text, in order; pictures are known to be there."""
    found = []
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            shown = "a picture" if "image/png" in data else data.get("text/plain", output.get("text"))
            found.append("".join(shown))
    return found


@pytest.mark.parametrize("name", RUNNER["NAMES"])
def test_a_notebook_says_what_is_committed(name: str) -> None:
    """`make notebooks` executes them again."""
    committed = (FOLDER / f"{name}.ipynb").read_text(encoding="utf-8")
    said = texts(json.loads(committed))
    assert "a picture" in said and str(ROOT) not in committed and "/tmp/" not in committed
    assert texts(RUNNER["executed"](name)) == said


def test_every_notebook_is_executed() -> None:
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == set(RUNNER["NAMES"])


# --- answers that attack the notebook ---------------------------------------------------------------------------------

# What the HTML of a frame is made of.
TAGS = frozenset(("div", "style", "table", "thead", "tbody", "tr", "th", "td", "small", "p"))
ATTRIBUTES = frozenset(("class", "border", "style", "scope", "scoped"))


class Markup(HTMLParser):
    """The elements, attributes and texts of what a notebook would put into its page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[tuple[str, str | None]] = set()
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= set(attributes)

    def handle_data(self, text: str) -> None:
        self.text += text


def bundle(value: object) -> dict[str, Any]:
    """What a notebook keeps of a value, and what exports of it are made of."""
    data, _ = DisplayFormatter().format(value)  # type: ignore[no-untyped-call]
    return dict(data)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> tuple[Scores, Path]:
    """Answers, names of runs, questions and columns that are markup, scored from lists as in a notebook."""
    questions = [
        {"id": f"{k}{hostile_name(text)}", "question": text[:200], "must_include": ["b" if k % 2 else "zz"]}
        for k, text in enumerate(ANSWERS)
    ]
    rows = [
        {"run_id": run, "question_id": question["id"], "output": f"{prefix}{text[:2_000]}", "<img src=x>": "</td><b>"}
        for run, prefix in (("<b>base</b><script>window.attacked = 7</script>", ""), ("</script>cand", "b zz "))
        for question, text in zip(questions, ANSWERS, strict=True)
    ]
    rows.append({"run_id": "r", "question_id": "<script>window.attacked = 6</script>", "output": "?"})
    store = tmp_path_factory.mktemp("notebook") / "runs"
    return rageval_batch.score(rows, questions, "include_rate", store=store), store


def test_frames_of_hostile_answers_are_texts(hostile: tuple[Scores, Path]) -> None:
    scores, store = hostile
    with rageval_batch.open_store(store) as session:
        frames = [
            scores.scores, scores.rejects, scores.summary,
            *(pl.from_arrow(session.sql(f"from {view}")) for view in ("runs", "questions", "scores", "fail_reasons")),
            session.sql("from questions").to_pandas(),
            pl.from_arrow(session.sql('select 1 as "</th><script>window.attacked = 9</script>"')),
            pl.DataFrame({"answer": ANSWERS[:8]}),
        ]  # fmt: skip
    texts = ""
    with pl.Config(fmt_str_lengths=200, tbl_rows=40, tbl_cols=40):
        for frame in frames:
            found = Markup(bundle(frame)["text/html"])
            assert found.tags <= TAGS, found.tags - TAGS
            assert {name for name, _ in found.attributes} <= ATTRIBUTES
            assert not any("attacked" in (value or "") for _, value in found.attributes)
            texts += found.text
    for one in (
        "<script>window.attacked = 1; alert(1)</script>",
        "<b>base</b><script>",
        "</th><script>",
        "</script>cand",
    ):
        assert one in texts, "it is shown as it is"


def test_objects_of_ours_have_no_markup(hostile: tuple[Scores, Path]) -> None:
    scores, store = hostile
    base = "<b>base</b><script>window.attacked = 7</script>"
    compared = rageval_batch.compare(base, "</script>cand", store)
    with rageval_batch.open_store(store) as session:
        for value in (
            scores,
            scores.counts,
            compared,
            compared.movers,
            compared.as_dict(),
            session,
            session.sql("from runs"),
        ):
            assert set(bundle(value)) == {"text/plain"}


def test_figures_of_the_notebooks_are_pictures(hostile: tuple[Scores, Path]) -> None:
    """Altair's own renderer would write these names into a script as they are."""
    chart = alt.Chart(hostile[0].summary.filter(metric="score")).mark_bar().encode(x="mean:Q", y="run_id:N")
    with alt.renderers.enable("png"):
        assert set(bundle(chart)) == {"image/png", "text/plain"}
    for path in FOLDER.glob("*.ipynb"):
        text = path.read_text(encoding="utf-8")
        assert 'alt.renderers.enable(\\"png\\")' in text and "<script" not in text and "application/vnd" not in text
