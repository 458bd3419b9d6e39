"""The profiles that this process knows: the packages of this folder, entry points, and those given by reference.

A reference is `FILE.py:NAME` or `package.module:NAME`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType

from rageval_batch import profiles
from rageval_batch.errors import InputError, did_you_mean
from rageval_batch.model import Profile

GROUP = "rageval_batch.profiles"  # of entry points, each named like its profile

PROFILES: dict[str, Profile] = {
    module.name: import_module(f"{profiles.__name__}.{module.name}").PROFILE
    for module in iter_modules(profiles.__path__)
    if module.ispkg
}
_REFERENCES: dict[str, str] = {}  # of profiles from elsewhere: where each comes from
_STORED: dict[str, str] = {}  # of profiles that runs of a store were scored by: where each came from then


def get_profile(name: str) -> Profile:
    """The profile of a name or reference; InputError with the nearest name where there is none."""
    if _is_reference(name):
        return _add(load_profile(name), _absolute(name))
    if name in PROFILES:
        return PROFILES[name]
    declared = entry_points(group=GROUP)
    if name in declared.names:
        reference = declared[name].value
        return _add(load_profile(reference), reference)
    if name in _STORED:
        raise InputError(f"The profile '{name}' is no part of this package. Give it with -p {_STORED[name]}.")
    raise InputError(did_you_mean("profile", name, [*PROFILES, *sorted(declared.names - PROFILES.keys())]))


def known_profiles() -> dict[str, Profile]:
    """All profiles by name, those of entry points among them."""
    for name in sorted(entry_points(group=GROUP).names - PROFILES.keys()):
        get_profile(name)
    return PROFILES


def profile_reference(profile: Profile) -> str | None:
    """What finds a profile from elsewhere again: `/path/FILE.py:NAME` or `package.module:NAME`; else None."""
    return _REFERENCES.get(profile.name)


def note_reference(name: str, reference: str) -> None:
    """Where a profile came from when a store was written: told to the user, never loaded unasked."""
    _STORED[name] = reference


def load_profile(reference: str) -> Profile:
    """The profile of `FILE.py:NAME` or `package.module:NAME`; InputError where it cannot be had."""
    place, _, name = reference.rpartition(":")
    if not place or not name:
        raise InputError(f"{reference}: which profile of it? Write {reference.rstrip(':')}:NAME, as in :PROFILE.")
    module = _file_module(Path(place)) if place.endswith(".py") else _named_module(place)
    found = getattr(module, name, None)
    if not isinstance(found, Profile):
        there = [one for one, value in vars(module).items() if isinstance(value, Profile)]
        hint = f"It has {', '.join(there)}." if there else "It declares none: see rageval_batch.model.Profile."
        raise InputError(f"{place} has no profile '{name}'. {hint}")
    return found


def _is_reference(name: str) -> bool:
    return ":" in name or name.endswith(".py")


def _absolute(reference: str) -> str:
    place, _, name = reference.rpartition(":")
    return f"{Path(place).resolve()}:{name}" if place.endswith(".py") else reference


def _add(profile: Profile, reference: str) -> Profile:
    """Make a profile from elsewhere known under its name, which no other may have."""
    if profile.name in PROFILES and _REFERENCES.get(profile.name) != reference:
        other = _REFERENCES.get(profile.name, "this package")
        raise InputError(f"{reference}: a profile '{profile.name}' of {other} is known already. Give it another name.")
    PROFILES[profile.name] = profile
    _REFERENCES[profile.name] = reference
    return profile


def _file_module(path: Path) -> ModuleType:
    if not path.is_file():
        raise InputError(f"{path} does not exist. Give a profile as FILE.py:NAME.")
    name = f"rageval_profile_{path.stem}"
    module = ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module
    try:
        exec(compile(path.read_bytes(), path, "exec"), vars(module))  # as it is now, from no cache of bytecode
    except Exception as error:  # whatever a file does wrong when it is run
        del sys.modules[name]
        raise InputError(f"{path} cannot be loaded as a profile: {type(error).__name__}: {error}.") from error
    return module


def _named_module(name: str) -> ModuleType:
    try:
        return import_module(name)
    except Exception as error:  # whatever a module does wrong when it is imported
        raise InputError(f"The module {name} cannot be loaded: {type(error).__name__}: {error}.") from error
