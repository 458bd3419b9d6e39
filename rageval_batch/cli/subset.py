"""`rageval subset`."""

from __future__ import annotations

from pathlib import Path

import click

from rageval_batch.cli.options import emit
from rageval_batch.errors import InputError


@click.command()
@click.argument("questions")
@click.option("--size", type=int, default=100, show_default=True, help="How many questions.")
@click.option("--seed", type=int, default=42, show_default=True, help="Another seed, another subset.")
@click.option("-o", "--output", "target", required=True, help="The file to write.")
def subset(questions: str, size: int, seed: int, target: str) -> None:
    """Choose questions of an eval set, stratified over audience and topic, the same on every machine.

    \b
    Example:
      rageval subset questions.json --size 100 -o dev100.json
    """
    from rageval_batch.inputs.sources import content_hash, source
    from rageval_batch.inputs.subset import write_subset

    file = source(questions)
    try:
        count = write_subset(file, size, seed, Path(target))
    except OSError as error:
        raise InputError(f"Cannot write {target}: {error.strerror}.") from error
    before, after = content_hash([file]).sha1, content_hash([source(target)]).sha1
    emit(f"{before}  {questions}\n{after}  {target} ({count} questions)", None)
