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
    from rageval_batch.resources import samples_folder

    say("Scoring the packaged samples.")
    for profile, words in SAMPLES.items():
        folder = samples_folder() / profile
        _call("score", "-p", profile, *(word.format(folder) for word in words), "--store", str(store))
    for words in LOOKS:
        _call(*words, "--store", str(store))


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

# What is looked at then: a comparison that passes and one that fails, gates, drift, single answers, SQL.
LOOKS = (
    ("compare", "baseline", "better"),
    ("compare", "baseline", "regressed"),
    ("gate", "run-pass", "run-hallucinating", "adapter-format"),
    ("monitor", "-p", "claim_evidence", "--metric", "claim_precision", "--window", "7d", "--baseline", "28d"),
    ("explain", "adapter-weak", "tc-03"),
    ("explain", "inventing", "gap_001"),
    ("sql", "select run_id, fail_reason, n from fail_reasons order by n desc, run_id, fail_reason limit 6"),
    ("sql", "select profile, question_id, mean, usual_failure from question_difficulty order by mean limit 5"),
)


def _call(*words: str) -> None:
    """Run a command as a user would, after showing it."""
    from rageval_batch.cli import cli

    command = " ".join(f'"{word}"' if " " in word else word for word in words)
    click.secho(f"\n$ rageval {command}", bold=True)
    cli.main(list(words), prog_name="rageval", standalone_mode=False)
