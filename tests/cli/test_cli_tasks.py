"""`lm_eval … --include_path "$(stereoset tasks)"`."""

import json
from pathlib import Path

import pytest
from lm_eval.tasks import TaskManager

from lm_eval_stereoset.cli import main


def printed_folder(capsys) -> Path:
    assert main(["tasks"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    return Path(line)


def names_in(folder: Path) -> list[str]:
    return TaskManager(include_path=str(folder), include_defaults=False).all_tasks


def add_italian(folder: Path, example_line) -> None:
    for split in ("intra", "inter"):
        (folder / split).mkdir(parents=True)
        lines = "\n".join(json.dumps(example_line(i, split)) for i in range(8))
        (folder / split / "it.jsonl").write_text(lines)
    assert main(["data", "add", str(folder), "--language", "it"]) == 0


def test_an_editable_install_names_the_folder_of_the_project(capsys):
    folder = printed_folder(capsys)
    assert folder.resolve() == (Path(__file__).parents[2] / "tasks").resolve()
    assert {"stereoset_de", "genderswap_dev", "stereoset_chat_de"} <= set(names_in(folder))


@pytest.mark.parametrize("wheel", [False, True])
def test_added_languages_are_in_the_one_folder(capsys, example_line, tmp_path, monkeypatch, wheel, caplog):
    monkeypatch.setattr("lm_eval_stereoset.harness.paths.known_to_the_harness", lambda: wheel)
    add_italian(tmp_path / "mine", example_line)
    capsys.readouterr()
    names = names_in(printed_folder(capsys))
    assert {"stereoset_it", "stereoset_intra_it", "stereoset_chat_it"} <= set(names)
    assert ("stereoset_de" in names) == (not wheel), "what lm_eval has is not there a second time"
    assert "Duplicate" not in caplog.text
    loaded = TaskManager(include_path=str(printed_folder(capsys)), include_defaults=False).load(
        "stereoset_it"
    )
    assert len(loaded["tasks"]["stereoset_it"].eval_docs) == 16


def test_what_is_gone_is_removed_from_the_folder(capsys, example_line, tmp_path, own_data_folder):
    add_italian(tmp_path / "mine", example_line)
    capsys.readouterr()
    folder = printed_folder(capsys)
    (folder / "stereoset" / "old.yaml").write_text("task: old\n")
    assert "old" in names_in(folder)
    assert "old" not in names_in(printed_folder(capsys))
