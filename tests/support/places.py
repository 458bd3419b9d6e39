"""Where the files of the tests are."""

from pathlib import Path

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
CASES_FOLDER = TESTS / "cases"
SAMPLES_FOLDER = ROOT / "data_samples"
