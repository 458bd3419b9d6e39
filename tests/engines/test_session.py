"""What is missing for the engine spark, or wrong with its options: one sentence each, exit 2, nothing written."""

from __future__ import annotations

from pathlib import Path

import pytest

from rageval_batch.cli import main
from rageval_batch.engines import session as spark_session
from rageval_batch.resources import samples_folder


def said(folder: Path, capsys: pytest.CaptureFixture[str], *more: str) -> str:
    """The sentence that a command ends with."""
    samples = samples_folder() / "include_rate"
    words = ["score", str(samples / "outputs"), "-p", "include_rate", "-q", str(samples / "questions.jsonl")]
    with pytest.raises(SystemExit) as ended:
        main([*words, "--store", str(folder / "runs"), *more])
    assert ended.value.code == 2
    assert not (folder / "runs").exists()
    return capsys.readouterr().err


def test_without_the_extra_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(spark_session, "find_spec", lambda name: None if name == "pyspark" else object())
    assert "pip install 'rageval-batch[spark]'" in said(tmp_path, capsys, "--engine", "spark")


def test_without_java_or_with_an_old_one_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "java"))
    assert "needs Java 17 or newer: install it" in said(tmp_path, capsys, "--engine", "spark")
    java = tmp_path / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    for version, called in (("11.0.2", "11"), ("1.8.0_392", "8")):
        java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2019-01-15' >&2\n")
        java.chmod(0o755)
        assert f"{java} is {called}." in said(tmp_path, capsys, "--engine", "spark")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--master", "local[1]"], "add --engine spark"),
        (["--conf", "a=b"], "add --engine spark"),
        (["--engine", "spark", "--conf", "a"], "--conf a: write it as name=value"),
        (["--engine", "spark", "--master", "nonsense"], "give spark://HOST:PORT, yarn"),
        (["--engine", "spark", "--master", "spark://host"], "write it as spark://HOST:PORT"),
        (["--engine", "spark", "--master", "spark://127.0.0.1:1"], "No Spark master answers at spark://127.0.0.1:1"),
        (["--store", "what://host/runs"], "Cannot open what://host"),
        (["--store", "s3://me:secret@bucket/runs"], "a password in a URL would be kept"),
    ],
)
def test_wrong_options(options: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if "spark" in options and not spark_session.has_java():
        pytest.skip("the engine spark was not tested: there is no Java")
    assert sentence in said(tmp_path, capsys, *options)
