"""`rageval subset`."""

from __future__ import annotations

from pathlib import Path

import click

from rageval_batch.cli.options import emit, say
from rageval_batch.errors import InputError


@click.command()
@click.argument("questions")
@click.option("--size", type=int, help="How many questions; else 100, with --tested all.")
@click.option("--seed", type=int, default=42, show_default=True, help="Another seed, another subset.")
@click.option("--by", metavar="FIELD,FIELD", help="Fields to stratify over (dotted names); else those of the profile.")
@click.option(
    "--tested", is_flag=True, help="Leave out questions that test nothing: no id of `gold` has a grade above 0."
)
@click.option("-o", "--output", "target", required=True, help="The file to write.")
def subset(*, questions: str, size: int | None, seed: int, by: str | None, tested: bool, target: str) -> None:
    """Choose questions of an eval set, stratified over some of their fields, the same on every machine.

    Without --by the fields are those that the profile of the questions declares: audience and topic for eval_json_v2.

    \b
    Example:
      rageval subset questions.json --size 100 -o dev100.json
      rageval subset gold.jsonl --size 50 --by category -o dev50.jsonl
      rageval subset robust04.qrels --tested -o judged.qrels
    """
    from rageval_batch.inputs.check import profile_of
    from rageval_batch.inputs.questions import read_question_file
    from rageval_batch.inputs.sources import content_hash, source
    from rageval_batch.inputs.subset import chosen_questions, write_subset
    from rageval_batch.profiles.registry import PROFILES

    file = source(questions)
    size = 100 if size is None and not tested else size
    if by is None and size is None:
        fields: tuple[str, ...] = ()
    elif by is None:
        profile = profile_of(read_question_file(file), list(PROFILES.values()))
        fields = profile.inputs.questions.strata if profile else ()
    else:
        fields = tuple(name for part in by.split(",") if (name := part.strip()))
    chosen = chosen_questions(file, size=size, seed=seed, fields=fields, required=by is not None, only_tested=tested)
    if chosen.untested:
        say(f"Left out as they test nothing: {len(chosen.untested):,} questions, the first '{chosen.untested[0]}'.")
    try:
        write_subset(file, Path(target), chosen)
    except OSError as error:
        raise InputError(f"Cannot write {target}: {error.strerror}.") from error
    before, after = content_hash([file]).sha1, content_hash([source(target)]).sha1
    emit(f"{before}  {questions}\n{after}  {target} ({len(chosen.places)} questions)", None)
