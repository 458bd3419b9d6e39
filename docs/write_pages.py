"""Write the pages of profiles, commands and views, and their places in the site: `make docs`; a test checks them."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from rageval_batch.analysis.catalog import open_store
from rageval_batch.analysis.comments import columns_query, with_comments
from rageval_batch.cli import cli
from rageval_batch.profiles.registry import PROFILES
from rageval_batch.report.describe import describe
from rageval_batch.resources import sql_definition, sql_names
from rageval_batch.runs.store import Store

FOLDER = Path(__file__).parent
SITE = FOLDER.parent / "zensical.toml"
_WIDTH = 100  # of help texts


def pages() -> dict[Path, str]:
    """The content of every page that is written, and of the site's settings, which name them all."""
    written = {**profile_pages(), **command_pages(), **view_pages()}
    places = [*written, *(f"decisions/{path.name}" for path in FOLDER.glob("decisions/*.md"))]
    return {
        **{FOLDER / path: text for path, text in written.items()},
        SITE: _with_places(SITE.read_text(encoding="utf-8"), places),
    }


def _with_places(settings: str, paths: Sequence[str]) -> str:
    """The site's settings with every one of these pages in `nav`: a group a folder, its index before the others."""
    lines = []
    for folder in dict.fromkeys(path.split("/")[0] for path in paths):
        first, *others = sorted((path for path in paths if path.startswith(f"{folder}/")), key=_place)
        lines += [f'  {{ "{folder.capitalize()}" = [', f'    "{first}",']
        lines += [f'    {{ "{Path(path).stem}" = "{path}" }},' for path in others]
        lines.append("  ] },")
    return re.sub(r"(?<=# written\n).*(?=  # end\n)", lambda _: "\n".join([*lines, ""]), settings, flags=re.DOTALL)


def _place(path: str) -> tuple[bool, str]:
    return not path.endswith(("/index.md", "/README.md")), path


def _index(title: str, said: str, rows: Mapping[str, str]) -> str:
    lines = [f"| [{name}]({name}.md) | {_cell(text)} |" for name, text in rows.items()]
    return "\n".join([f"# {title}", "", said, "", "| name | is |", "|---|---|", *lines, ""])


def _cell(text: str) -> str:
    """A text for a cell of a table, where angle brackets would be markup."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


def profile_pages() -> dict[str, str]:
    """What `rageval profiles NAME --format md` prints."""
    found = {f"profiles/{name}.md": describe(profile, "md") + "\n" for name, profile in PROFILES.items()}
    titles = {name: profile.title for name, profile in PROFILES.items()}
    said = (
        "A profile says what a score is. `rageval profiles NAME` prints its page; `rageval init NAME` writes a folder."
    )
    return {**found, "profiles/index.md": _index("Profiles", said, titles)}


def command_pages() -> dict[str, str]:
    """What `rageval COMMAND --help` prints."""
    settings = {**cli.context_settings, "max_content_width": _WIDTH, "terminal_width": _WIDTH}
    top = click.Context(cli, info_name="rageval", **settings)
    found, firsts = {}, {}
    for name in cli.list_commands(top):
        command = cli.get_command(top, name)
        assert command is not None and command.help is not None
        context = click.Context(command, info_name=name, parent=top)
        context.terminal_width = context.max_content_width = _WIDTH
        found[f"commands/{name}.md"] = f"# rageval {name}\n\n```text\n{command.get_help(context)}\n```\n"
        firsts[name] = re.split(r"(?<=[.]) ", " ".join(command.help.split("\n\n")[0].split()))[0]
    said = (
        "Every command has `--help`. Exit codes: 0 done or passed, 1 a gate or comparison failed, 2 bad input or usage."
    )
    return {**found, "commands/index.md": _index("Commands", said, firsts)}


def view_pages() -> dict[str, str]:
    """What a session says of its views and their columns, and the SQL that each is made of."""
    packaged = sql_names()
    with tempfile.TemporaryDirectory(prefix="rageval-") as folder:
        Store(folder).path.mkdir(exist_ok=True)
        with open_store(folder) as session:
            comments = {row["name"]: row["comment"] for row in session.rows(with_comments("show tables"))}
            columns = {name: session.rows(columns_query(name)) for name in comments}
    found = {}
    for name, comment in comments.items():
        rows = [f"| `{row['column_name']}` | {row['data_type']} | {_cell(row['comment'])} |" for row in columns[name]]
        parts = [f"# {name}", "", comment, "", "| column | type | is |", "|---|---|---|", *rows, ""]
        if name in packaged:
            parts += ["## Definition", "", "```sql", sql_definition(name).strip(), "```", ""]
        found[f"views/{name}.md"] = "\n".join(parts)
    said = (
        "What SQL may rely on: `rageval sql`, the SQL page of `rageval view`, and `open_store(…).sql(…)` see these. "
        "A profile has a view of its name with a row an answer. Macros: `regressions(base, cand)`, "
        "`run_delta(base, cand)` and `score_deltas(base, [cand, …])`, "
        "which take `of_eval_set := 'name'` and `of_profile := 'name'` "
        "for runs that have several in common (else the newest counts), and `run_groups_by(path)`. "
        "[Questions of an analyst](../analyst-questions.md) puts them to use."
    )
    return {**found, "views/index.md": _index("Views", said, comments)}


if __name__ == "__main__":
    for path, content in pages().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(content, encoding="utf-8")
