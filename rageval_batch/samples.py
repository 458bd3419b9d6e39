"""Where the packaged samples are: inside an installed package, or beside it in a checkout."""

from __future__ import annotations

from pathlib import Path


def samples_folder() -> Path:
    """The folder data_samples."""
    package = Path(__file__).parent
    inside = package / "data_samples"
    return inside if inside.is_dir() else package.parent / "data_samples"
