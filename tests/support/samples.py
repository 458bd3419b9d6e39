"""The packaged samples of a profile, ready to be scored."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pyarrow as pa

from rageval_batch.cli.demo import SAMPLES
from rageval_batch.inputs.kinds import input_kind
from rageval_batch.inputs.sources import sources
from rageval_batch.profiles.registry import PROFILES
from rageval_batch.resources import samples_folder
from rageval_batch.runs.batch import Scorer, scorer


def sample(name: str, folder: Path) -> tuple[Scorer, pa.RecordBatch]:
    """The scorer of a profile's samples and their first batch."""
    words = [word.format(samples_folder() / name) for word in SAMPLES[name]]
    options = {"": [words[0]], "-q": [], "-c": []}  # type: dict[str, list[str]]
    for option, value in pairwise(words):
        options.setdefault(option, []).append(value)
    profile = PROFILES[name]
    params = profile.read_params({})
    inputs = input_kind(profile).load(sources(options["-q"]), sources(options["-c"]), params, folder=folder)
    block = next(iter(inputs.ingest(sources(options[""], profile.inputs.whole_files)).blocks()))
    return scorer(profile, params, inputs.eval_set), inputs.with_contexts(block.batch)
