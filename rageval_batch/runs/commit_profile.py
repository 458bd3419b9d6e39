"""The profile that a commit was scored by: as its copy of the profile file has it, else by its name."""

from __future__ import annotations

from rageval_batch.model import Profile
from rageval_batch.profiles.registry import get_profile, profile_of_text, reference_of
from rageval_batch.runs.damage import reading
from rageval_batch.runs.store import Commit


def kept_profile(commit: Commit) -> Profile | None:
    """The profile of the file that a commit keeps; None where it keeps none. InputError where it cannot be read."""
    for path in commit.files("profile"):
        with reading([commit]):
            return profile_of_text(path.read_bytes().decode("utf-8"), str(path))
    return None


def profile_of(commit: Commit) -> Profile:
    """The profile that a commit was scored by."""
    return kept_profile(commit) or get_profile(commit.manifest["profile"])


def profile_to_rescore(commit: Commit) -> Profile:
    """The profile that was given for this command under the name of the commit's own, else that of the commit."""
    name: str = commit.manifest["profile"]
    return get_profile(name) if reference_of(name) is not None else profile_of(commit)
