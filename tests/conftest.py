"""Two Hypothesis profiles: `repeatable` for `make test`, the same examples on every machine; `soak` for `make soak`,
ten times as many as a test says, new ones each time. Neither has deadlines."""

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from playwright.sync_api import Page

with warnings.catch_warnings():
    # Their sources predate today's rules for escapes and open files; the oracles load them without ceremony.
    warnings.simplefilter("ignore")
    import jieba  # noqa: F401
    import zhconv

    zhconv.convert("門", "zh-hans")

pytest_plugins = ("support.cluster_fixtures",)

settings.register_profile(
    "repeatable",
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=25,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile(
    "soak", parent=settings.get_profile("repeatable"), derandomize=False, max_examples=1_000, print_blob=True
)
settings.load_profile("repeatable")


@pytest.fixture(autouse=True)
def packaged_profiles() -> Iterator[None]:
    """Profiles that a test loads from elsewhere are forgotten after it."""
    from support.registered import profiles_forgotten

    with profiles_forgotten():
        yield


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--screenshots FOLDER`: browser tests put pictures of what they see there (`make screenshots`)."""
    parser.addoption("--screenshots", type=Path, help="folder for the pictures of the README")


@pytest.fixture
def keep_screenshot(request: pytest.FixtureRequest) -> Callable[["Page", str], None]:
    """A function that keeps a picture of what a page shows, where `--screenshots` asks for it."""
    folder: Path | None = request.config.getoption("screenshots")

    def keep(page: "Page", name: str) -> None:
        if folder is not None:
            page.screenshot(path=folder / f"{name}.png")

    return keep


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests marked `soak` run only under the Hypothesis profile of that name; the longest tests begin first."""
    items.sort(key=lambda item: not any(map(item.get_closest_marker, ("wheel", "xdist_group"))))
    if config.getoption("hypothesis_profile") == "soak":
        return
    long = [item for item in items if item.get_closest_marker("soak")]
    config.hook.pytest_deselected(items=long)
    items[:] = [item for item in items if item not in long]
