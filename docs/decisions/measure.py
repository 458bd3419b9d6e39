"""The measurements behind the pages of this folder: `python docs/decisions/measure.py [json|kernels|store|sums|…]`.

Seconds are CPU seconds of this process on one thread where it can be had, so that other work on the machine does not
colour them. Libraries that are compared but not used (orjson, pysimdjson, deltalake, cn2an, fastjsonschema) are
measured where they are installed and left out where they are not.
"""

from __future__ import annotations

import json
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))


def cpu(work: Callable[[], Any], repeats: int = 3) -> float:
    """CPU seconds of the quickest of some calls, after one that is not counted."""
    work()
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return min(seconds)


def line(what: str, value: object) -> None:
    print(f"{what:58} {value}", flush=True)


def megabytes(package: str) -> str:
    """The installed size of a distribution."""
    try:
        found = files(package) or []
    except PackageNotFoundError:
        return "not installed"
    return f"{sum(p.stat().st_size for f in found if (p := Path(str(f.locate()))).is_file()) / 1e6:.0f} MB"


def synthetic(rows: int) -> list[str]:
    """Answers of about 1 KB, 3 % of them damaged, as `rageval bench` makes them."""
    from rageval_batch.bench.synthetic import write_sweep

    with tempfile.TemporaryDirectory() as folder:
        made = write_sweep(Path(folder), rows)
        with made.outputs.open(encoding="utf-8") as lines:
            return [str(json.loads(text)["output"]) for text in lines]


def measure_json() -> None:
    import duckdb
    import msgspec
    import pyarrow as pa

    from rageval_batch.columnar import json_tape
    from rageval_batch.columnar.strings import from_list

    answers = synthetic(20_000)
    encoded = [answer.encode() for answer in answers]
    column = from_list(answers)
    line("rows, bytes a row", f"{len(answers)}, {len(column.data) // len(answers)}")
    names = ["target_audience", "main_topic", "sub_topic", "original_evidence"]

    def tape() -> None:
        parsed = json_tape.parse_strings(column)
        found = parsed.members(parsed.root, names)
        for k in range(len(names)):
            parsed.texts(found[:, k].copy())

    def each(decode: Callable[[bytes], Any]) -> None:
        columns: dict[str, list[Any]] = {name: [] for name in names}
        for row in encoded:
            try:
                value = decode(row)
            except Exception:  # of several libraries
                value = {}
            for name in names:
                columns[name].append(value.get(name) if isinstance(value, dict) else None)

    line("JSON tape, four members as columns", f"{cpu(tape):.3f} s")
    line("json.loads a row", f"{cpu(lambda: each(json.loads)):.3f} s")
    line("msgspec.json.decode a row", f"{cpu(lambda: each(msgspec.json.decode)):.3f} s")
    if find_spec("orjson"):
        import orjson  # type: ignore[import-not-found]

        line("orjson.loads a row", f"{cpu(lambda: each(orjson.loads)):.3f} s")
    if find_spec("simdjson"):
        import simdjson  # type: ignore[import-not-found]

        line("simdjson.loads a row", f"{cpu(lambda: each(simdjson.loads)):.3f} s")
    table = pa.table({"o": answers})
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.register("answers", table)
        shape = json.dumps(dict.fromkeys(names, "VARCHAR"))
        query = f"select max(d) from (select from_json(case when json_valid(o) then o end, '{shape}') d from answers)"
        line("DuckDB json_valid + from_json, one thread", f"{cpu(lambda: connection.execute(query).fetchall()):.3f} s")
    hard = {
        "duplicate key": '{"a":1,"a":2}',
        "trailing comma": '{"a":1,}',
        "NaN": '{"a":NaN}',
        "lone surrogate": '{"a":"\\ud800"}',
        "control character": '{"a":"\x01"}',
        "5,000 levels deep": "[" * 5_000 + "]" * 5_000,
        "integer of 40 digits": '{"a":' + "9" * 40 + "}",
    }
    decoders: dict[str, Callable[[bytes], Any]] = {"json": json.loads, "msgspec": msgspec.json.decode}
    if find_spec("orjson"):
        decoders["orjson"] = orjson.loads
    if find_spec("simdjson"):
        decoders["simdjson"] = simdjson.loads
    for what, text in hard.items():
        parsed = json_tape.parse_strings(from_list([text]))
        said = {"tape": "read" if parsed.status[0] == 0 else parsed.problem(0)}
        for name, decode in decoders.items():
            try:
                value = decode(text.encode())
                said[name] = f"read {str(value)[:20]}"
            except Exception as error:  # of several libraries
                said[name] = type(error).__name__
        line(what, said)


def measure_kernels() -> None:
    from oracles import text as slow
    from rageval_batch.columnar import json_tape, kernels
    from rageval_batch.columnar.functions import FUNCTIONS
    from rageval_batch.columnar.strings import from_list

    built = [*Path(kernels.__file__).parent.glob("*.so"), *Path(kernels.__file__).parent.glob("*.pyd")]
    line("extensions, on disk", f"{len(built)}, {sum(path.stat().st_size for path in built) / 1e6:.1f} MB")
    for module in ("numpy, pyarrow", "numpy, pyarrow, rageval_batch.columnar.kernels"):
        code = f"import time; s = time.process_time(); import {module}; print(round(time.process_time() - s, 3))"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        line(f"import {module}, CPU", f"{done.stdout.strip()} s")
    answers = from_list(synthetic(10_000))
    megabyte = len(answers.data) / 1e6
    line("JSON tape, MB/s", f"{megabyte / cpu(lambda: json_tape.parse_strings(answers)):,.0f}")
    line("squash, MB/s", f"{megabyte / cpu(lambda: kernels.squash(answers)):,.0f}")
    words = [answer[k : k + 24] for answer in synthetic(2_000) for k in (0, 40, 80)]
    left, right = words, words[1:] + words[:1]
    a, b = (from_list(side).to_arrow() for side in (left, right))
    fast = cpu(lambda: FUNCTIONS["bigram_jaccard"].call(a, b))
    plain = cpu(lambda: [slow.bigram_jaccard(x, y) for x, y in zip(left, right, strict=True)])
    line("bigram Jaccard, pairs/s: kernel, Python", f"{len(left) / fast:,.0f}, {len(left) / plain:,.0f}")


def measure_store() -> None:
    import duckdb
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows, commits = 2_000, 50
    drawn = np.random.default_rng(7)
    tables = [
        pa.table(
            {
                "run_id": pa.array([f"run-{k}"] * rows),
                "question_id": pa.array([f"q-{n}" for n in range(rows)]),
                "score": drawn.random(rows),
            }
        )
        for k in range(commits)
    ]
    with tempfile.TemporaryDirectory() as folder, duckdb.connect(config={"threads": 1}) as connection:
        ours = Path(folder) / "ours"

        def write() -> None:
            for k, table in enumerate(tables):
                aside, there = ours / f".{time.monotonic_ns()}", ours / f"{time.monotonic_ns()}-{k}"
                aside.mkdir(parents=True)
                pq.write_table(table, aside / "scores.parquet")
                (aside / "manifest.json").write_text("{}")
                aside.rename(there)

        def read(paths: list[str]) -> Any:
            return connection.execute("select avg(score), count(*) from read_parquet(?)", [paths]).fetchone()

        start = time.process_time()
        write()
        line(f"folders and renames: {commits} commits of {rows} rows", f"{time.process_time() - start:.2f} s")
        found = [str(path) for path in ours.rglob("*.parquet")]
        line("  one aggregate over all of them", f"{cpu(lambda: read(found)):.3f} s")
        if find_spec("deltalake"):
            from deltalake import DeltaTable, write_deltalake  # type: ignore[import-not-found]

            theirs = str(Path(folder) / "delta")
            start = time.process_time()
            for table in tables:
                write_deltalake(theirs, table, mode="append")
            line(f"Delta: {commits} commits of {rows} rows", f"{time.process_time() - start:.2f} s")

            def read_delta() -> Any:
                return read([uri.removeprefix("file://") for uri in DeltaTable(theirs).file_uris()])

            line("  open the table and the same aggregate over its files", f"{cpu(read_delta):.3f} s")
            size = sum(p.stat().st_size for p in Path(theirs, "_delta_log").iterdir())
            line("  its log", f"{size / 1e3:.0f} kB")
        line("deltalake, arro3-core on disk", f"{megabytes('deltalake')}, {megabytes('arro3-core')}")
        try:
            connection.execute("load ducklake")
            line("DuckLake", "extension is there")
        except duckdb.Error as error:
            line("DuckLake", str(error).splitlines()[0])


def measure_sums() -> None:
    import math

    import duckdb
    import numpy as np
    import pyarrow as pa

    drawn = np.random.default_rng(7)
    values = drawn.random(4_000_000) * drawn.choice([1e-6, 1.0, 100.0], 4_000_000)
    exact = math.fsum(values)
    line("values, their exact sum", f"{len(values)}, {exact!r}")
    expressions = {
        "sum(x)": "sum(x)",
        "fsum(x)": "fsum(x)",
        "exact_sum(x): sum(x::decimal(38, 18))::double": "sum(x::decimal(38, 18))::double",
        "sum(x::decimal(18, 9))::double": "sum(x::decimal(18, 9))::double",
    }
    with duckdb.connect(config={"threads": 2}) as connection:
        connection.register("given", pa.table({"x": values}))
        connection.execute("create table v as from given")
        for what, expression in expressions.items():

            def ask(expression: str = expression) -> Any:
                found = connection.execute(f"select {expression} from v").fetchone()
                return found and found[0]

            seen = {struct.pack("<d", ask()) for _ in range(12)}
            off = {abs(struct.unpack("<d", bits)[0] - exact) for bits in seen}
            line(what, f"{cpu(ask):.3f} s, {len(seen)} results in 12 runs, off by at most {max(off):.1e}")


def measure_schemas() -> None:
    from jsonschema import Draft202012Validator as Slow
    from jsonschema_rs import Draft202012Validator as Fast

    from rageval_batch.profiles.registry import PROFILES
    from rageval_batch.resources import samples_folder

    profile: Any = PROFILES["include_rate"]
    schema = profile.inputs.questions.schema
    samples = samples_folder() / "include_rate" / "questions.jsonl"
    lines = samples.read_text(encoding="utf-8").splitlines()
    questions = [json.loads(text) for _ in range(2_000) for text in lines]
    questions = [{**question, "must_include": 5} if k % 50 == 0 else question for k, question in enumerate(questions)]
    whole = {"type": "array", "items": dict(schema)}
    fast = Fast(whole)
    line("questions", len(questions))
    line("jsonschema-rs, every violation", f"{cpu(lambda: sum(1 for _ in fast.iter_errors(questions))):.3f} s")
    few = questions[: len(questions) // 20]
    slow = cpu(lambda: sum(1 for _ in Slow(whole).iter_errors(few)), 1) * 20
    line("jsonschema, every violation (a twentieth, times 20)", f"{slow:.3f} s")
    if find_spec("fastjsonschema"):
        import fastjsonschema  # type: ignore[import-not-found]

        check = fastjsonschema.compile(dict(schema))

        def first_only() -> None:
            for question in questions:
                try:
                    check(question)
                except fastjsonschema.JsonSchemaException:
                    continue

        line("fastjsonschema, the first violation of a question", f"{cpu(first_only):.3f} s")


def measure_numbers() -> None:
    import warnings

    from rageval_batch.columnar.values import Reader

    reader = Reader()
    texts = (
        "42,000", "肆万贰仟元整", "4万2千元", "约四点二万元", "二十多万元", "參仟元",
        "一些", "张三", "七八个", "一般", "3-5万元",
    )  # fmt: skip
    transform: Callable[[str], Any] | None = None
    if find_spec("cn2an"):
        import cn2an  # type: ignore[import-not-found]

        def transform(text: str) -> Any:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return cn2an.transform(text, "cn2an")

    for text in texts:
        ours = [f"{number.value} {number.unit}".strip() for number in reader.read(text).numbers]
        line(text, f"ours {ours}, cn2an {transform(text) if transform else 'not installed'}")
    many = [f"共计{text}，见附件{k}" for text in texts for k in range(500)]
    line(f"{len(many)} short texts: ours", f"{cpu(lambda: [reader.read(text).numbers for text in many]):.3f} s")
    if transform:
        other = transform
        line(f"{len(many)} short texts: cn2an.transform", f"{cpu(lambda: [other(text) for text in many]):.3f} s")


def measure_functions() -> None:
    from rageval_batch.bench.functions import measure

    for rate in measure(20_000, seed=7):
        line(f"{rate.function}, {rate.implementation}, rows/s", f"{rate.rows / rate.cpu_s:,.0f}")


def measure_dataclasses() -> None:
    import dataclasses
    from typing import NamedTuple

    import msgspec

    from rageval_batch.dataclass import dataclass

    members = {"a": "int", "b": "str", "c": "list[int]", "d": "float", "e": "str"}
    given = (1, "b", [], 1.0, "e")

    def declared(*bases: type, **options: bool) -> Any:
        return type(bases[0])(
            "X", bases, {"__annotations__": members, "__doc__": "X", "__module__": __name__}, **options
        )

    kinds: dict[str, Callable[[], Any]] = {
        "dataclasses.dataclass(frozen=True)": lambda: dataclasses.dataclass(frozen=True)(declared(object)),
        "ours": lambda: dataclass(frozen=True)(declared(object)),
        "NamedTuple": lambda: NamedTuple("X", [(name, Any) for name in members]),
        "msgspec.Struct": lambda: declared(msgspec.Struct, frozen=True),
    }
    for name, made in kinds.items():
        whole, cls = cpu(lambda made=made: [made() for _ in range(100)]), made()  # type: ignore[misc]
        line(f"{name}: a class", f"{whole * 1e4:.0f} µs")
        line(f"{name}: an object", f"{cpu(lambda cls=cls: [cls(*given) for _ in range(100_000)]) * 10:.2f} µs")  # type: ignore[misc]


MEASUREMENTS = {
    "json": measure_json,
    "kernels": measure_kernels,
    "store": measure_store,
    "sums": measure_sums,
    "schemas": measure_schemas,
    "numbers": measure_numbers,
    "functions": measure_functions,
    "dataclasses": measure_dataclasses,
}

if __name__ == "__main__":
    for wanted in sys.argv[1:] or MEASUREMENTS:
        print(f"--- {wanted}")
        MEASUREMENTS[wanted]()
