"""Write docs/profiles/NAME.md of every packaged profile: what `rageval profiles NAME --format md` prints."""

from pathlib import Path

from rageval_batch.profiles.registry import PROFILES
from rageval_batch.report.describe import describe

FOLDER = Path(__file__).parent / "profiles"


def pages() -> dict[Path, str]:
    """The content of every page."""
    return {FOLDER / f"{name}.md": describe(profile, "md") + "\n" for name, profile in PROFILES.items()}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for path, content in pages().items():
        path.write_text(content, encoding="utf-8")
