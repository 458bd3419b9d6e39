"""`rageval explain`."""

from __future__ import annotations

import click

from rageval_batch.cli import completion
from rageval_batch.cli.options import emit, output_options, pairs, picking_options, store_option
from rageval_batch.errors import InputError


@click.command()
@click.argument("run", shell_complete=completion.runs)
@click.argument("question")
@click.option(
    "--repeat", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True, help="Which repeat of the question."
)
@click.option(
    "--key", "keys", multiple=True, metavar="K=V", help="Which row of the question, e.g. judge_model=NAME; K= is none."
)
@click.option(
    "--row", "number", type=click.IntRange(1, 2**31 - 1), help="Which of several rows that no key tells apart, from 1."
)
@store_option
@picking_options
@output_options("table", "json", "md")
def explain(
    *,
    run: str,
    question: str,
    repeat: int,
    keys: tuple[str, ...],
    number: int | None,
    store: str,
    profile_name: str | None,
    eval_set: str | None,
    format: str,
    target: str | None,
) -> None:
    """Take one answer apart: expected and got side by side, which items matched, which keywords hit, and why.

    \b
    Example:
      rageval explain adapter-weak tc-03
    """
    from rageval_batch.analysis.answers import explained_answer
    from rageval_batch.analysis.catalog import open_store
    from rageval_batch.analysis.runs import find_run
    from rageval_batch.report.cells import json_line
    from rageval_batch.report.screen import standard_screen
    from rageval_batch.report.show import explain_text
    from rageval_batch.runs.commit_profile import profile_of

    with open_store(store, functions=False, named=[run]) as session:
        found = find_run(session, run, profile_name, eval_set=eval_set)
        commit = next(commit for commit in session.commits if commit.id == found.record["commit"])
        profile = profile_of(commit)
        if keys and not profile.inputs.keys:
            raise InputError(f"Rows of {profile.name} are known by question and repeat alone. Leave --key out.")
        answer = explained_answer(session, found, question, repeat=repeat, keys=pairs(keys, "--key"), number=number)
    row, explanation = answer.row, answer.explanation
    if format == "json":
        sections = {part.name: list(part.lines) for part in explanation.sections} if explanation else None
        emit(json_line({**row, "explanation": sections, "output": answer.output, "note": answer.note}), target, format)
        return
    emit(
        explain_text(row, answer.output, explanation, said=answer.note, format=format, screen=standard_screen(target)),
        target,
        format,
    )
