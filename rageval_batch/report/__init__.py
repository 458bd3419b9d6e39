"""Frozen results as text for people and machines: the only place that rounds."""
