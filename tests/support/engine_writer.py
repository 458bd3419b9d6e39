"""A command in a process of its own, which kills itself or waits for another on the way:
python engine_writer.py WHAT FOLDER WORD …"""

import sys
from collections.abc import Callable
from pathlib import Path

from rageval_batch.cli import main
from rageval_batch.runs import commit_files, store
from support.writer import at, die, meet

POINTS: dict[str, Callable[[Path], None]] = {
    "undisturbed": lambda folder: None,
    "die_assembling": lambda folder: at(commit_files, "write_tallies", 1, die),
    "die_before_manifest": lambda folder: at(store, "write_durably", 1, die),
    "meet_before_commit": lambda folder: at(store.Store, "publishing", 1, meet(folder, 2)),
}

if __name__ == "__main__":
    POINTS[sys.argv[1]](Path(sys.argv[2]))
    main(sys.argv[3:])
