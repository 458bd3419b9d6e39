"""Folders that all nodes see, by path or URL: what tasks leave for other tasks and for the driver."""

from __future__ import annotations

import os
import secrets
import shutil
from pathlib import Path

from rageval_batch.dataclass import dataclass
from rageval_batch.locations import Folder, is_url
from rageval_batch.runs.file_system import sync


@dataclass(frozen=True)
class SharedFolder:
    """A folder by its path or URL. A file has its name only when it is whole, but for those of a file system behind a
    URL that is no object store: whoever reads it compares checksums."""

    place: str

    def create(self) -> None:
        """Have the folder; behind a URL it comes with its first file."""
        if not is_url(self.place):
            os.makedirs(self.place, exist_ok=True)

    def names(self) -> list[str]:
        """Of its files."""
        if is_url(self.place):
            return [entry.name for entry in Folder(self.place).entries() if not entry.is_folder]
        return os.listdir(self.place)

    def read(self, name: str) -> bytes | None:
        """The content of a file; None where there is none."""
        if is_url(self.place):
            return Folder(self.place).read(name)
        try:
            return Path(self.place, name).read_bytes()
        except FileNotFoundError:
            return None

    def write(self, name: str, *pieces: bytes) -> None:
        """Write a file; a second try of the same task does no harm."""
        if is_url(self.place):
            Folder(self.place).write(name, b"".join(pieces))
            return
        aside = Path(self.place, f".{name}-{secrets.token_hex(4)}")
        with aside.open("wb") as file:
            file.writelines(pieces)
        os.replace(aside, Path(self.place, name))

    def deliver(self, path: Path, name: str) -> None:
        """A copy of a file of this machine, on the disk when this returns."""
        if is_url(self.place):
            Folder(self.place).upload(path, name)
            return
        shutil.copyfile(path, Path(self.place, name))
        sync(Path(self.place, name))

    def local(self, name: str, folder: Path) -> Path:
        """The path of a file, which is fetched into a folder of this machine if it lies behind a URL."""
        if not is_url(self.place):
            return Path(self.place, name)
        target = folder / name
        with target.open("wb") as out:
            out.writelines(Folder(self.place).pieces(name))
        return target

    def clear(self) -> None:
        """Remove its files."""
        if is_url(self.place):
            Folder(self.place).remove_folder("")
            return
        for name in self.names():
            os.unlink(Path(self.place, name))
