"""How many examples a property test tries: fewer in `make test`, many in `make soak`."""

from hypothesis import settings

FULL = 100  # max_examples of a Hypothesis profile that tries just as many as a test says
FEW = 6


def examples(count: int) -> int:
    """The examples of a test that says `count`, by the Hypothesis profile in force; a small number stays."""
    return max(min(count, FEW), count * settings().max_examples // FULL)
