import sys
from pathlib import Path

import pytest

from lm_eval_stereoset.cli import main

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def typed(capsys):
    """Types a command; gives exit code, standard output and standard error."""

    def run(*arguments) -> tuple[int, str, str]:
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture(scope="session")
def published(clone) -> Path:
    return clone / "results" / "predictions"
