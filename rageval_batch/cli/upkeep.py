"""`rageval drop`, `rageval prune`, `rageval compact` and `rageval fsck`: upkeep of a store."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING

import click

from rageval_batch.cli import completion
from rageval_batch.cli.options import emit_rows, output_options, picking_options, say, store_option
from rageval_batch.errors import EXIT_BAD_INPUT, EXIT_OK, InputError, StoreError

if TYPE_CHECKING:
    from rageval_batch.runs.store import Store

_AGE = re.compile(r"(\d{1,6})\s*([hdw])")
_UNITS = {"h": "hours", "d": "days", "w": "weeks"}
_FORMATS = ("table", "json", "jsonl", "csv", "tsv", "md", "html", "parquet", "xlsx")


@click.command()
@click.argument("results", nargs=-1, required=True, metavar="RUN|COMMIT…", shell_complete=completion.runs)
@store_option
@picking_options
def drop(*, results: tuple[str, ...], store: str, profile_name: str | None, eval_set: str | None) -> None:
    """Hide results: all results of a RUN, one of them as RUN@COMMIT, or all runs of a COMMIT.

    Nothing is removed: the files stay until rageval prune. The same score command makes a dropped result again.

    \b
    Example:
      rageval drop adapter-mistaken --store runs
    """
    from rageval_batch.runs import upkeep

    place = _existing(store)
    hidden = upkeep.drop(place, results, profile_name, eval_set=eval_set)
    for commit, runs in hidden.items():
        say(f"Dropped {'all runs' if runs is None else ', '.join(sorted(set(runs)))} of commit {commit}.")
    place.commits()  # which names others that are damaged


@click.command()
@click.option("--older-than", metavar="AGE", help="Those made longer ago than this: 12h, 30d, 8w.")
@click.option("--keep-last", type=click.IntRange(min=1), metavar="N", help="All but the last N results of each run.")
@click.option("--compacted", is_flag=True, help="The files that compact has put together; alone, nothing else.")
@click.option("--now", "at_once", is_flag=True, help="Remove the files at once: only where nobody reads the store.")
@store_option
def prune(*, older_than: str | None, keep_last: int | None, compacted: bool, at_once: bool, store: str) -> None:
    """Take superseded and dropped commits out of a store. The current result of every run stays.

    With both options, commits to which both apply. They are out of sight at once; their files are removed by the next
    prune that is given an hour later, so that nobody who is reading them is disturbed, or now with --now.

    \b
    Example:
      rageval prune --older-than 30d --store runs
    """
    from rageval_batch.runs import upkeep

    age = _age(older_than) if older_than is not None else None
    place = _existing(store)
    place.commits()  # which names those that are damaged
    pruned = upkeep.prune(place, age, keep_last, compacted=compacted, at_once=at_once)
    say(f"{len(pruned.hidden):,} commits pruned, files of {len(pruned.removed):,} removed.")


@click.command()
@store_option
def compact(store: str) -> None:
    """Put the files of many small commits together in a few. No result, name or history changes.

    The files they were made of are no longer read and stay until rageval prune; rageval prune --compacted removes
    nothing else. Whoever reads or writes the store meanwhile is not disturbed.

    \b
    Example:
      rageval compact --store runs
    """
    from rageval_batch.runs import packs

    done = packs.compact(_existing(store))
    if done.pack is None:
        say("Nothing to do: there are no small commits to put together.")
    else:
        say(f"{done.commits:,} commits put together as {done.pack}: {done.files_before:,} files became "
            f"{done.files_after:,}. rageval prune --compacted removes the old ones.")  # fmt: skip


@click.command()
@store_option
@output_options(*_FORMATS)
def fsck(store: str, format: str, target: str | None) -> int:
    """Read every file of a store and say what is damaged and what can be done; exit 2 if anything is.

    \b
    Example:
      rageval fsck --store runs
    """
    from rageval_batch.report.cells import count_text
    from rageval_batch.runs import upkeep

    checked = upkeep.check_store(_existing(store))
    if checked.problems or format != "table" or target is not None:
        emit_rows(checked.problems, upkeep.PROBLEM_COLUMNS, format, target=target)
    older = (
        f"; {checked.without_checksums:,} of an older version have no checksums" if checked.without_checksums else ""
    )
    found = f"{count_text(checked.commits, 'commit')} read, {count_text(len(checked.problems), 'problem')}"
    say(f"{found}{older}.")
    return EXIT_BAD_INPUT if checked.problems else EXIT_OK


def _age(text: str) -> timedelta:
    found = _AGE.fullmatch(text.strip())
    if found is None:
        raise InputError(f"--older-than {text}: write it as 12h, 30d or 8w.")
    return timedelta(**{_UNITS[found[2]]: int(found[1])})


def _existing(path: str) -> Store:
    from rageval_batch.runs.store import Store

    store = Store(path)
    if not store.exists():
        raise StoreError(f"There is no store {path}. Check the path (--store); rageval score makes a store.")
    return store
