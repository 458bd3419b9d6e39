"""`rageval demo`."""

from __future__ import annotations

import io
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import click

from rageval_batch.cli.options import say
from rageval_batch.errors import InputError


@click.command()
@click.option("--keep", metavar="DIR", help="Put the demo's store and report into this folder.")
def demo(keep: str | None) -> None:
    """Score the packaged samples of every profile into a temporary store, look at the result and write a report.

    \b
    Example:
      rageval demo
    """
    from rageval_batch.resources import samples_folder

    folder = Path(keep) if keep is not None else Path(tempfile.mkdtemp(prefix="rageval-demo-"))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"Cannot make the folder {folder}: {error.strerror}. Give another with --keep.") from error
    store, report = str(folder / "runs"), str(folder / "report.html")
    say("Scoring the packaged samples of all profiles …")
    for profile, words in SAMPLES.items():
        samples = samples_folder() / profile
        _call_unseen("score", "-p", profile, *(word.format(samples) for word in words), "--store", store)
    for words in LOOKS:
        _call(*words, store=store)
    _call_unseen("report", "--all", "--store", store, "-o", report)
    next_steps = "\n".join(f"  rageval {words} --store {store}" for words in NEXT)
    click.echo(f"\nThe report, to open in a browser:\n  {report}\nThe store is in {store}. Look further:\n{next_steps}")


# What is scored, profile by profile; {} is the folder of its samples.
SAMPLES = {
    "eval_json_v2": ("{}/outputs", "-q", "{}/questions.json", "-c", "{}/contexts.jsonl", "--prompt", "{}/prompt.md"),
    "include_rate": ("{}/outputs", "-q", "{}/questions.jsonl", "--source", "{}/source.txt"),
    "claim_evidence": ("{}/outputs", "{}/live", "-q", "{}/gold.jsonl"),
    "judge_protocol": ("{}/judgements.jsonl", "-q", "{}/samples.jsonl", "-c", "{}/targets.jsonl"),
    "legal_rag": (
        "{}/outputs", "-q", "{}/fact_exact.json", "-q", "{}/evidence_set.json", "-q", "{}/conflict_gap.json",
    ),
    "reference": ("{}/outputs", "-q", "{}/questions.jsonl", "-c", "{}/contexts.jsonl"),
    "retrieval": ("{}/outputs", "-q", "{}/questions.jsonl"),
}  # fmt: skip

# What is looked at then: the best runs, a comparison that passes and one that fails, a gate, what went wrong.
LOOKS = (
    ("leaderboard", "-n", "1"),
    ("compare", "baseline", "better", "regressed"),
    ("gate", "adapter-format"),
    ("sql", "select run_id, fail_reason, n from fail_reasons order by n desc, run_id, fail_reason limit 3"),
)

# What a newcomer may give next.
NEXT = ("view", "explain adapter-weak tc-03", "monitor -p claim_evidence --metric claim_precision")


def _call(*words: str, store: str) -> None:
    """Run a command as a user would, after showing it; where the store is stands at the end of the demo."""
    from rageval_batch.cli import cli

    command = " ".join(f'"{word}"' if " " in word else word for word in words)
    click.secho(f"\n$ rageval {command}", bold=True)
    cli.main([*words, "--store", store], prog_name="rageval", standalone_mode=False)


def _call_unseen(*words: str) -> None:
    """Run a command for what it leaves in the store or in a file."""
    from rageval_batch.cli import cli

    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        cli.main(list(words), prog_name="rageval", standalone_mode=False)
