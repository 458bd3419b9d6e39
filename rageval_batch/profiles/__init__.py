"""The table of profiles. A new one is a file beside this and a line here."""

from __future__ import annotations

from rageval_batch.errors import InputError, did_you_mean
from rageval_batch.profile import Profile
from rageval_batch.profiles import claim_evidence, eval_json_v2, include_rate, judge_protocol, legal_rag

PROFILES: dict[str, Profile] = {
    profile.name: profile
    for profile in (
        eval_json_v2.PROFILE,
        include_rate.PROFILE,
        claim_evidence.PROFILE,
        judge_protocol.PROFILE,
        legal_rag.PROFILE,
    )
}


def get_profile(name: str) -> Profile:
    """The profile of that name; InputError with the nearest where there is none."""
    if name not in PROFILES:
        raise InputError(did_you_mean("profile", name, list(PROFILES)))
    return PROFILES[name]
