"""How far a number may be from a limit and still be at it."""

TOLERANCE = 1e-9  # of every limit that a number is compared with
