"""Which kind of inputs a profile has: the one place that tells them apart."""

from __future__ import annotations

from rageval_batch.inputs.by_question import ByQuestionInputs
from rageval_batch.inputs.protocols import InputKind
from rageval_batch.model import Profile, SelfKeyed


def input_kind(profile: Profile) -> InputKind:
    """What knows how rows of the profile load, become batches, are keyed and finished."""
    if isinstance(profile.inputs, SelfKeyed):
        from rageval_batch.inputs.self_keyed import SelfKeyedInputs

        return SelfKeyedInputs(profile, profile.inputs)
    return ByQuestionInputs(profile, profile.inputs)
