"""The profiles of the package, found by their packages in this folder."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from rageval_batch import profiles
from rageval_batch.errors import InputError, did_you_mean
from rageval_batch.model import Profile

PROFILES: dict[str, Profile] = {
    module.name: import_module(f"{profiles.__name__}.{module.name}").PROFILE
    for module in iter_modules(profiles.__path__)
    if module.ispkg
}


def get_profile(name: str) -> Profile:
    """The profile of that name; InputError with the nearest name where there is none."""
    if name not in PROFILES:
        raise InputError(did_you_mean("profile", name, list(PROFILES)))
    return PROFILES[name]
