import subprocess
import sys

import pytest

from lm_eval_stereoset import __version__
from lm_eval_stereoset.cli import COMMANDS, guarded, main
from lm_eval_stereoset.errors import UserError


def test_help_lists_every_command(capsys):
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(f"\n  {name}" in out for name in COMMANDS)


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "run"])
def test_every_command_has_a_help_without_heavy_imports(name):
    """--help answers at once: neither torch nor transformers nor the harness is imported for it."""
    code = (
        "import sys; from lm_eval_stereoset.cli import main\n"
        f"try: main([{name!r}, '--help'])\n"
        "except SystemExit as stop: assert not stop.code\n"
        "heavy = {'torch', 'transformers', 'lm_eval', 'datasets', 'pandas', 'boto3', 'matplotlib'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert f"usage: stereoset {name}" in result.stdout


def test_python_m_is_the_same_command():
    command = [sys.executable, "-m", "lm_eval_stereoset", "--version"]
    assert (
        subprocess.run(command, capture_output=True, text=True, check=True).stdout
        == f"stereoset {__version__}\n"
    )


def test_an_unknown_command_is_one_line_and_exit_code_2(capsys):
    assert main(["evaluate"]) == 2
    assert capsys.readouterr().err == (
        f"stereoset: no command 'evaluate'; the commands are {', '.join(COMMANDS)}\n"
    )


def test_a_users_mistake_is_one_line_without_traceback(capsys):
    def mistake():
        raise UserError("something\n  is wrong")

    assert guarded("stereoset x", mistake) == 2
    assert capsys.readouterr().err == "stereoset x: something is wrong\n"


def test_our_own_mistakes_keep_their_traceback():
    with pytest.raises(ZeroDivisionError):
        guarded("stereoset x", lambda: 1 / 0)
