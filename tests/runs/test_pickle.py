"""The scorer of every profile can be sent to another process and scores there to the last bit as here."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pyarrow as pa

from rageval_batch.profiles.registry import PROFILES
from rageval_batch.runs.batch import score_batch
from support.places import TESTS
from support.samples import sample

SCORE = """
import pickle, sys
from rageval_batch.runs.batch import score_batch
with open(sys.argv[1], "rb") as file:
    sent = pickle.load(file)
scored = {name: score_batch(ready, batch) for name, (ready, batch) in sent.items()}
with open(sys.argv[2], "wb") as file:
    pickle.dump(scored, file)
"""


def bits(batch: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as out:
        out.write_batch(batch)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def test_a_scorer_of_every_profile_scores_in_a_fresh_process(tmp_path: Path) -> None:
    sent = {name: sample(name, tmp_path) for name in PROFILES}
    (tmp_path / "sent").write_bytes(pickle.dumps(sent))
    environment = {**os.environ, "PYTHONPATH": str(TESTS.parent)}
    subprocess.run([sys.executable, "-c", SCORE, tmp_path / "sent", tmp_path / "scored"], check=True, env=environment)
    scored = pickle.loads((tmp_path / "scored").read_bytes())
    for name, (ready, batch) in sent.items():
        here = score_batch(ready, batch)
        assert batch.num_rows > 5, name
        assert bits(scored[name].scores) == bits(here.scores), name
        assert (
            scored[name]
            .tallies.sort_by([(n, "ascending") for n in here.tallies.schema.names])
            .equals(here.tallies.sort_by([(n, "ascending") for n in here.tallies.schema.names]))
        ), name
