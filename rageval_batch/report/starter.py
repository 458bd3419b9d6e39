"""A folder to start from, made from a profile's declarations: inputs, gates, a workflow, and what to do with them."""

from __future__ import annotations

from pathlib import Path

from rageval_batch.model import Profile
from rageval_batch.report.input_fields import example_lines

GATES, WORKFLOW, README = "gates.toml", ".github/workflows/rageval.yml", "README.md"
_SHARE = 0.9  # of the best score, as a first limit
_OPTIONS = {"questions": "-q", "contexts": "-c"}


def starter_files(profile: Profile, reference: str) -> dict[str, str]:
    """The content of every file by its path in the folder; `reference`: how the profile was named.

    A file that declares a profile from elsewhere is copied into the folder.
    """
    lines = example_lines(profile)
    files = {f"{name}.jsonl": "\n".join(rows) + "\n" for name, rows in lines.items()}
    if (own := _own_file(reference)) is not None:
        files[own.name] = own.read_text(encoding="utf-8")
        reference = reference.removeprefix(str(own.parent)).lstrip("/\\")
    steps = commands(list(lines), reference)
    return {
        **files,
        GATES: _gates(profile),
        WORKFLOW: _workflow(profile, steps),
        README: _readme(profile, reference, steps),
    }


def _own_file(reference: str) -> Path | None:
    """The file that declares a profile from elsewhere (FILE.toml, FILE.py:NAME); None for one known by its name."""
    path = Path(reference.rpartition(":")[0] if reference.partition(".py:")[1] else reference)
    return path if path.suffix in (".py", ".toml") and path.is_file() else None


def commands(inputs: list[str], reference: str) -> tuple[str, str, str]:
    """Check, score and gate, as they are typed in the folder; `reference` is what -p is given there."""
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


def _readme(profile: Profile, reference: str, steps: tuple[str, str, str]) -> str:
    check, score, gate = steps
    return f"""# {profile.title}

Scored by the profile `{profile.name}` of rageval-batch. Everything here runs as it is; put your own rows into the
files, one JSON object a line. `rageval profiles {reference}` has every field.

```sh
{check}
{score}
{gate}
```

The first names what is wrong with the questions; `rageval check --outputs outputs.jsonl -p {reference}` does so for the
answers. The second scores the answers into the store `runs/`. The third exits with 1 where a run fails a gate of the
profile or of `{GATES}`. `{WORKFLOW}` does the same on every push.
"""
