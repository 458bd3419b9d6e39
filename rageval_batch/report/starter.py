"""A folder to start from, made from a profile's declarations: inputs, gates, a workflow, and what to do with them."""

from __future__ import annotations

from pathlib import Path

from rageval_batch.model import Profile
from rageval_batch.report.input_fields import example_lines

GATES, WORKFLOW, README = "gates.toml", ".github/workflows/rageval.yml", "README.md"
_SHARE = 0.9  # of the best score, as a first limit
_OPTIONS = {"questions": "-q", "contexts": "-c"}


def starter_files(profile: Profile, own_file: Path | None = None) -> dict[str, str]:
    """The content of every file by its path in the folder; `own_file` declares a profile from elsewhere."""
    lines = example_lines(profile)
    files = {f"{name}.jsonl": "\n".join(rows) + "\n" for name, rows in lines.items()}
    if own_file is not None:
        files[own_file.name] = own_file.read_text(encoding="utf-8")
    steps = commands(profile, list(lines), _reference(profile, own_file))
    return {**files, GATES: _gates(profile), WORKFLOW: _workflow(profile, steps), README: _readme(profile, steps)}


def _reference(profile: Profile, own_file: Path | None) -> str:
    """What -p is given inside the folder."""
    if own_file is None:
        return profile.name
    return own_file.name if own_file.suffix == ".toml" else f"{own_file.name}:PROFILE"


def commands(profile: Profile, inputs: list[str], reference: str) -> tuple[str, str, str]:
    """Check, score and gate, as they are typed in the folder."""
    given = " ".join(f"{_OPTIONS[name]} {name}.jsonl" for name in inputs if name in _OPTIONS)
    return (
        f"rageval check questions.jsonl -p {reference}",
        f"rageval score outputs.jsonl -p {reference} {given}",
        f"rageval gate --all -p {reference} --gates {GATES}",
    )


def _gates(profile: Profile) -> str:
    limit = _SHARE * profile.summary.score_top
    own = [f"# {one.name}: {one.stat} of {one.metric or 'the run'} {one.op} {one.limit:g}" for one in profile.gates]
    head = ["# Gates beside those of the profile; one of the same name takes the place of the profile's."]
    if own:
        head += ["# The profile's own:", *dict.fromkeys(own)]
    return "\n".join(
        [
            *head,
            "",
            "[[gate]]",
            'name = "score"',
            'metric = "score"',
            f'stat = "{profile.summary.run_stat}"',
            'op = ">="',
            f"limit = {limit:g}",
            f'profile = "{profile.name}"',
            "",
        ]
    )


def _workflow(profile: Profile, steps: tuple[str, str, str]) -> str:
    check, score, gate = steps
    return f"""name: rageval
on: [push, pull_request]
jobs:
  evaluate:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.11"
      - run: pip install rageval-batch
      - run: {check}
      - run: {score}
      - name: Hold the runs against the gates of {profile.name}
        run: {gate} --format md >> "$GITHUB_STEP_SUMMARY"
"""


def _readme(profile: Profile, steps: tuple[str, str, str]) -> str:
    check, score, gate = steps
    return f"""# {profile.title}

Scored by the profile `{profile.name}` of rageval-batch. Everything here runs as it is; put your own rows into the
files, one JSON object a line. `rageval profiles {profile.name}` has every field.

```sh
{check}
{score}
{gate}
```

The first names what is wrong with the questions (`rageval check --outputs outputs.jsonl` does so for the answers), the
second scores the answers into the store `runs/`, the third exits with 1 where a run fails a gate: of the profile, or of
`{GATES}`. `{WORKFLOW}` does the same on every push.
"""
