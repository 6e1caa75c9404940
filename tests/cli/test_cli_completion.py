"""Completion as a shell asks for it: `stereoset` is run with the line so far, and answers on descriptor 8."""

import os
import subprocess
import sys

import pytest

from lm_eval_stereoset.cli import COMMANDS, main

BREAKS = " \t\n\"'><=;|&(:"  # of bash: it completes what comes after the last of them


def complete(line: str, folder) -> list[str]:
    """What bash would offer after `line`."""
    protocol = {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_IFS": "\013", "_ARGCOMPLETE_COMP_WORDBREAKS": BREAKS}
    typed = {"COMP_LINE": line, "COMP_POINT": str(len(line.encode())), "COMP_TYPE": "9"}
    program = f'"{sys.executable}" -c "from lm_eval_stereoset.cli import main; main()"'
    done = subprocess.run(
        ["bash", "-c", f"{program} 8>&1 9>/dev/null 1>/dev/null"],
        env=os.environ | protocol | typed,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [word.strip() for word in done.stdout.split("\013") if word.strip()]


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("stereoset r", ["run", "report"]),
        ("stereoset run --full", ["--full-table"]),
        ("stereoset run --tas", ["--tasks"]),
        ("stereoset run --tasks stereoset_intra_d", ["stereoset_intra_de"]),
        ("stereoset run --tasks stereoset_de,stereoset_inter_t", ["stereoset_de,stereoset_inter_tr"]),
        ("stereoset run --model s", ["stereoset-hf"]),
        ("stereoset run --metadata data=s", ["sample"]),
        ("stereoset predict gpt2 --language de", ["de"]),
        ("stereoset data f", ["fetch"]),
        ("stereoset translate rev", ["review"]),
        ("stereoset nsp train --preset t5-d", ["t5-de"]),
        ("stereoset completion z", ["zsh"]),
    ],
)
def test_the_shell_is_offered(tmp_path, line, offered):
    assert complete(line, tmp_path) == offered


def test_every_verb_is_offered(tmp_path):
    assert set(COMMANDS) <= set(complete("stereoset ", tmp_path))


def test_own_languages_and_their_tasks_are_offered(tmp_path, own_data_folder):
    (own_data_folder / "inter").mkdir(parents=True)
    (own_data_folder / "inter" / "qq.jsonl").write_text("{}\n")
    assert complete("stereoset score p.json --language q", tmp_path) == ["qq"]
    assert complete("stereoset run --tasks stereoset_inter_q", tmp_path) == ["stereoset_inter_qq"]


def test_bash_itself_completes_after_the_line_from_the_documentation(tmp_path):
    """Sources what `completion bash` prints, and calls the function that bash would call on TAB."""
    (tmp_path / "stereoset").write_text(
        f'#!/bin/sh\nexec "{sys.executable}" -c "from lm_eval_stereoset.cli import main; main()" "$@"\n'
    )
    (tmp_path / "stereoset").chmod(0o755)
    script = """
    eval "$(stereoset completion bash)"
    function=$(complete -p stereoset | sed 's/.*-F \\([^ ]*\\).*/\\1/')
    COMP_WORDS=(stereoset run --tasks stereoset_inter_f) COMP_CWORD=3
    COMP_LINE="${COMP_WORDS[*]}" COMP_POINT=${#COMP_LINE} COMP_TYPE=9
    $function stereoset stereoset_inter_f --tasks
    echo "${COMPREPLY[@]}"
    """
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "--norc", "-c", script],
        env=os.environ | {"PATH": path},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["stereoset_inter_fr"], done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_each_shell_gets_a_script_of_its_own(capsys, shell):
    main(["completion", shell])
    assert "stereoset" in capsys.readouterr().out
