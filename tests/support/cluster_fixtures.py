"""One cluster for all tests of the engine spark, and an S3 server that its executors reach."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from rageval_batch.engines.session import has_java, quiet_pandas, session
from support.cluster import CONF, Cluster, started
from support.s3 import s3_server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A master and two workers; skipped, and said so, where there is no Java."""
    if not has_java():
        pytest.skip("the engine spark was not tested: there is no Java")
    with started(tmp_path_factory.mktemp("cluster")) as found:
        yield found


@pytest.fixture(scope="session")
def s3() -> Iterator[dict[str, str]]:
    """What the environment says of an S3 server."""
    with s3_server() as variables:
        yield variables


@pytest.fixture(scope="session")
def spark(cluster: Cluster, s3: dict[str, str]) -> Iterator[SparkSession]:
    """A session of the cluster, whose executors know the S3 server."""
    executors = {f"spark.executorEnv.{name}": value for name, value in s3.items()}
    with quiet_pandas(), session(cluster.url, {**CONF, **executors}) as found:
        yield found


@pytest.fixture
def s3_environment(
    s3: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The driver too knows the S3 server, and has a cache of its own."""
    for name, value in s3.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("RAGEVAL_CACHE", os.fspath(tmp_path_factory.mktemp("cache")))
