"""Which files a user means, and their bytes: names, folders, globs and stdin in, opened streams and hashes out."""

from __future__ import annotations

import codecs
import glob
import hashlib
import os
import shutil
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, field, replace
from pathlib import Path
from typing import Any, BinaryIO, cast
from urllib.parse import unquote

import pyarrow as pa

from rageval_batch.dataclass import dataclass
from rageval_batch.errors import InputError
from rageval_batch.inputs.file_hashes import Stamps, file_hash
from rageval_batch.inputs.folders import Spellings, glob_root, outside_commits, url_in_commit, visible_files
from rageval_batch.inputs.frames import as_table, canonical_json
from rageval_batch.inputs.reading import Reading
from rageval_batch.inputs.recognise import HEAD, recognise_delimiter, recognise_encoding, recognise_mark
from rageval_batch.locations import (
    arrow_input,
    child,
    is_url,
    last_part,
    matching_files,
    open_input,
    plain_name,
    size_of,
)

FORMATS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".parquet": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".xlsx": "xlsx",
    ".eval": "samples",  # the archives that inspect writes
    ".arrow": "arrow",
    ".feather": "arrow",
    ".run": "trec_run",
    ".trec": "trec_run",
    ".qrels": "qrels",
}
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
STREAMED = ("jsonl", "json", "csv", "trec_run", "qrels")  # the formats whose reader can take a compressed stream
STDIN = "-"
_PIECE = 1 << 22
_LEFT_FREE = 1 << 30  # bytes of the disk that stdin may not take
_MOST_EXPANDED = 250  # times its size that a compressed file may grow to
_SMALL = 256 << 20  # bytes that any may
_LONGEST_MARK = 4  # bytes of a byte order mark

_PASSED_OVER = " Files of commits of a store are passed over."


@dataclass(frozen=True)
class Source:
    """An input file: how it is called in messages and records, where its bytes are, and how to read them."""

    name: str
    path: Path
    format: str
    _: KW_ONLY
    compression: str | None
    stem: str
    size: int = -1
    sha256: str = ""
    modified: int = -1  # when a file of this machine was changed before it was hashed, in ns; -1: not known
    stamps: Stamps | None = None  # that it keeps for as long as it has this hash; null: not known
    table: pa.Table | None = None  # a frame given in memory in place of a file
    members: tuple[str, ...] = ()  # of a folder that is one source: its files, each a row
    reading: Reading = field(default_factory=Reading)
    url: str = ""  # where it lies, if that is no path of this machine

    @property
    def place(self) -> str:
        """The path or URL of its bytes."""
        return self.url or str(self.path)

    @property
    def run(self) -> str:
        """The run of rows that name none."""
        return self.reading.run_id or self.stem

    def open(self) -> BinaryIO:
        """The decompressed bytes as a stream of UTF-8."""
        try:
            stream = self._decompressed()
        except (OSError, pa.ArrowInvalid) as error:
            raise unreadable(self.name, error) from error
        if self.reading.encoding:
            stream = pa.transcoding_input_stream(stream, self.reading.encoding, "utf-8")
        if self.compression:
            return cast(BinaryIO, _Expanded(self.name, stream, size_of(self.place)))
        return cast(BinaryIO, stream)

    def _decompressed(self) -> pa.NativeFile:
        """The bytes of the file; Arrow's own reader of gzip refuses the zeros that tapes and block devices pad with."""
        if self.compression != "gzip":
            return pa.input_stream(arrow_input(self.place), compression=self.compression)
        import gzip

        return pa.PythonFile(gzip.open(arrow_input(self.place)), mode="r")

    def open_bytes(self) -> BinaryIO:
        """The decompressed bytes as they are in the file, whatever their encoding."""
        return replace(self, reading=replace(self.reading, encoding="")).open()

    def with_hash(self) -> Source:
        """The same source with its size and SHA-256; a frame is measured by its canonical JSON, a source only once."""
        if self.sha256:
            return self
        if self.table is not None:
            content = canonical_json(self.table)
            return replace(self, size=len(content), sha256=hashlib.sha256(content).hexdigest())
        if self.members:
            return self._measured_members()
        try:
            if not self.url:
                digest, size, modified, stamps = file_hash(str(self.path))
                return replace(self, size=size, sha256=digest, modified=modified, stamps=stamps)
            with open_input(self.url) as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
            return replace(self, size=size_of(self.url), sha256=digest)
        except OSError as error:
            raise unreadable(self.name, error) from error

    def has_changed(self) -> bool:
        """Whether a file of this machine has other bytes than it was hashed with; one that is as old and as large as
        then has not, and of what lies elsewhere nothing is known."""
        if self.modified < 0:
            return False
        try:
            found = os.stat(self.path)
            if (found.st_mtime_ns, found.st_size) == (self.modified, self.size):
                return False
            return replace(self, sha256="").with_hash().sha256 != self.sha256
        except (OSError, InputError):
            return True

    def member_place(self, member: str) -> str:
        """The path or URL of a file of a folder."""
        return child(self.url or self.path, member)

    def _measured_members(self) -> Source:
        """Of a folder: the sizes of its files, and the hash of their names and hashes."""
        digest, size = hashlib.sha256(), 0
        for member in self.members:
            try:
                with open_input(self.member_place(member)) as file:
                    content = file.read()
            except OSError as error:
                raise unreadable(self.member_place(member), error) from error
            size += len(content)
            digest.update(os.fsencode(member) + b"\0" + hashlib.sha256(content).digest())
        return replace(self, size=size, sha256=digest.hexdigest())


class _Expanded:
    """A decompressed stream that ends with an InputError where it grows beyond all measure."""

    def __init__(self, name: str, stream: Any, packed: int) -> None:
        self._name, self._stream, self._read = name, stream, 0
        self._most = max(_SMALL, _MOST_EXPANDED * packed)

    def __enter__(self) -> _Expanded:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def read(self, size: int | None = None) -> bytes:
        """So many bytes, or all, but for those of a file that is refused."""
        if size is None:
            return b"".join(iter(lambda: self.read(_PIECE), b""))
        with _damage_as_os_error():
            piece: bytes = self._stream.read(size)
        self._check(len(piece))
        return piece

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer; how many bytes that were."""
        with _damage_as_os_error():
            count = int(self._stream.readinto(buffer))
        self._check(count)
        return count

    def _check(self, count: int) -> None:
        self._read += count
        if self._read > self._most:
            raise _too_much_growth(self._name)


@contextmanager
def _damage_as_os_error() -> Iterator[None]:
    """What Python's reader of gzip says of a damaged file, as the error that every reader of files expects."""
    try:
        yield
    except EOFError as error:
        raise OSError(None, "the compressed stream is cut off") from error
    except zlib.error as error:
        raise OSError(None, f"the compressed stream is damaged ({error})") from error


def _too_much_growth(name: str) -> InputError:
    return InputError(
        f"{name} grows to more than {_MOST_EXPANDED} times its size when it is decompressed. "
        "If that is right, give it without compression."
    )


def check_growth(file: Source, size: int) -> None:
    """InputError where what a file says to hold is beyond all measure for its size on disk."""
    if size > max(_SMALL, _MOST_EXPANDED * size_of(file.place)):
        raise _too_much_growth(file.name)


def frame_source(frame: Any, name: str) -> Source:
    """A Polars, Arrow or pandas frame as a source."""
    return Source(name, Path(), "frame", compression=None, stem=name, table=as_table(frame, name))


def unreadable(name: str, error: Exception) -> InputError:
    """The error for a file that cannot be read, whatever the reader called it."""
    if isinstance(error, IsADirectoryError):
        return InputError(f"{name} is a folder. Give a file.")
    reason = getattr(error, "strerror", None) or str(error).splitlines()[0].rstrip(".")
    return InputError(f"Cannot read {name}: {reason}. Check that the file is whole and what its name says.")


def source(name: str | os.PathLike[str], at: Path | None = None) -> Source:
    """The file of that name as a source, or a copy of it that lies elsewhere; InputError where it is not there."""
    url = os.fspath(name) if is_url(name) and at is None else ""
    shown = os.fspath(name) if is_url(name) else str(Path(name))
    place = Path() if url else at or Path(name)
    if not place.exists():
        raise InputError(f"There is no file {shown}. Check the path; folders, globs and - for stdin work too.")
    if not (place.is_file() or place.is_dir()):  # it is read twice, and may have no end
        raise InputError(f"{shown} is a pipe or device. Write what it gives into a file, or give - for stdin.")
    stem, compression = last_part(name), None
    for suffix, kind in COMPRESSIONS.items():
        if stem.endswith(suffix):
            stem, compression = stem[: -len(suffix)], kind
    base, dot = os.path.splitext(stem)
    if dot.lower() not in FORMATS:
        raise InputError(f"Cannot tell the format of {shown}. Known endings: {_endings()}.")
    kind = FORMATS[dot.lower()]
    if compression and kind not in STREAMED:
        raise InputError(f"{shown}: a compressed {kind} file cannot be read. Decompress it first.")
    return recognised(Source(shown, place, kind, compression=compression, stem=base, url=url))


def recognised(file: Source, encoding: str = "") -> Source:
    """A text file that knows its encoding, the one that is said or the one that its first bytes show, and of CSV the
    delimiter."""
    if file.format not in STREAMED or not (file.url or file.path.is_file()):
        return file
    is_csv = file.format == "csv"
    head = _head(file, HEAD if is_csv else _LONGEST_MARK)
    guessed = False
    if not encoding:
        encoding, guessed = recognise_encoding(head) if is_csv else (recognise_mark(head), False)
    delimiter = recognise_delimiter(head, encoding, len(head) == HEAD) if is_csv else ","
    reading = replace(
        file.reading, encoding=encoding, encoding_guessed=guessed, delimiter="" if delimiter == "," else delimiter
    )
    return replace(file, reading=reading)


def guesses(files: Iterable[Source]) -> list[str]:
    """What a user should know about encodings that were guessed."""
    return [
        f"{file.name} is not UTF-8: read as {file.reading.encoding}, which is a guess. --encoding decides."
        for file in files
        if file.reading.encoding_guessed
    ]


def _head(file: Source, size: int) -> bytes:
    try:
        with file.open_bytes() as stream:
            return stream.read(size)
    except (OSError, pa.ArrowInvalid) as error:
        raise unreadable(file.name, error) from error


def with_encoding(file: Source, encoding: str) -> Source:
    """The file in an encoding that a user names; InputError where there is none of that name."""
    try:
        b" ".decode(encoding, "ignore")  # Python has codecs that are no encodings of text, such as base64
        name = codecs.lookup(encoding).name
    except (LookupError, ValueError) as error:
        raise InputError(f"There is no encoding '{encoding}'. Try utf-8, utf-16, cp1252, cp1251, gb18030.") from error
    said = recognised(file, "" if name in ("utf-8", "ascii") else name)
    if name in ("utf-8", "ascii"):
        return replace(said, reading=replace(said.reading, encoding="", encoding_guessed=False))
    return said


def with_row_limit(file: Source, most: int) -> Source:
    """The file with a limit on the bytes of a row."""
    return replace(file, reading=replace(file.reading, max_row_bytes=most))


def any_file(name: str) -> Source:
    """A file of any kind, for its hash only."""
    path = Path(name)
    if not path.is_file():
        raise InputError(f"There is no file {name}. Check the path.")
    return Source(name, path, "any", compression=None, stem=path.stem)


def recorded(name: str, path: Path, size: int, *, sha256: str) -> Source:
    """A file that was measured when it was there, for its hash only."""
    return Source(name, path, "any", compression=None, stem=path.stem, size=size, sha256=sha256)


def _endings() -> str:
    return f"{', '.join(FORMATS)}; {', '.join(STREAMED)} also with {' or '.join(COMPRESSIONS)}"


def _has_known_ending(path: Path) -> bool:
    name = path.name
    for suffix in COMPRESSIONS:
        name = name.removesuffix(suffix)
    return os.path.splitext(name)[1].lower() in FORMATS


def _expanded(name: str) -> Sequence[str | Path]:
    path = Path(name)
    if path.is_dir():
        files = [found for found in visible_files(path) if _has_known_ending(found)]
        if not files:
            raise InputError(
                f"The folder {name} has no file that can be read. Known endings: {_endings()}.{_PASSED_OVER}"
            )
        return files
    if not path.exists() and glob.has_magic(name):
        found = [Path(match) for match in glob.glob(name, recursive=True) if Path(match).is_file()]
        kept = outside_commits(found, glob_root(name))
        if not kept:
            raise InputError(f"No file matches {name}.{_PASSED_OVER if found else ''}")
        return kept
    return [path]


def _expanded_url(url: str) -> Sequence[str | Path]:
    try:
        found = matching_files(url)
    except OSError as error:
        raise unreadable(url, error) from error
    if found is None:
        return [url]
    known = [one for one in found if _has_known_ending(Path(last_part(one))) and not url_in_commit(one, url)]
    if not known:
        raise InputError(f"{url} has no file that can be read. Known endings: {_endings()}.{_PASSED_OVER}")
    return known


def _member_of(place: str | Path, given: str) -> tuple[str | Path, str]:
    """(folder, file in it): the folder is the one that was given, else the one that the file lies in."""
    if isinstance(place, Path):
        root = Path(given) if Path(given).is_dir() else place.parent
        return root, place.relative_to(root).as_posix()
    address, mark, options = place.partition("?")
    folder = given.partition("?")[0].rstrip("/")
    if not address.startswith(f"{folder}/"):
        folder = address.rpartition("/")[0]
    return f"{folder}{mark}{options}", unquote(address[len(folder) + 1 :])


def sources(names: Iterable[str | os.PathLike[str]], whole_json: bool = False) -> list[Source]:
    """All files that names, folders and globs stand for, once each, ordered by path whatever the order given.

    `whole_json`: each .json file is a row, and those of one folder are one source.
    """
    paths, roots = Spellings(), Spellings()
    members: dict[str, set[str]] = {}
    for name in map(plain_name, names):
        for place in _expanded_url(name) if is_url(name) else _expanded(name):
            if whole_json and last_part(place).lower().endswith(".json"):
                root, member = _member_of(place, name)
                members.setdefault(roots.add(root), set()).add(member)
            else:
                paths.add(place)
    found = [source(path) for path in paths.shortest.values()]
    found += [members_source(root, sorted(members[key])) for key, root in roots.shortest.items()]
    return sorted(found, key=lambda file: file.name)


def members_source(root: str | Path, files: list[str]) -> Source:
    """Files of a folder as one source, a row each; the run is called like the folder."""
    if is_url(root):
        url, stem = os.fspath(root), last_part(root) or "outputs"
        return Source(url, Path(), "texts", compression=None, stem=stem, members=tuple(files), url=url)
    root = Path(root)
    for file in files:
        if not (root / file).is_file():
            raise InputError(f"There is no file {root / file}. Check the path; folders and globs work too.")
    return Source(
        str(root), root, "texts", compression=None, stem=root.resolve().name or "outputs", members=tuple(files)
    )


def json_members(root: str | Path) -> list[str]:
    """The .json files below a folder, as names inside it."""
    if is_url(root):
        urls = matching_files(os.fspath(root)) or []
        return sorted(_member_of(url, os.fspath(root))[1] for url in urls if last_part(url).lower().endswith(".json"))
    root = Path(root)
    found = (path for path in visible_files(root) if path.name.lower().endswith(".json"))
    return sorted(path.relative_to(root).as_posix() for path in found)


def shown_name(name: str) -> str:
    """A file's name as text; bytes that are not UTF-8 as escapes."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


@contextmanager
def opened(names: Iterable[str], whole_json: bool = False) -> Iterator[list[Source]]:
    """The sources of a command line; stdin is JSONL and lies in a temporary file while they are used."""
    file_names = [name for name in names if name != STDIN]
    if STDIN not in names:
        yield sources(file_names, whole_json)
        return
    import tempfile

    with tempfile.TemporaryDirectory(prefix="rageval-") as folder:
        spool = Path(folder) / "stdin.jsonl"
        with spool.open("wb") as out:
            _copy_stdin(out, shutil.disk_usage(folder).free)
        yield [Source("stdin", spool, "jsonl", compression=None, stem="stdin"), *sources(file_names, whole_json)]


def _copy_stdin(out: BinaryIO, free: int) -> None:
    """Write stdin to a file; InputError where it leaves too little of the disk to others, as one without end does."""
    most, size = free - min(_LEFT_FREE, free // 2), 0
    while piece := sys.stdin.buffer.read(_PIECE):
        size += len(piece)
        if size > most:
            raise InputError(
                f"stdin has more than {most / 1e9:,.1f} GB, for which the folder of temporary files has no room. "
                "Write it into a file and name that, or set TMPDIR."
            )
        out.write(piece)


@dataclass(frozen=True)
class ContentHash:
    """Hashes of what several files say, compressed or not, in whatever order they were given."""

    sha256: str
    sha1: str


def content_hash(files: list[Source]) -> ContentHash:
    """Of one file its decompressed bytes; of several their sorted hex digests joined by newline."""
    digests = [(hashlib.sha256(), hashlib.sha1()) for _ in files]
    for file, pair in zip(files, digests, strict=True):
        if file.table is not None:
            for digest in pair:
                digest.update(canonical_json(file.table))
            continue
        with file.open_bytes() as stream:
            try:
                while piece := stream.read(_PIECE):
                    for digest in pair:
                        digest.update(piece)
            except (OSError, pa.ArrowInvalid) as error:
                raise unreadable(file.name, error) from error
    if len(files) == 1:
        return ContentHash(digests[0][0].hexdigest(), digests[0][1].hexdigest())
    joined = ["\n".join(sorted(pair[k].hexdigest() for pair in digests)).encode() for k in range(2)]
    return ContentHash(hashlib.sha256(joined[0]).hexdigest(), hashlib.sha1(joined[1]).hexdigest())
