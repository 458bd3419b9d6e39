"""Where the fields of a run's record come from: which option of `rageval score` gives one that is missing."""

from __future__ import annotations

_OPTIONS = {
    "prompt_sha256": "--prompt FILE",
    "prompt_version": "--prompt FILE with a line prompt_version: …",
    "contexts_sha256": "-c FILE",
    "source_sha256": "--source FILE",
}
_COMPUTED = ("run_id", "profile", "eval_set", "commit", "created_at", "signature", "params_sha256", "questions_sha256")


def given_by(name: str) -> str | None:
    """The option that gives a field of a run's record; null for one that is always there."""
    return None if name in _COMPUTED else _OPTIONS.get(name, f"--meta {name}=…")


def how_to_give(names: list[str]) -> str:
    """One sentence on how to give missing fields."""
    options: dict[str, list[str]] = {}
    for name in names:
        if option := given_by(name):
            options.setdefault(option, []).append(name)
    return "Give " + "; ".join(f"{', '.join(fields)} with {option}" for option, fields in options.items()) + "."
