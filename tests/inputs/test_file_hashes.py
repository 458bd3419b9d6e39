"""Hashes that were begun early are those of the files as they are when they are asked for."""

import hashlib
import os
import sys
from pathlib import Path

import pytest

from rageval_batch.inputs import file_hashes
from rageval_batch.inputs.file_hashes import FileHash, begin_hashing, file_hash


def wanted(path: Path) -> FileHash:
    """Of a file as it is now, by reading it whole."""
    about = path.stat()
    return FileHash(hashlib.sha256(path.read_bytes()).hexdigest(), about.st_size, about.st_mtime_ns, stamps=None)


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 1_000])
def test_a_hash_is_that_of_the_bytes_however_they_are_cut(
    size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_hashes, "_ROOM", 64)
    path = tmp_path / "a.jsonl"
    path.write_bytes(os.urandom(size))
    assert file_hash(str(path)) == wanted(path)
    begin_hashing([str(path)])
    assert file_hash(str(path)) == wanted(path)


def test_a_file_that_changed_since_is_hashed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"before")
    begin_hashing(["a.jsonl"])  # named by another path than the one that is asked for
    file_hashes._begun[str(path)].result()
    path.write_bytes(b"behind")
    os.utime(path, ns=(0, 0))
    assert file_hash(str(path)) == wanted(path)
    assert file_hash("a.jsonl") == wanted(path)


def test_what_is_no_file_is_said_when_it_is_asked_for(tmp_path: Path) -> None:
    gone = tmp_path / "gone.jsonl"
    gone.write_bytes(b"x")
    usual = sys.getswitchinterval()
    begin_hashing([str(tmp_path), str(tmp_path / "never"), "a\0b", "--store", str(gone)])
    file_hashes._begun[str(gone)].result()
    gone.unlink()
    for path in (tmp_path, tmp_path / "never", gone):
        with pytest.raises(OSError, match=str(path)):
            file_hash(str(path))
    begin_hashing([])
    assert sys.getswitchinterval() == usual
