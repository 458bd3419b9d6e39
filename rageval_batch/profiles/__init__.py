"""Scoring systems: one package each, with everything that only it needs. `registry` finds them."""
