"""Results files whose parts have other types than expected, and files that are no files: one line each."""

import json
import os

import pytest

from lm_eval_stereoset.cli import main as stereoset

TASK = "stereoset_en"


def fails(capsys, *arguments) -> str:
    assert stereoset(["report", *map(str, arguments)]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    return line


def change(*keys, to):
    def damage(content):
        for key in keys[:-1]:
            content = content[key]
        content[keys[-1]] = to

    return damage


CONFIG = ("configs", TASK, "metadata", "provenance")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (change("results", to=[]), "results should be an object, is a list"),
        (change("configs", to="x"), "configs should be an object, is a text"),
        (change("results", TASK, to=[1]), f"results of {TASK} should be an object"),
        (change(*CONFIG, to=5), "its provenance should be an object"),
        (change(*CONFIG, "data", to={"a": 1}), "data should be a list, is an object"),
        (change(*CONFIG, "data", 0, to="x"), "data should be an object, is a text"),
        (change(*CONFIG, "data", 0, "split", to=["intra"]), "has the split ['intra']"),
        (change(*CONFIG, "data", 0, "language", to=7), "language should be a text, is a whole number"),
        (change(*CONFIG, "data", 0, "sha256", to=["0"]), "sha256 should be a text, is a list"),
        (change(*CONFIG, "data", 0, "examples", to="28"), "examples should be a whole number, is a text"),
        (
            change(*CONFIG, "data", 0, "examples", to=True),
            "examples should be a whole number, is true or false",
        ),
        (change("n-samples", to=[28]), "n-samples should be an object"),
        (change("n-samples", TASK, to=28), f"n-samples: {TASK} should be an object"),
        (change("group_subtasks", to=[1]), "group_subtasks should be an object"),
        (change("model_name", to={"a": "b"}), "model_name should be a text"),
        (change("results", TASK, "ss,none", to="50"), 'ss is not a number: "50"'),
        (change("results", TASK, "ss,none", to=[50]), "ss is not a number"),
        (change("results", TASK, "ss,none", to=5000), "ss must lie between 0 and 100, is 5000"),
        (change("results", TASK, "icat,none", to=-0.5), "icat must lie between 0 and 100"),
        (change("results", TASK, "lms,none", to=float("inf")), "lms must lie between 0 and 100"),
        (change("results", TASK, "lms,none", to=10**4000), "lms must lie between 0 and 100"),
        (change("results", TASK, "icat_stderr,none", to=-1), "icat_stderr must lie between 0 and 100"),
    ],
)
def test_parts_of_another_type_or_impossible_numbers_are_one_line(harness_folder, capsys, damage, message):
    folder = harness_folder.write("m", samples=False)
    path = next(folder.glob("results_*.json"))
    content = json.loads(path.read_text())
    damage(content)
    path.write_text(json.dumps(content))
    line = fails(capsys, folder)
    assert path.name in line
    assert message in line


def test_missing_and_null_parts_are_undefined_not_zero(harness_folder, report):
    folder = harness_folder.write("m", samples=False)
    path = next(folder.glob("results_*.json"))
    content = json.loads(path.read_text())
    del content["n-samples"]
    content["results"][TASK] |= {"ss,none": None, "ss_stderr,none": "N/A", "lms,none": float("nan")}
    del content["results"][TASK]["icat,none"]
    path.write_text(json.dumps(content))
    values = report(folder)["runs"][0]["values"]["overall"]["overall"]
    assert not {"ss", "lms", "icat"} & set(values)


@pytest.mark.parametrize(
    ("note", "message"),
    [
        ([], "should be an object, is a list"),
        ({"language": 3}, "language should be a text"),
        ({"language": "en", "data": 3}, "data should be a list"),
        ({"language": "en", "data": [{"split": {}}]}, "has the split {}"),
        ({"language": "en", "normaliser": [1]}, "normaliser should be a text"),
    ],
)
def test_notes_beside_scores_are_checked_too(tmp_path, capsys, note, message):
    (tmp_path / "m.json").write_text(json.dumps({"intra": {"overall": {"ss": 50.0}}}))
    (tmp_path / "m.about.json").write_text(json.dumps(note))
    assert message in fails(capsys, tmp_path / "m.json")


def test_blank_texts_in_a_note_say_nothing(tmp_path, report):
    (tmp_path / "m_en.json").write_text(json.dumps({"intra": {"overall": {"ss": 50.0}}}))
    (tmp_path / "m_en.about.json").write_text(
        json.dumps({"language": " ", "normaliser": "\u2028", "model": ""})
    )
    data = report(tmp_path / "m_en.json")
    assert (data["models"], data["runs"][0]["normaliser"]) == (["m"], None)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"ss": 500}, "ss must lie between 0 and 100"),
        ({"n": -3}, "n must lie between 0"),
        ({"ss_p50": 2}, "ss_p50 must lie between 0 and 1"),
        ({"lms": True}, "lms is not a number: true"),
        ([1], "should be an object, is a list"),
    ],
)
def test_impossible_scores_are_one_line(tmp_path, capsys, values, message):
    path = tmp_path / "m_en.json"
    path.write_text(json.dumps({"intra": {"overall": {"ss": 50}, "gender": values}}))
    assert message in fails(capsys, path)


def test_pipes_and_folders_in_a_folder_are_passed_over_and_pipes_as_arguments_refused(
    harness_folder, report, capsys, tmp_path
):
    folder = harness_folder.write("m")
    os.mkfifo(folder / "results_pipe.json")
    os.mkfifo(folder / "x.json")
    (folder / "folder.json").mkdir()
    (folder / "loop.json").symlink_to(folder / "loop.json")
    assert report(folder)["models"] == ["m"]
    capsys.readouterr()
    assert "pipe, socket or device" in fails(capsys, folder / "x.json")
    assert "pipe, socket or device" in fails(capsys, "/dev/zero")


def test_a_folder_that_cannot_be_read_is_not_passed_over(harness_folder, capsys, monkeypatch):
    """Its results would be missing without a word. Simulated: to the superuser every folder is open."""
    folder = harness_folder.write("m")
    closed = folder / "closed"
    closed.mkdir()
    scandir = os.scandir

    def refusing(path):
        if os.fspath(path) == str(closed):
            raise PermissionError(13, "Permission denied", str(closed))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    assert f"{closed}: cannot be read: Permission denied" in fails(capsys, harness_folder.root)


@pytest.mark.parametrize("name", ["x" * 5000, "x" * 300 + "=y", "a\x00b", ""])
def test_arguments_that_no_file_can_be_called(capsys, harness_folder, monkeypatch, name):
    monkeypatch.chdir(harness_folder.write("m").parent)  # where an empty name would find results
    assert stereoset(["report", name]) == 2
    assert "\n" not in capsys.readouterr().err.strip()


def test_an_output_that_no_file_can_be_called(harness_folder, capsys, tmp_path):
    folder = harness_folder.write()
    assert "File name too long" in fails(capsys, folder, "-o", tmp_path / ("x" * 300))


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"null", b"[" * 50_000, b'{"results": 1' + b"0" * 5000 + b"}", b'\xef\xbb\xbf{"a": 1}',
     "{}".encode("utf-16"), b'{"results": {}, "configs": {}}', b'{"results": null, "configs": null}', b'"\\ud800"'],
)  # fmt: skip
def test_files_that_are_no_results_are_one_line(tmp_path, capsys, content):
    (tmp_path / "results_1.json").write_bytes(content)
    assert "results_1.json" in fails(capsys, tmp_path)
    assert "results_1.json" in fails(capsys, tmp_path / "results_1.json")
