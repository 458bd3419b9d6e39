"""How fast this machine scores: synthetic sweeps and their measurement."""
