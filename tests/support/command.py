"""The command line, called in this process."""

import pytest

from rageval_batch.cli import main


def run_command(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    """(exit code, stdout, stderr) of `rageval` with these words; only exit code 70 may come with a traceback."""
    with pytest.raises(SystemExit) as stopped:
        main([str(word) for word in words])
    out, err = capsys.readouterr()
    code = int(stopped.value.code or 0)
    assert code == 70 or "Traceback" not in err
    return code, out, err
