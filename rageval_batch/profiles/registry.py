"""The profiles that this process knows: the packages of this folder, profile files of the package, entry points, and
those given by reference.

A reference is `FILE.toml`, `FILE.py:NAME` or `package.module:NAME`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, MutableMapping
from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import TYPE_CHECKING

from rageval_batch import profiles
from rageval_batch.config import read_small_file
from rageval_batch.errors import InputError, did_you_mean
from rageval_batch.model import Profile
from rageval_batch.resources import packaged_profile, packaged_profile_names

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

GROUP = "rageval_batch.profiles"  # of entry points, each named like its profile

_PACKAGES = tuple(one.name for one in iter_modules(profiles.__path__) if one.ispkg and one.name != "files")
_BUILT_IN = (*_PACKAGES, *packaged_profile_names())


@cache
def _built_in(name: str) -> Profile:
    """A profile of this package, which a profile file may extend."""
    if name in _PACKAGES:
        found: Profile = import_module(f"{profiles.__name__}.{name}").PROFILE
        return found
    if name not in _BUILT_IN:
        raise InputError(did_you_mean("profile", name, list(_BUILT_IN)))
    from rageval_batch.profiles.files.build import read_profile

    return read_profile(packaged_profile(name), f"{name}.toml", _built_in, checked=True)  # a test checks them


class _Profiles(MutableMapping[str, Profile]):
    """Profiles by name. One of this package is loaded when it is first asked for: it brings its scorer along."""

    def __init__(self, names: Iterable[str]) -> None:
        self._known: dict[str, Profile | None] = dict.fromkeys(names)

    def __getitem__(self, name: str) -> Profile:
        return self._known[name] or _built_in(name)

    def __setitem__(self, name: str, profile: Profile) -> None:
        self._known[name] = profile

    def __delitem__(self, name: str) -> None:
        del self._known[name]

    def __contains__(self, name: object) -> bool:
        return name in self._known

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


PROFILES: MutableMapping[str, Profile] = _Profiles(_BUILT_IN)
_REFERENCES: dict[str, str] = {}  # of profiles from elsewhere: where each comes from
_STORED: dict[str, str] = {}  # of profiles that runs of a store were scored by: where each came from then
_KEPT: dict[str, Profile] = {}  # of profile files that a store keeps a copy of: as the newest commit has them


def get_profile(name: str) -> Profile:
    """The profile of a name or reference; InputError with the nearest name where there is none."""
    if is_reference(name):
        return _add(load_profile(name), _absolute(name))
    if name in PROFILES:
        return PROFILES[name]
    declared = _declared()
    if name in declared.names:
        reference = declared[name].value
        return _add(load_profile(reference), reference)
    if name in _KEPT:
        return _KEPT[name]
    if name in _STORED:
        raise InputError(f"The profile '{name}' is no part of this package. Give it with -p {_STORED[name]}.")
    raise InputError(did_you_mean("profile", name, [*PROFILES, *sorted(declared.names - PROFILES.keys())]))


def given_profile(given: object) -> Profile:
    """The profile of a name or reference, or one that was declared in memory, which is known by its name then."""
    if isinstance(given, str):
        return get_profile(given)
    if not isinstance(given, Profile):
        raise InputError(f"profile: a {type(given).__name__} is none. Give a name, a reference or a Profile.")
    taken = given.name in _BUILT_IN or given.name in _REFERENCES
    if taken and PROFILES.get(given.name) is not given:
        other = _REFERENCES.get(given.name, "this package")
        raise InputError(f"A profile '{given.name}' of {other} is known already. Give yours another name.")
    PROFILES[given.name] = given
    return given


def known_profiles() -> MutableMapping[str, Profile]:
    """All profiles by name, those of entry points among them."""
    for name in sorted(_declared().names - PROFILES.keys()):
        get_profile(name)
    return PROFILES


def known_profile(name: str) -> Profile | None:
    """The profile of a name, as `known_profiles` has it."""
    if name not in PROFILES and name in _declared().names:
        get_profile(name)
    return PROFILES.get(name)


def _declared() -> EntryPoints:
    """The entry points of installed packages that declare a profile: all packages are looked at, which takes long."""
    from importlib.metadata import entry_points

    return entry_points(group=GROUP)


def profile_reference(profile: Profile) -> str | None:
    """What finds a profile from elsewhere again: `/path/FILE.py:NAME` or `package.module:NAME`; else None."""
    return reference_of(profile.name)


def profile_module(profile: Profile) -> ModuleType | None:
    """The module, or the package of it, that declares a profile from elsewhere; None for a profile file, one of this
    package, and one that was declared in memory."""
    reference = profile_reference(profile)
    if reference is None or reference.endswith(".toml"):
        return None
    place = reference.rpartition(":")[0]
    return sys.modules.get(_file_module_name(Path(place)) if place.endswith(".py") else place.partition(".")[0])


def reference_of(name: str) -> str | None:
    """Where a profile that was given from elsewhere comes from; None for those of the package and of stores."""
    return _REFERENCES.get(name)


@lru_cache(maxsize=64)
def profile_of_text(text: str, where: str) -> Profile:
    """The profile of a profile file's text; InputError with the place of what is wrong."""
    from rageval_batch.profiles.files.build import read_profile

    return read_profile(text, where, _built_in)


def note_kept(profile: Profile) -> None:
    """A profile file of which a store has a copy: it is found by its name from now on."""
    _KEPT[profile.name] = profile


def note_reference(name: str, reference: str) -> None:
    """Where a profile came from when a store was written: told to the user, never loaded unasked."""
    _STORED[name] = reference


def load_profile(reference: str) -> Profile:
    """The profile of `FILE.toml`, `FILE.py:NAME` or `package.module:NAME`; InputError where it cannot be had."""
    if reference.endswith(".toml"):
        return profile_of_text(_file_text(Path(reference)), reference)
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


def is_reference(name: str) -> bool:
    """Whether a profile is given by where it is declared, not by its name."""
    return ":" in name or name.endswith((".py", ".toml"))


def _absolute(reference: str) -> str:
    if reference.endswith(".toml"):
        return str(Path(reference).resolve())
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


def _file_text(path: Path) -> str:
    try:
        return read_small_file(path, "profile file").decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"Cannot read {path}: {error.strerror}. Give a profile file as FILE.toml.") from error
    except ValueError as error:
        raise InputError(f"{path} is not UTF-8: {error}.") from error


def _file_module(path: Path) -> ModuleType:
    if not path.is_file():
        raise InputError(f"{path} does not exist. Give a profile as FILE.py:NAME.")
    name = _file_module_name(path)
    module = ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module
    try:
        exec(
            compile(read_small_file(path, "profile file"), path, "exec"), vars(module)
        )  # as it is now, from no cache of bytecode
    except (Exception, SystemExit) as error:  # whatever a file does wrong when it is run
        del sys.modules[name]
        raise InputError(f"{path} cannot be loaded as a profile: {type(error).__name__}: {error}.") from error
    return module


def _file_module_name(path: Path) -> str:
    return f"rageval_profile_{path.stem}"


def _named_module(name: str) -> ModuleType:
    """A module that is installed, else one of the working directory, where an installed command does not look."""
    elsewhere = "" not in sys.path
    if elsewhere:
        sys.path.append("")
    try:
        return import_module(name)
    except Exception as error:  # whatever a module does wrong when it is imported
        raise InputError(
            f"The module {name} cannot be loaded: {type(error).__name__}: {error}. Give a module that is installed or "
            "stands in the working directory, or a file as FILE.py:NAME."
        ) from error
    finally:
        if elsewhere:
            sys.path.remove("")
