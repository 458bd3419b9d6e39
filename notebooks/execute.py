"""Execute the notebooks beside this file and keep their outputs: `make notebooks`."""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parent
NAMES = ("quickstart", "sql_over_a_sweep", "tuning_thresholds")
_LONGEST = 300  # seconds that a cell may take


def executed(name: str) -> nbformat.NotebookNode:
    """The notebook with the outputs of a new kernel; CellExecutionError where a cell fails."""
    notebook = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    kernel = NotebookClient(
        notebook, timeout=_LONGEST, kernel_name="python3", resources={"metadata": {"path": FOLDER}}, record_timing=False
    )
    kernel.execute()
    notebook.metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return notebook


if __name__ == "__main__":
    for chosen in sys.argv[1:] or NAMES:
        nbformat.write(executed(chosen), FOLDER / f"{chosen}.ipynb")
