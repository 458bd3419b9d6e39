"""`rageval init`."""

from __future__ import annotations

from pathlib import Path

import click

from rageval_batch.cli.options import say
from rageval_batch.errors import InputError


@click.command()
@click.argument("profile", metavar="PROFILE")
@click.argument("folder", metavar="DIR", required=False)
def init(profile: str, folder: str | None) -> None:
    """Write a folder to start from: questions, outputs, contexts, gates, a GitHub Actions workflow and a README.

    What it writes runs as it is; put your own rows in its place. Files that are there already are never overwritten.

    \b
    Example:
      rageval init include_rate my-eval
    """
    from rageval_batch.profiles.registry import get_profile
    from rageval_batch.report.starter import starter_files

    declared = get_profile(profile)
    files = starter_files(declared, profile)
    target = Path(folder or declared.name)
    there = [name for name in files if (target / name).exists()]
    if there:
        raise InputError(f"{target} has {', '.join(there)} already: nothing was written. Name another folder.")
    try:
        for name, content in files.items():
            path = target / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8", newline="\n") as file:
                file.write(content)
    except OSError as error:
        raise InputError(f"Cannot write {error.filename or target}: {error.strerror}.") from error
    say(f"Wrote {len(files)} files into {target}. Its README.md has three commands; `cd {target}` first.")
