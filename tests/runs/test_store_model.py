"""Commits, drops, prunes and compactions in any order, against a model that keeps all of them in lists."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from rageval_batch.analysis.catalog import open_store
from rageval_batch.runs.packs import compact
from rageval_batch.runs.store import Store
from rageval_batch.runs.upkeep import check_store, drop, prune
from support.stores import publish, rewritten, simple_run

RUNS = "abc"
AGES = st.integers(0, 3)  # days: clocks of several machines, so that later commits may say that they are older
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("score"), st.sets(st.sampled_from(RUNS), min_size=1), AGES),
        st.tuples(st.just("score"), st.sets(st.sampled_from(RUNS), min_size=1), AGES),
        st.tuples(st.just("drop run"), st.sampled_from(RUNS)),
        st.tuples(st.just("drop result"), st.sampled_from(RUNS), st.integers(0, 9)),
        st.tuples(st.just("drop commit"), st.integers(0, 9)),
        st.tuples(st.just("prune"), st.none() | AGES, st.none() | st.integers(1, 2), st.booleans()),
        st.tuples(st.just("compact")),
    ),
    max_size=12,
)


@dataclass
class Model:
    """What a store has, by the promises of its commands."""

    commits: dict[str, tuple[int, dict[str, float]]] = field(default_factory=dict)  # age in days, scores; oldest first
    gone: set[tuple[str, str]] = field(default_factory=set)  # (commit, run)
    pruned: set[str] = field(default_factory=set)

    def results(self, run: str) -> list[str]:
        """The commits that have a result of a run, the current one last."""
        return [name for name, (_, scores) in self.commits.items() if run in scores and (name, run) not in self.gone]

    def current(self) -> dict[str, str]:
        """The commit of the current result of every run."""
        return {run: found[-1] for run in RUNS if (found := self.results(run))}

    def visible(self) -> list[str]:
        """The commits that have a result of any run."""
        return [name for name in self.commits if any(name in self.results(run) for run in RUNS)]

    def drop(self, runs: str, commits: list[str]) -> None:
        self.gone |= {(name, run) for name in commits for run in runs}

    def prune(self, older_than: int | None, keep_last: int | None) -> list[str]:
        """A commit is older than so many days if it was made before that moment: one of just that age is older, as
        time has passed since it was made."""
        kept = {name for run in RUNS for name in self.results(run)[-(keep_last or 1) :]}
        hidden = [
            name
            for name, (age, _) in self.commits.items()
            if name not in kept and name not in self.pruned and (older_than is None or age >= older_than)
        ]
        self.pruned |= set(hidden)
        self.drop(RUNS, hidden)
        return hidden


def current(store: Store) -> dict[str, str]:
    """The commit of the current result of every run."""
    return {run: commit.id for commit in store.listing().visible() for run in commit.manifest["runs"]}


A, B = {"a"}, {"b"}


@example([("score", A, 2), ("score", A, 0), ("prune", 3, None, False), ("prune", 2, None, True)])
@example([("score", A, 0), ("score", A, 3), ("score", A, 1), ("prune", 1, 2, False), ("prune", 0, 1, True)])
@example([("score", A | B, 1), ("score", A, 0), ("drop result", "a", 1), ("compact",), ("prune", 0, None, True)])
@example([("score", A, 3), ("score", B, 3), ("compact",), ("drop commit", 0), ("prune", 1, None, True), ("compact",)])
@given(STEPS)
def test_a_store_is_what_its_commands_promise(steps: list[tuple]) -> None:  # type: ignore[type-arg]
    with tempfile.TemporaryDirectory() as folder:
        store, model = Store(Path(folder) / "runs"), Model()
        for number, (step, *given) in enumerate(steps):
            if step == "score":
                runs, age = given
                scores = dict.fromkeys(runs, number / 16)
                commit = publish(store.path, {run: simple_run(q=score) for run, score in scores.items()})
                rewritten(commit, created_at=(datetime.now(UTC) - timedelta(days=age)).isoformat())
                model.commits[commit.id] = age, scores
            elif step == "drop run" and (found := model.results(given[0])):
                drop(store, [given[0]])
                model.drop(given[0], found)
            elif step == "drop result" and (found := model.results(given[0])):
                name = found[given[1] % len(found)]
                drop(store, [f"{given[0]}@{name}"])
                model.drop(given[0], [name])
            elif step == "drop commit" and (found := model.visible()):
                name = found[given[0] % len(found)]
                drop(store, [name])
                model.drop(RUNS, [name])
            elif step == "prune" and (given[0] is not None or given[1] is not None) and store.path.exists():
                older_than, keep_last, at_once = given
                before = current(store)
                age = None if older_than is None else timedelta(days=older_than)
                pruned = prune(store, age, keep_last, at_once=at_once)
                assert sorted(pruned.hidden) == sorted(model.prune(older_than, keep_last))
                assert current(store) == before
            elif step == "compact" and store.path.exists():
                compact(store)
            if store.path.exists():
                assert current(store) == model.current()
                assert check_store(store).problems == []
        if model.visible():
            with open_store(store.path) as session:
                rows = session.rows("select run_id, score from scores")
            wanted = {run: model.commits[name][1][run] for run, name in model.current().items()}
            assert {row["run_id"]: row["score"] for row in rows} == wanted
