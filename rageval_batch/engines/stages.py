"""The stages of a job on Spark: small rows to tasks, small rows back. The only module that makes Spark data frames."""

from __future__ import annotations

import pickle
import secrets
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import groupby
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import cloudpickle
from pyspark.errors import PythonException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.window import Window

from rageval_batch.dataclass import dataclass
from rageval_batch.engines import tasks
from rageval_batch.engines.parts import SplitResult
from rageval_batch.engines.session import quiet_pandas
from rageval_batch.engines.tasks import Routes, Work, Written
from rageval_batch.errors import InputError, RagevalError
from rageval_batch.inputs.sources import Source
from rageval_batch.inputs.splits import Split, SplitSource, split_source
from rageval_batch.runs.findings import Observed

MOST_TASKS = 20_000  # of a stage; more splits share tasks
_BATCH_BYTES = 8 << 20  # of tables that are handed to Spark at a time
_ROWS_A_PARTITION = 2_000_000  # answers whose keys are compared in one task
_KEPT_VALUES = 4  # of those that were sent, in a process
_POLL = 0.5  # seconds between looks at the progress

_ITEMS = "number int, content binary"
_SPLITS = "number int, content binary, second_answers array<bigint>"
_KEYS = "run_id string, question int, repeat int, split int, place bigint"
_TABLES = "partition int, kind string, number int, content binary"
# One record at a time: a record is a whole table, and Spark would put thousands of them into one batch.
_SETTINGS = {"spark.sql.execution.arrow.maxRecordsPerBatch": "1"}

Report = Callable[[int], None]  # rows that are done


@dataclass(frozen=True)
class Sent:
    """Something that every executor has."""

    key: str
    broadcast: Any


class Stages:
    """Runs the stages of one job in a Spark session."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    @contextmanager
    def settings(self) -> Iterator[None]:
        """The session with settings that the stages need; as it was afterwards."""
        before = {name: self._spark.conf.get(name, None) for name in _SETTINGS}
        for name, value in _SETTINGS.items():
            self._spark.conf.set(name, value)
        try:
            with quiet_pandas():
                yield
        finally:
            for name, earlier in before.items():
                if earlier is None:
                    self._spark.conf.unset(name)
                else:
                    self._spark.conf.set(name, earlier)

    def split_sources(self, files: Sequence[Source]) -> list[SplitSource]:
        """Every file read once; the first error of a file is raised."""
        found: list[SplitSource | RagevalError] = self._mapped(_split_source, files)
        for one in found:
            if isinstance(one, RagevalError):
                raise one
        return [one for one in found if isinstance(one, SplitSource)]

    def send(self, value: Work | Routes | tuple[str, ...], module: ModuleType | None = None) -> Sent:
        """Something for all tasks, sent to every executor once; with what it has of a module that they may lack."""
        with _by_value(module):
            return Sent(secrets.token_hex(8), self._spark.sparkContext.broadcast(_pickled(value)))

    def score(self, work: Sent, splits: Sequence[Split], report: Report | None) -> list[SplitResult]:
        """Every split scored, none of its rows taken for a duplicate."""
        done = self._spark.sparkContext.accumulator(0)
        rows: list[tuple[int, bytes, list[int]]] = [
            (number, pickle.dumps(split), []) for number, split in enumerate(splits)
        ]
        with _reported(done, report):
            return self._results(self._frame(rows, _SPLITS).mapInArrow(partial(_score_splits, work, done), _ITEMS))

    def score_again(self, work: Sent, splits: Sequence[Split], parts: Sequence[SplitResult]) -> list[SplitResult]:
        """Splits that have second answers of a run to a question (with the same repeat), scored without them.

        Of several the first by file and place in it counts: splits are numbered in that order.
        """
        named = [(part.number, part.name.encode()) for part in parts]
        keys = self._frame(named, _ITEMS).mapInArrow(partial(_answer_keys, work), _KEYS)
        rows = sum(sum(part.scored.values()) for part in parts)
        keys = keys.repartition(max(1, -(-rows // _ROWS_A_PARTITION)), "run_id", "question", "repeat")
        same = Window.partitionBy("run_id", "question", "repeat").orderBy("split", "place")
        second = keys.withColumn("answer", sql.row_number().over(same)).where("answer > 1")
        places = second.groupBy(sql.col("split").alias("number")).agg(sql.collect_list("place").alias("second_answers"))
        described = self._frame([(number, pickle.dumps(split)) for number, split in enumerate(splits)], _ITEMS)
        again = described.join(places, "number").select("number", "content", "second_answers")
        done = self._spark.sparkContext.accumulator(0)
        return self._results(again.mapInArrow(partial(_score_splits, work, done), _ITEMS))

    def keep_columns(
        self, work: Sent, splits: Sequence[Split], parts: Sequence[SplitResult], *, columns: Sequence[str]
    ) -> list[SplitResult]:
        """Splits of these parts, scored again with these of the columns that are no fields."""
        kept = self.send(tuple(columns))
        items = [(part.number, splits[part.number], part.name) for part in parts]
        return self._mapped(partial(_keep_columns, work, kept), items)

    def write(self, work: Sent, routes: Sent, parts: Sequence[SplitResult], *, partitions: int) -> list[Written]:
        """The files of the commit but its summaries: the tables of all parts, sent to their partitions."""
        named = [(part.number, part.name.encode()) for part in parts]
        sent = self._frame(named, _ITEMS).mapInArrow(partial(_routed, work, routes), _TABLES)
        # A partition to which nothing is sent may have missing answers: an empty table is sent to each.
        each = [(partition, "", -1, None) for partition in range(partitions)]
        sent = sent.union(self._frame(each, _TABLES, min(partitions, 64)))
        ordered = sent.repartitionById(partitions, sql.col("partition")).sortWithinPartitions("kind", "number")
        found = self._results(ordered.mapInArrow(partial(_write_partitions, work, routes), _ITEMS))
        return [written for several in found for written in several]

    def summarize(
        self, work: Sent, groups: Sequence[tuple[list[str], pa.Table]]
    ) -> list[tuple[Written | str, Observed]]:
        """The summaries of groups of score files, which have all rows of their runs; see tasks.summarized."""
        return self._mapped(partial(_summarize, work), list(enumerate(groups)))

    def _mapped(self, work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """A function of each item, in the order of the items."""
        rows = [(number, _pickled(item)) for number, item in enumerate(items)]
        return self._results(self._frame(rows, _ITEMS).mapInArrow(partial(_each, work), _ITEMS))

    def _frame(self, rows: Sequence[tuple[Any, ...]], schema: str, slices: int | None = None) -> DataFrame:
        context = self._spark.sparkContext
        count = max(1, min(len(rows), slices or MOST_TASKS))
        return self._spark.createDataFrame(context.parallelize(rows, count), schema)

    @staticmethod
    def _results(frame: DataFrame) -> list[Any]:
        """The pickled results of tasks, ordered by their numbers."""
        try:
            rows = frame.collect()
        except PythonException as error:
            if "No module named 'rageval_batch" in str(error):
                raise InputError(
                    "The Python of the Spark workers has no rageval-batch: install it there, or ship an environment "
                    "with --conf spark.archives and name its Python in PYSPARK_PYTHON."
                ) from error
            raise
        return [pickle.loads(row["content"]) for row in sorted(rows, key=lambda row: row["number"])]


def _pickled(value: Any) -> bytes:
    content: bytes = cloudpickle.dumps(value)  # type: ignore[no-untyped-call]
    return content


@contextmanager
def _by_value(module: ModuleType | None) -> Iterator[None]:
    """While pickling: functions and classes of a module as they are, not by its name."""
    if module is None:
        yield
        return
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        cloudpickle.unregister_pickle_by_value(module)  # type: ignore[no-untyped-call]


@contextmanager
def _reported(done: Any, report: Report | None) -> Iterator[None]:
    """Tell how many rows are done, now and then, while a stage runs."""
    if report is None:
        yield
        return
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(_POLL):
            report(done.value)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
    report(done.value)


# --- on executors: batches of rows in, batches of rows out ------------------------------------------------------------

Batches = Iterable[pa.RecordBatch]
_received: dict[str, Any] = {}  # what was sent for all tasks, by its key: the last few


def _unpickled(sent: Sent) -> Any:
    """What was sent to all tasks; unpickled once in a process."""
    if sent.key not in _received:
        while len(_received) >= _KEPT_VALUES:
            _received.pop(next(iter(_received)))
        _received[sent.key] = pickle.loads(sent.broadcast.value)
    return _received[sent.key]


def _row_tuples(batches: Batches) -> Iterator[tuple[Any, ...]]:
    for batch in batches:
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _item(number: int, value: Any) -> pa.RecordBatch:
    content = [pa.array([number], pa.int32()), pa.array([_pickled(value)], pa.binary())]
    return pa.RecordBatch.from_arrays(content, names=["number", "content"])


def _each(work: Callable[[Any], Any], batches: Batches) -> Iterator[pa.RecordBatch]:
    for number, content in _row_tuples(batches):
        yield _item(number, work(pickle.loads(content)))


def _split_source(file: Source) -> SplitSource | RagevalError:
    try:
        return split_source(file)
    except RagevalError as error:
        return error


def _score_splits(work: Sent, done: Any, batches: Batches) -> Iterator[pa.RecordBatch]:
    for number, content, places in _row_tuples(batches):
        second_answers = np.array(places, np.int64)
        result = tasks.score_split(_unpickled(work), number, pickle.loads(content), second_answers=second_answers)
        done.add(result.rows_read)
        yield _item(number, result)


def _keep_columns(work: Sent, columns: Sent, item: tuple[int, Split, str]) -> SplitResult:
    number, split, name = item
    return tasks.rescore_split(_unpickled(work), number, split, name=name, columns=_unpickled(columns))


def _answer_keys(work: Sent, batches: Batches) -> Iterator[pa.RecordBatch]:
    for number, name in _row_tuples(batches):
        yield from tasks.answer_keys(_unpickled(work), number, name.decode())


def _routed(work: Sent, routes: Sent, batches: Batches) -> Iterator[pa.RecordBatch]:
    waiting: list[tuple[int, str, int, bytes]] = []
    for number, name in _row_tuples(batches):
        for partition, kind, content in tasks.routed(_unpickled(work), _unpickled(routes), number, name=name.decode()):
            waiting.append((partition, kind, number, content))
            if sum(len(one[-1]) for one in waiting) >= _BATCH_BYTES:
                yield _tables(waiting)
                waiting = []
    if waiting:
        yield _tables(waiting)


def _tables(rows: list[tuple[int, str, int, bytes]]) -> pa.RecordBatch:
    columns = zip(zip(*rows, strict=True), (pa.int32(), pa.string(), pa.int32(), pa.binary()), strict=True)
    return pa.RecordBatch.from_arrays(
        [pa.array(values, type_) for values, type_ in columns], names=["partition", "kind", "number", "content"]
    )


def _write_partitions(work: Sent, routes: Sent, batches: Batches) -> Iterator[pa.RecordBatch]:
    for partition, rows in groupby(_row_tuples(batches), key=lambda row: row[0]):
        payloads = ((kind, content) for _, kind, _, content in rows if kind)
        yield _item(
            partition, list(tasks.write_partition(_unpickled(work), _unpickled(routes), partition, payloads=payloads))
        )


def _summarize(work: Sent, item: tuple[int, tuple[list[str], pa.Table]]) -> tuple[Written | str, Observed]:
    place, (names, runs) = item
    return tasks.summarized(_unpickled(work), place, names, runs=runs)
