"""A sweep with all that can be wrong with outputs: for engines that must agree on every row of it."""

from __future__ import annotations

import gzip
import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from rageval_batch.bench.synthetic import Files, write_sweep


def write_hostile_sweep(folder: Path, rows: int, seed: int = 11) -> Files:
    """About so many rows of many runs in files of several formats, one in twelve of them damaged in some way."""
    random_ = random.Random(seed)
    plain, outputs = folder / "plain", folder / "outputs"
    for path in (plain, outputs):
        path.mkdir(parents=True)
    files = write_sweep(plain, rows)
    lines = files.outputs.read_bytes().splitlines()
    texts: dict[str, list[bytes]] = {}
    for number, line in enumerate(lines):
        name = f"part-{number * 6 // len(lines)}"
        texts.setdefault(name, []).extend(_hostile(random_, line, lines))
    # A file that names no run is one run; where another has its rows again, they are of the run that they name.
    unnamed = {row["question_id"]: row for row in map(json.loads, lines[: len(lines) // 10])}
    texts["unnamed"] = [_line({k: v for k, v in row.items() if k != "run_id"}) for row in unnamed.values()]
    for name, content in texts.items():
        joined = b"\n".join(content) + (b"" if name == "part-3" else b"\n")
        if name == "part-1":
            with gzip.open(outputs / f"{name}.jsonl.gz", "wb") as file:
                file.write(joined)
        else:
            mark = b"\xef\xbb\xbf" if name == "part-2" else b""
            (outputs / f"{name}.jsonl").write_bytes(mark + joined)
    again = [json.loads(line) for line in lines[-len(lines) // 8 :]]
    columns = ("run_id", "question_id", "output")
    table = pa.table({column: [row.get(column) for row in again] for column in columns})
    table = table.append_column("latency", pa.array([random_.random() for _ in again]))
    pq.write_table(table, outputs / "again.parquet", row_group_size=max(1, len(again) // 3))
    return replace(files, outputs=outputs)


def _line(row: dict[str, Any]) -> bytes:
    return json.dumps(row, ensure_ascii=False).encode()


def _hostile(random_: random.Random, line: bytes, lines: list[bytes]) -> list[bytes]:
    """What stands in place of a line."""
    row = json.loads(line)
    choice = random_.randrange(240)
    if choice >= 20:
        if choice % 3 == 0:
            row["latency"] = random_.choice([1, 2.5, 17])
        if choice % 7 == 0:
            row["model_id"] = f"m-{row['run_id']}"
        return [_line(row)]
    if choice < 2:
        return [line[: random_.randrange(1, len(line))]]
    if choice < 4:
        return [line, random_.choice(lines)]  # a second answer, here or files away
    if choice < 5:
        return [b"", b"  \r", line + b"\r"]
    if choice < 7:
        at = random_.randrange(1, len(line))
        return [line[:at] + b"\xff\xfe" + line[at:]]
    if choice < 8:
        return [random_.choice([b"null", b"[1, 2]", b'"text"', b"5", b"{", b"\x00"])]
    odd: dict[int, dict[str, Any]] = {
        8: {"question_id": "nobody asked"},
        9: {"question_id": None},
        10: {"question_id": ""},
        11: {"run_id": None},
        12: {"run_id": "run ё\u2028 \U0001f642"},
        13: {"repeat": random_.choice([-1, 1.5, "x", True])},
        14: {"repeat": 1},
        15: {"repeat": "2"},
        16: {"output": None},
        17: {"note": {"nested": [1, None]}, "latency": "slow"},
        18: {"run_id": 17},
        19: {"question_id": row["question_id"], "id": "other", "tag": True},
    }
    return [_line({**row, **odd[choice]})]
