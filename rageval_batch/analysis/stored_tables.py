"""The tables of a session that come from the files of a store: each is made when it is first needed.

Files of the same columns are read by one reader, without looking into each of them; where the store has an index, run
records and summaries come from that.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rageval_batch.analysis.catalog_rows import ProfileRow, common_sql
from rageval_batch.analysis.sql_functions import interval_definition
from rageval_batch.columnar.strings import LARGE_STRING
from rageval_batch.inputs.extras import KEYS as EXTRA_KEYS
from rageval_batch.model.schemas import REJECTS, RUNS, TALLIES
from rageval_batch.runs import store_index
from rageval_batch.runs.database import create_table, database
from rageval_batch.runs.run_statistics import statistics_of_runs
from rageval_batch.runs.score_runs import OtherRows
from rageval_batch.runs.store import Commit, Store
from rageval_batch.runs.stored_intervals import keep_intervals, read_intervals
from rageval_batch.runs.summary import ScoreRows, write_summary
from rageval_batch.runs.summary_plan import SUMMARY, SummaryPlan
from rageval_batch.sql_text import COMMIT_OF_FILE, PACKED_COMMIT, identifier, parquet_reader, quoted

_MOST_UNINDEXED = 64  # commits; with more, an index is worth its writing
_MANY_ROWS = 50_000  # score rows that a summary was computed of: it is kept in the index
_OURS = frozenset(("commit", "profile", "eval_set", "output"))  # names that the views of answers have themselves
_DROPPED = pa.schema([("commit", LARGE_STRING), ("run_id", LARGE_STRING)])
_SUMMARIZED = pa.schema([*((name, LARGE_STRING) for name in ("commit", "definition")), *SUMMARY])


class StoredTables:
    """stored_runs, stored_rejects, stored_tallies, stored_extras, stored_summary, stored_intervals, stored_scores,
    stored_PROFILE."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        store: Store,
        commits: Sequence[Commit],
        *,
        catalog: Sequence[ProfileRow],
    ) -> None:
        self._connection = connection
        self._store = store
        self._commits = commits
        self._catalog = catalog
        self._dropped = [{"commit": commit.id, "run_id": run} for commit in commits for run in sorted(commit.dropped)]
        if self._dropped:
            create_table(self._connection, "dropped_runs", pa.Table.from_pylist(self._dropped, schema=_DROPPED))
        self._profiles = {f"stored_{row.profile}": row for row in catalog}
        self._columns_of_files: dict[Path, str] = {}
        index = store.index
        self._indexed = {
            commit.id for commit in commits if index is not None and index.manifest(commit.id, commit.stamp) is not None
        }

    @property
    def names(self) -> set[str]:
        """The tables that can be made."""
        roles = ("runs", "rejects", "tallies", "extras", "summary", "intervals", "scores")
        return {*(f"stored_{role}" for role in roles), *self._profiles}

    def commits_of(self, profile: str) -> list[Commit]:
        """The commits of a profile, oldest first."""
        return [commit for commit in self._commits if commit.manifest["profile"] == profile]

    def needs(self, name: str) -> list[str]:
        """The tables that one is made of."""
        if name == "stored_scores":
            return [f"stored_{row.profile}" for row in self._catalog if self.commits_of(row.profile)]
        return ["current_runs"] if name == "stored_summary" else []

    def create(self, name: str) -> None:
        """Make a table, those that it needs being there."""
        if name == "stored_runs":
            self._create_runs()
        elif name == "stored_summary":
            self._create_summary()
        elif name == "stored_intervals":
            self._create_intervals()
        elif name == "stored_scores":
            branches = [common_sql(row) for row in self._catalog if self.commits_of(row.profile)]
            self._connection.execute(f"create view {name} as {' union all '.join([_NO_SCORES, *branches])}")
        elif name == "stored_extras":
            self._create_view(name, self._extras_readers(), EXTRA_KEYS)
        elif name in self._profiles:
            row = self._profiles[name]
            groups = self._by_columns(self.commits_of(row.profile))
            readers = [reader for commits in groups for reader in _readers("scores", commits)]
            self._create_view(name, readers, row.schema)
        else:
            role = name.removeprefix("stored_")
            schema = {"rejects": REJECTS, "tallies": TALLIES}[role]
            self._create_view(name, _readers(role, self._commits), schema)

    # --- readers ----------------------------------------------------------------------------------------------------

    def _extras_readers(self) -> list[str]:
        """Other columns of answers, a reader a file: each commit has its own."""
        readers = []
        for path, commits in _by_file("extras", self._commits).items():
            names = [name for name in pq.read_schema(path).names if name != PACKED_COMMIT]
            columns = ", ".join(f"{identifier(n)} as {identifier(_unlike_ours(n, names))}" for n in names)
            commit = PACKED_COMMIT if commits[0].packed else quoted(commits[0].id)
            where = _without_others("extras", path, commits)
            readers.append(f"select {columns}, {commit} as commit from {parquet_reader([path])}{where}")
        return readers

    def _by_columns(self, commits: Iterable[Commit]) -> list[list[Commit]]:
        """Commits whose score rows have the same columns, together."""
        found: dict[str, list[Commit]] = {}
        for commit in commits:
            found.setdefault(self._columns(commit), []).append(commit)
        return list(found.values())

    def _columns(self, commit: Commit) -> str:
        """The columns of the score rows of a commit with their types, as one text; all its files have the same."""
        if commit.id in self._indexed and self._store.index is not None:
            return self._store.index.columns[commit.id]
        path = commit.files("scores")[0]
        if path not in self._columns_of_files:
            schema = pq.read_schema(path)
            self._columns_of_files[path] = ", ".join(f"{field.name} {field.type}" for field in schema)
        return self._columns_of_files[path]

    def _create_view(self, name: str, readers: Sequence[str], schema: pa.Schema) -> None:
        """Rows of files as one view with the commit each came in; typed and empty without files.

        A column that no file has, because it was added later, is null.
        """
        typed = pa.schema([*schema, ("commit", LARGE_STRING)])
        if not readers:
            create_table(self._connection, name, typed.empty_table())
            return
        rows = " union all by name ".join(readers)
        there = {row[0] for row in self._connection.execute(f"describe ({rows})").fetchall()}
        if later := [field for field in typed if field.name not in there]:
            create_table(self._connection, f"later_{name}", pa.schema(later).empty_table())
            rows += f" union all by name from later_{name}"
        if self._dropped and "run_id" in there:
            rows = f"from ({rows}) anti join dropped_runs using (commit, run_id)"
        self._connection.execute(f"create view {name} as {rows}")

    # --- run records and summaries ----------------------------------------------------------------------------------

    def _create_runs(self) -> None:
        readers = _readers("runs", [commit for commit in self._commits if commit.id not in self._indexed])
        if self._indexed and self._store.index is not None:
            create_table(
                self._connection, "indexed_commits", pa.table({"commit": pa.array(sorted(self._indexed), LARGE_STRING)})
            )
            file = parquet_reader([self._store.index.path / store_index.RUNS])
            readers.append(f"from {file} where commit in (select commit from indexed_commits)")
        self._create_view("stored_runs", readers, RUNS)

    def _create_summary(self) -> None:
        """Summaries as commits have them; those of current results that have none, or another, are computed."""
        current = {row[0] for row in self._connection.execute("select distinct commit from current_runs").fetchall()}
        readers: list[str] = []
        computed: list[str] = []
        pairs: set[tuple[str, str]] = set()
        rows_read = 0
        indexed = self._store.index.summaries if self._store.index is not None else frozenset[tuple[str, str]]()
        with tempfile.TemporaryDirectory(prefix="rageval-") as folder:
            for row in self._catalog:
                commits = self.commits_of(row.profile)
                plan = row.summary_plan
                own, missing = [], []
                for commit in commits:
                    if commit.id in self._indexed and (commit.id, plan.definition) in indexed:
                        pairs.add((commit.id, plan.definition))
                    elif commit.manifest.get("summary") == plan.definition and commit.files("summary"):
                        own.append(commit)
                    elif commit.id in current:
                        missing.append(commit)
                definition = f"{quoted(plan.definition)} as definition"
                readers += [f"select *, {definition} from ({reader})" for reader in _readers("summary", own)]
                for group in self._by_columns(missing):
                    rows = _score_rows(group)
                    computed.append(self._computed(plan, group, rows, target=Path(folder) / f"{len(computed)}.parquet"))
                    rows_read += rows.count
            if pairs and self._store.index is not None:
                columns = zip(*sorted(pairs), strict=True)
                create_table(
                    self._connection,
                    "indexed_summaries",
                    pa.table(dict(zip(("commit", "definition"), columns, strict=True))),
                )
                file = parquet_reader([self._store.index.path / store_index.SUMMARIES])
                readers.append(f"from {file} semi join indexed_summaries using (commit, definition)")
            if computed:
                self._connection.execute(f"create table computed_summary as {' union all by name '.join(computed)}")
                readers.append("from computed_summary")
        self._create_view("stored_summary", readers, _SUMMARIZED)
        unindexed = sum(commit.id not in self._indexed and not commit.packed for commit in self._commits)
        if unindexed > _MOST_UNINDEXED or rows_read > _MANY_ROWS:
            self._write_index()

    def _create_intervals(self) -> None:
        """The intervals of scores that were kept, by the definitions that hold now."""
        names = (("profile", LARGE_STRING), ("definition", LARGE_STRING))
        known = [{"profile": row.profile, "definition": interval_definition(row)} for row in self._catalog]
        create_table(self._connection, "interval_definitions", pa.Table.from_pylist(known, schema=pa.schema(names)))
        create_table(self._connection, "kept_intervals", read_intervals(self._store.path))
        self._connection.execute(
            "create table stored_intervals as select distinct i.commit, i.run_id, i.low, i.high from kept_intervals i "
            "join commits c on c.commit = i.commit "
            "join interval_definitions d on d.profile = c.profile and d.definition = i.definition"
        )

    def keep_intervals(self) -> None:
        """Keep the intervals of the table `ranking`, as far as they are new and took long to compute."""
        added = self._connection.sql(
            "select r.commit, r.stored_id as run_id, d.definition, k.low, k.high, k.n from ranking k "
            "join current_runs r on r.run_id = k.run_id and r.profile = k.profile and r.eval_set = k.eval_set "
            "join interval_definitions d on d.profile = r.profile "
            "anti join stored_intervals i on i.commit = r.commit and i.run_id = r.stored_id "
            "where r.created_at is not null"
        ).to_arrow_table()
        if sum(added.column("n").to_pylist()) > _MANY_ROWS:
            keep_intervals(self._store.path, added.drop_columns("n"))

    def _computed(self, plan: SummaryPlan, group: Sequence[Commit], rows: ScoreRows, *, target: Path) -> str:
        """The reader of the summary of score rows that have none: made by compiled loops where they can, else by
        DuckDB."""
        commits = sorted(commit.id for commit in group)
        runs = self._connection.sql(
            "select commit, run_id, repeats from stored_runs where commit in (select unnest($1))", params=[commits]
        ).to_arrow_table()
        made = _summary_by_loops(plan, group, runs)
        if made is not None:
            pq.write_table(made, target)
        else:
            with database(self._store.staging_folder) as own:
                write_summary(plan, rows, runs, target=target, database=own, with_commit=True)
        return f"select *, {quoted(plan.definition)} as definition from {parquet_reader([target])}"

    def _write_index(self) -> None:
        """Put all that is known now into a new version of the index."""
        pairs = self._connection.execute("select distinct commit, definition from stored_summary").fetchall()

        def write_tables(runs: Path, summaries: Path) -> None:
            for table, target in (("stored_runs", runs), ("stored_summary", summaries)):
                rows = f"from {table} order by commit, run_id"
                self._connection.execute(f"copy ({rows}) to {quoted(target)} (format parquet, compression zstd)")

        store_index.write_index(
            self._store.path,
            {commit.id: (commit.stamp, commit.manifest) for commit in self._commits},
            {commit.id: self._columns(commit) for commit in self._commits},
            summaries=frozenset(pairs),
            write_tables=write_tables,
        )


def _unlike_ours(name: str, others: Iterable[str]) -> str:
    """The name, with low lines behind it if the views of answers have it themselves."""
    if name.lower() not in _OURS:
        return name
    taken = {other.lower() for other in others}
    while name.lower() in taken:
        name += "_"
    return name


def _readers(role: str, commits: Iterable[Commit]) -> list[str]:
    """The rows of files of the same columns with the commit of each: one reader for single commits, few for packs."""
    files = _by_file(role, commits)
    single = [path for path, found in files.items() if not found[0].packed]
    packs: dict[str, list[Path]] = {}
    for path, found in files.items():
        if found[0].packed:
            packs.setdefault(_without_others(role, path, found), []).append(path)
    readers = []
    if single:
        rows = parquet_reader(single, filename=True)
        readers.append(f"select * exclude (filename), {COMMIT_OF_FILE} as commit from {rows}")
    for where, paths in packs.items():
        rows = f"{parquet_reader(paths)}{where}"
        readers.append(f"select * exclude ({PACKED_COMMIT}), {PACKED_COMMIT} as commit from {rows}")
    return readers


def _by_file(role: str, commits: Iterable[Commit]) -> Mapping[Path, list[Commit]]:
    """The files of a role, with the commits whose rows they have."""
    found: dict[Path, list[Commit]] = {}
    for commit in commits:
        for path in commit.files(role):
            found.setdefault(path, []).append(commit)
    return found


def _without_others(role: str, path: Path, commits: Sequence[Commit]) -> str:
    """The condition that leaves out what a file has beside the rows of these commits; empty where it has no other."""
    held = {
        name
        for name, manifest in commits[0].packed.get("packs", {}).items()
        if path.name in manifest["files"].get(role, ())
    }
    others = sorted(held - {commit.id for commit in commits})
    return f" where {PACKED_COMMIT} not in ({', '.join(map(quoted, others))})" if others else ""


def _score_rows(commits: Sequence[Commit]) -> ScoreRows:
    """The score rows of commits that have the same columns; the number is that of all rows of their files."""
    files = list(_by_file("scores", commits))
    schema = pq.read_schema(files[0])
    columns = pa.schema([column for column in schema if column.name != PACKED_COMMIT])
    count = sum(pq.read_metadata(path).num_rows for path in files)
    return ScoreRows(query=" union all by name ".join(_readers("scores", commits)), schema=columns, count=count)


def _summary_by_loops(plan: SummaryPlan, commits: Sequence[Commit], runs: pa.Table) -> pa.Table | None:
    """The summary of these runs of commits, with the commit of each; None where the loops do not take one of them."""
    if any(commit.packed for commit in commits):
        return None
    parts = []
    for commit in commits:
        mine = runs.filter(pc.equal(runs["commit"], commit.id))
        names = mine["run_id"].cast(LARGE_STRING)
        repeats = dict(zip(names.to_pylist(), mine["repeats"].to_pylist(), strict=True))
        try:
            made = pa.concat_tables([SUMMARY.empty_table(), *statistics_of_runs(plan, commit.files("scores"), repeats)])
        except OtherRows:
            return None
        made = made.filter(pc.is_in(made["run_id"], names))
        parts.append(made.append_column("commit", pa.repeat(pa.scalar(commit.id, LARGE_STRING), made.num_rows)))
    return pa.concat_tables(parts)


_NO_SCORES = (
    "select commit, run_id, profile, question_id, null::varchar as dataset, repeat, weight, value as score, "
    "fail_reason from file_rows where false"
)
