"""Fuzz for a time: `make fuzz`, or `python tests/fuzz/long.py [--seconds N] [--seed N] [TARGET ...]`.

Seeds with random edits, as in test_fuzz.py but without the cost of Hypothesis, and inputs that were read are edited
further. Prints the executions and findings of each target; a finding is printed with its input, once for each place
that raised it. Exit 1 where there is any.
"""

from __future__ import annotations

import argparse
import faulthandler
import random
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from support import fuzz_targets as targets
from support.fuzzing import random_edits

KEPT = 200  # edited inputs that are edited further


@contextmanager
def readers(chance: random.Random) -> Iterator[targets.Target]:
    """Bytes as a file of any ending."""
    endings = sorted(targets.SEEDS)
    yield lambda content: targets.read_file(chance.choice(endings), content)


@contextmanager
def values(chance: random.Random) -> Iterator[targets.Target]:
    yield lambda content: targets.read_values(content, chance.choice(targets.READERS))


@contextmanager
def json_tape(chance: random.Random) -> Iterator[targets.Target]:
    yield targets.parse_tape


@contextmanager
def profile_files(chance: random.Random) -> Iterator[targets.Target]:
    yield targets.load_profile_file


@contextmanager
def sql_guard(chance: random.Random) -> Iterator[targets.Target]:
    with targets.guarded_query() as ask:
        yield ask


TARGETS = {
    "readers": (readers, list(targets.SEEDS.values())),
    "json_tape": (json_tape, targets.TAPE_SEEDS),
    "values": (values, targets.VALUES),
    "profile_files": (profile_files, targets.PROFILE_FILES),
    "sql_guard": (sql_guard, targets.QUERIES),
}


def fuzz(check: targets.Target, seeds: Sequence[bytes], chance: random.Random, seconds: float) -> bool:
    """Drive one target for a time; whether nothing was found."""
    kept, places = list(seeds), dict[str, int]()
    executions = read = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        content = random_edits(chance.choice(kept), seeds, chance)
        executions += 1
        try:
            was_read = check(content)
            read += was_read
        except Exception as error:
            place = "".join(traceback.format_tb(error.__traceback__)[-1:]) + type(error).__name__
            if place not in places:
                traceback.print_exc()
                print(f"  by the input {content!r}", flush=True)
            places[place] = places.get(place, 0) + 1
        else:
            if was_read and len(content) < 4 * max(map(len, seeds)):
                if len(kept) < len(seeds) + KEPT:
                    kept.append(content)
                else:
                    kept[chance.randrange(len(seeds), len(kept))] = content
    print(
        f"{executions:,} executions, {read:,} of them read, {len(places)} findings ({sum(places.values()):,} times)",
        flush=True,
    )
    return not places


def main() -> int:
    """Fuzz the targets one after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", nargs="*", choices=[*TARGETS, []])
    parser.add_argument("--seconds", type=float, default=60, help="for each target")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10**6, help="the same edits again")
    chosen = parser.parse_args()
    faulthandler.enable()
    good = True
    for name in chosen.target or TARGETS:
        print(f"{name}, --seed {chosen.seed}: ", end="", flush=True)
        opened, seeds = TARGETS[name]
        chance = random.Random(chosen.seed)
        with opened(chance) as check:
            good &= fuzz(check, seeds, chance, chosen.seconds)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
