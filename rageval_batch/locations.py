"""Files and folders by path or by URL: `s3://`, `s3a://`, `gs://`, `abfs://` and `hdfs://` by the file systems of
Arrow, any other scheme by fsspec where that is installed. `file:` is a path."""

from __future__ import annotations

import fnmatch
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import SplitResult, unquote, urlsplit

import pyarrow as pa

from rageval_batch.dataclass import dataclass
from rageval_batch.errors import InputError

if TYPE_CHECKING:
    from pyarrow import fs

MANIFEST = "manifest.json"  # of a commit
COMMIT_NAME = re.compile(r"\d{8}T\d{6}\.\d{6}Z-[0-9a-f]+")

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")  # a scheme of one letter is a drive of Windows
_FILE = re.compile(r"file:(?=/)", re.IGNORECASE)
_SAME = {"s3a": "s3", "s3n": "s3"}  # names that Hadoop has for what Arrow calls otherwise
_OBJECTS = ("s3", "gcs", "abfs")  # where a file appears when it is whole, and folders are no more than parts of names
_MAGIC = re.compile(r"[*?\[]")
_PIECE = 1 << 22

Place = str | os.PathLike[str]


def is_url(place: Place) -> bool:
    """Whether something lies behind a URL, not in a file system of this machine."""
    text = os.fspath(place)
    return _URL.match(text) is not None and _FILE.match(text) is None


def is_commit(folder: Path) -> bool:
    """Whether a folder is a commit of a store: by its name, or by its manifest where somebody has renamed it."""
    if COMMIT_NAME.fullmatch(folder.name):
        return True
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(manifest, dict) and manifest.keys() >= {"format", "commit", "files"}


def plain_name(place: Place) -> str:
    """A path or URL as it was given; of a `file:` URL the path. InputError where it is empty."""
    text = os.fspath(place)
    if not text:  # which Path takes for the current folder
        raise InputError("The name of a file or folder is empty. Is a variable of the shell not set?")
    if _FILE.match(text) is None:
        return text
    found = _split(text)
    if found.netloc not in ("", "localhost"):
        raise InputError(f"{text} names the machine {found.netloc}: write file:///PATH.")
    return unquote(found.path)


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError as error:
        raise InputError(f"{url} is no URL: {error}.") from error


def child(place: Place, name: str) -> str:
    """The path or URL of something in a folder."""
    if not is_url(place):
        return os.path.join(place, name)
    address, mark, options = os.fspath(place).partition("?")
    name = name.replace("%", "%25").replace("?", "%3F").replace("#", "%23")
    return f"{address.rstrip('/')}/{name}{mark}{options}"


def last_part(place: Place) -> str:
    """The name that a path or URL ends with."""
    return Path(os.fspath(place).partition("?")[0] if is_url(place) else place).name


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A file or folder: its name below the folder that was listed, its size, and when it was written."""

    name: str
    size: int
    written: int  # nanoseconds; 0 where the file system does not say
    is_folder: bool


class Folder:
    """A folder behind a URL."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._system, self._root = _opened(url)

    def entries(self, below: str = "", recursive: bool = False) -> list[Entry]:
        """What it has; nothing where it is not there."""
        from pyarrow import fs

        root = self._at(below)
        with _errors(self.url):
            found = self._system.get_file_info(fs.FileSelector(root, allow_not_found=True, recursive=recursive))
        prefix = len(root.rstrip("/")) + 1
        return [
            Entry(
                name=info.path[prefix:],
                size=info.size or 0,
                written=info.mtime_ns or 0,
                is_folder=info.type == fs.FileType.Directory,
            )
            for info in found
        ]

    def read(self, name: str) -> bytes | None:
        """The content of a file; None where there is none."""
        try:
            with _errors(self.url), self._system.open_input_stream(self._at(name), compression=None) as stream:
                content: bytes = stream.read()
                return content
        except FileNotFoundError:
            return None

    def pieces(self, name: str) -> Iterator[bytes]:
        """The content of a file, some of it at a time. FileNotFoundError where there is none."""
        with _errors(self.url), self._system.open_input_stream(self._at(name), compression=None) as stream:
            while piece := stream.read(_PIECE):
                yield piece

    def write(self, name: str, content: bytes) -> None:
        """Write a file; where files are objects it is seen when it is whole, elsewhere perhaps before."""
        with self._writing(name) as out:
            out.write(content)

    def upload(self, path: Path, name: str) -> None:
        """A copy of a file of this machine."""
        with self._writing(name) as out, path.open("rb") as file:
            while piece := file.read(_PIECE):
                out.write(piece)

    @contextmanager
    def _writing(self, name: str) -> Iterator[Any]:
        target = self._at(name)
        with _errors(self.url):
            if self._system.type_name not in _OBJECTS:
                self._system.create_dir(target.rpartition("/")[0], recursive=True)
            with self._system.open_output_stream(target, compression=None) as out:
                yield out

    def move(self, name: str, target: str) -> None:
        """Give a file another name in this folder. Object stores copy it: none of its bytes pass through here."""
        with _errors(self.url):
            if self._system.type_name not in _OBJECTS:
                self._system.create_dir(self._at(target).rpartition("/")[0], recursive=True)
            self._system.move(self._at(name), self._at(target))

    def remove(self, name: str) -> None:
        """Remove a file."""
        with _errors(self.url):
            self._system.delete_file(self._at(name))

    def remove_folder(self, name: str) -> None:
        """Remove a folder and all that is in it, if it is there."""
        try:
            with _errors(self.url):
                self._system.delete_dir(self._at(name))
        except FileNotFoundError:
            return

    def _at(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}" if name else self._root


def open_input(place: Place) -> BufferedReader:
    """A file for reading anywhere in it. OSError where it cannot be opened."""
    return cast(BufferedReader, _opened_file(os.fspath(place))) if is_url(place) else open(place, "rb")


def arrow_input(place: Place) -> Any:
    """The same as Arrow's readers like it best: the path of a file of this machine, else an opened file."""
    return _opened_file(os.fspath(place)) if is_url(place) else os.fspath(place)


def _opened_file(url: str) -> pa.NativeFile:
    system, path = _opened(url)
    return system.open_input_file(path)


def size_of(place: Place) -> int:
    """The bytes of a file; OSError where there is none."""
    if not is_url(place):
        return os.stat(place).st_size
    with _opened_file(os.fspath(place)) as file:
        size: int = file.size()
        return size


def matching_files(url: str) -> list[str] | None:
    """The URLs of the files below a folder, or of those that a glob matches; None for a URL that is that of a file.

    What has a part of its name beginning with a dot is passed over. InputError where there is nothing.
    """
    from pyarrow import fs

    address, mark, options = url.partition("?")
    if "=" not in options:  # a ? of a glob, not the options of a file system
        address, mark, options = url, "", ""
    parts = address.split("/")
    first = next((k for k, part in enumerate(parts) if _MAGIC.search(part)), len(parts))
    root = "/".join(parts[:first]) + mark + options
    if first == len(parts):
        system, path = _opened(url)
        with _errors(url):
            info = system.get_file_info(path)
        if info.type == fs.FileType.NotFound:
            raise InputError(f"There is no file or folder {url}. Check the URL.")
        if info.type == fs.FileType.File:
            return None
    files = [entry.name for entry in Folder(root).entries(recursive=True) if not entry.is_folder]
    visible = [name for name in files if not any(part.startswith(".") for part in name.split("/"))]
    if first < len(parts):
        visible = [name for name in visible if _matches(name.split("/"), parts[first:])]
        if not visible:
            raise InputError(f"No file matches {url}.")
    return [child(root, name) for name in visible]


def _matches(parts: list[str], patterns: list[str]) -> bool:
    """Whether the parts of a name match those of a glob; `**` is any number of folders."""
    if not patterns:
        return not parts
    if patterns[0] == "**":
        return any(_matches(parts[k:], patterns[1:]) for k in range(len(parts) + 1))
    return bool(parts) and fnmatch.fnmatchcase(parts[0], patterns[0]) and _matches(parts[1:], patterns[1:])


def _opened(url: str) -> tuple[fs.FileSystem, str]:
    """(file system, path in it) of a URL; InputError where it cannot be had."""
    found = _split(url)
    if found.password is not None:
        raise InputError(
            f"{found.scheme}://…@{found.hostname}: a password in a URL would be kept with the results. Leave it out; "
            "set it in the environment, as AWS_SECRET_ACCESS_KEY."
        )
    base = f"{_SAME.get(found.scheme.lower(), found.scheme.lower())}://{found.netloc}"
    system, root = _file_system(base, found.query, _environment())
    path = unquote(found.path) if "%" in found.path else found.path
    if root.rstrip("/"):
        path = f"{root.rstrip('/')}/{path.lstrip('/')}"
    return system, path.rstrip("/") or "/"


def _environment() -> tuple[str | None, ...]:
    """What a file system is made of beside its URL: another one is made where it differs."""
    return tuple(os.environ.get(name) for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_PROFILE"))


@lru_cache(maxsize=16)
def _file_system(base: str, query: str, _: tuple[str | None, ...]) -> tuple[fs.FileSystem, str]:
    """(the file system of a scheme and host, the path that stands for its root)"""
    from pyarrow import fs

    url = f"{base}/?{query}" if query else f"{base}/"
    try:
        system, root = fs.FileSystem.from_uri(url)
        return system, root
    except pa.ArrowInvalid as error:
        if "Unrecognized filesystem type" not in str(error):
            raise InputError(f"Cannot open {base}: {_sentence(error)}") from error
    except OSError as error:
        hint = " Arrow needs JAVA_HOME, HADOOP_HOME and CLASSPATH to be set." if base.startswith("hdfs") else ""
        raise InputError(f"Cannot open {base}: {_sentence(error)}{hint}") from error
    return _by_fsspec(base)


def _by_fsspec(base: str) -> tuple[fs.FileSystem, str]:
    from pyarrow import fs

    scheme = base.partition(":")[0]
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise InputError(
            f"{base}: the scheme {scheme} is none of Arrow's (s3, gs, abfs, hdfs). "
            "For others: pip install 'rageval-batch[urls]'."
        ) from error
    try:
        system, root = url_to_fs(base)
    except (ImportError, ValueError, OSError) as error:
        raise InputError(f"Cannot open {base}: {_sentence(error)}") from error
    return fs.PyFileSystem(fs.FSSpecHandler(system)), str(root)


def _sentence(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".") + "."


@contextmanager
def _errors(url: str) -> Iterator[None]:
    """What Arrow says of a file system, as an OSError: some of it has other classes."""
    try:
        yield
    except pa.ArrowException as error:
        if isinstance(error, OSError):
            raise
        raise OSError(None, f"{url}: {_sentence(error)}") from error
