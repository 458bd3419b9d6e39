"""`rageval demo`."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from rageval_batch.cli.options import say


@click.command()
@click.option("--keep", metavar="DIR", help="Keep the demo's store in this folder.")
def demo(keep: str | None) -> None:
    """Score the packaged samples of every profile into a temporary store and look at the result.

    \b
    Example:
      rageval demo
    """
    if keep is not None:
        _demo(Path(keep))
        return
    with tempfile.TemporaryDirectory(prefix="rageval-demo-") as folder:
        _demo(Path(folder) / "runs")


def _demo(store: Path) -> None:
    from rageval_batch.samples import samples_folder

    samples = samples_folder() / "eval_json_v2"
    say("Scoring the packaged samples; the first time, the kernels are compiled (about half a minute).\n")
    _call(
        "score", str(samples / "outputs"), "-p", "eval_json_v2", "-q", str(samples / "questions.json"),
        "-c", str(samples / "contexts.jsonl"), "--prompt", str(samples / "prompt.md"), "--store", str(store),
    )  # fmt: skip
    legal = samples_folder() / "legal_rag"
    files = [
        word for name in ("fact_exact", "evidence_set", "conflict_gap") for word in ("-q", str(legal / f"{name}.json"))
    ]
    _call("score", str(legal / "outputs"), "-p", "legal_rag", *files, "--store", str(store))
    for words in (
        ("show", "adapter-format"),
        ("gate", "--all"),
        ("explain", "adapter-weak", "tc-03"),
        ("explain", "inventing", "gap_001"),
        ("sql", "select run_id, fail_reason, n from fail_reasons order by n desc, run_id, fail_reason limit 6"),
        ("sql", "select question_id, mean, usual_failure from question_difficulty order by mean limit 5"),
    ):
        _call(*words, "--store", str(store))


def _call(*words: str) -> None:
    """Run a command as a user would, after showing it."""
    from rageval_batch.cli import cli

    shown = " ".join(f'"{word}"' if " " in word else word for word in words)
    click.secho(f"\n$ rageval {shown}", bold=True)
    cli.main(list(words), prog_name="rageval", standalone_mode=False)
