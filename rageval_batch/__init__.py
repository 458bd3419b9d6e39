"""Columnar batch scoring."""
