"""The last step: data set and tasks, which the harness then evaluates; and the way from start to end."""

import json
import os
import subprocess
import sys

import pytest
from stereoset_translation.folder import Folder
from stereoset_translation.source import assemble, strings_of
from translation_examples import english_examples
from translation_stand_in import pseudo

from lm_eval_stereoset.benchmarks.stereoset.declared import BENCHMARK as STEREOSET
from lm_eval_stereoset.benchmarks.stereoset.example import read_examples
from lm_eval_stereoset.data import store
from lm_eval_stereoset.files import write_examples


@pytest.fixture
def built(amazon, translate, english, tmp_path):
    """From nothing to tasks in two commands."""
    options = ("--to", "it", "--data", english, "--dir", tmp_path / "it")
    code, out, err = translate("all", *options, "--backend", "aws")
    assert (code, err) == (0, "")
    assert "left for a person: 0 examples" in out
    code, out, _ = translate("build", *options)
    assert code == 0
    return out


def test_built_data_is_the_strict_format_with_english_classes(built, tmp_path):
    for split, sources in english_examples().items():
        examples = read_examples(tmp_path / "data" / split / "it.jsonl", split)
        assert examples == [assemble(e, {t: pseudo(t, True) for t in strings_of(e)}) for e in sources]
        assert [e.target_original for e in examples] == [e.target for e in sources]
        assert store.load(STEREOSET, split, "it").provenance.source == "translated in it"


def test_built_tasks_run_in_the_harness(built, tmp_path):
    assert "tasks: stereoset_intra_it, stereoset_inter_it, stereoset_it" in built
    code = "import sys; from lm_eval_stereoset.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [
        sys.executable, "-c", code, "run", "--model", "dummy", "--tasks", "stereoset_intra_it",
        "--output_path", str(tmp_path / "results"), "--log_samples",
    ]  # fmt: skip
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    (results,) = (tmp_path / "results").rglob("results_*.json")
    content = json.loads(results.read_text(encoding="utf-8"))
    assert content["n-samples"]["stereoset_intra_it"]["effective"] == 16


def test_part_of_the_data_is_told_and_named_in_every_result(amazon, translate, english, tmp_path):
    options = ("--to", "it", "--data", english, "--dir", tmp_path / "it")
    assert translate("all", *options, "--backend", "aws", "--limit", 3)[0] == 0
    code, _, err = translate("build", *options[:2], *options[4:])  # the English data need not be named again
    assert code == 0
    assert "warning: intra/it is partial: 3 of 16 English examples" in err
    assert "warning: inter/it is partial: 3 of 16 English examples" in err
    assert store.load(STEREOSET, "intra", "it").provenance.version == "partial 3 of 16"
    assert store.load(STEREOSET, "intra", "it").describe()["version"] == "partial 3 of 16"
    assert translate("all", *options, "--backend", "aws")[0] == 0
    code, _, err = translate("build", *options)
    assert (code, err) == (0, "")
    assert store.load(STEREOSET, "intra", "it").provenance.version.startswith("sha256:")


def test_dropped_examples_do_not_make_a_data_set_partial(amazon, translate, english, tmp_path):
    options = ("--to", "it", "--data", english, "--dir", tmp_path / "it")
    translate("all", *options, "--backend", "aws")
    for path in (tmp_path / "it").glob("r*/inter/it.jsonl"):  # one in raw, another in repaired
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        place = 2 if "raw" in str(path) else 5
        path.write_text("".join(lines[:place] + lines[place + 1 :]), encoding="utf-8")
    translate("repair", *options)
    code, out, err = translate("build", *options)
    assert code == 0
    assert "inter/it: 14 examples" in out
    assert "partial" not in out + err


def test_part_of_foreign_data_is_found_by_comparing_with_english(translate, english, tmp_path):
    mine = Folder(tmp_path / "mine" / "x", "it")
    write_examples(mine.file("inter"), english_examples()["inter"][:5])
    command = ("build", "--to", "it", "--input", mine.path)
    assert "inter: not compared with the English data" in translate(*command)[1]
    code, _, err = translate(*command, "--data", english)
    assert code == 0
    assert "partial: 5 of 16 English examples" in err


def test_built_in_language_needs_another_name(translate, shared, tmp_path):
    data = shared / "translation"
    options = ("--language", "de", "--dir", tmp_path / "de")
    fixes = ("--manual-fixes", data / "manual_fixes")
    assert translate("repair", *options, "--input", data / "raw_translations", *fixes)[0] == 0
    code, _, err = translate("build", *options)
    assert (code, "built in" in err) == (2, True)
    code, out, _ = translate("build", *options, "--as", "de_mine")
    assert code == 0
    assert "intra/de_mine: 2103 examples" in out
    assert "partial" not in store.load(STEREOSET, "intra", "de_mine").provenance.version
    assert "inter/de_mine: 2123 examples" in out


def test_without_the_sheets_german_is_not_built_with_lost_blanks(translate, shared, tmp_path):
    options = ("--language", "de", "--dir", tmp_path / "de")
    translate("repair", *options, "--input", shared / "translation" / "raw_translations")
    code, _, err = translate("build", *options, "--as", "de_mine")
    assert code == 2
    assert "14 examples may not get into a data set" in err
    code, out, _ = translate("build", *options, "--as", "de_mine", "--drop-unresolved")
    assert code == 0
    assert "intra/de_mine: 2092 examples" in out


def test_any_folder_in_the_format_can_be_reviewed(translate, english, tmp_path):
    mine = Folder(tmp_path / "mine", "it")
    for split, examples in english_examples().items():
        write_examples(mine.file(split), examples)
    code, out, _ = translate(
        "review",
        "--to",
        "it",
        "--data",
        english,
        "--input",
        tmp_path / "mine",
        "--output",
        tmp_path / "r.csv",
    )
    assert code == 0
    assert "32 examples for a person" in out  # every one is still English


def test_steps_without_their_input_say_what_to_run_first(translate, tmp_path):
    for step in ("repair", "check", "review", "build"):
        code, _, err = translate(step, "--to", "it", "--dir", tmp_path / "nothing")
        assert code == 2
        assert "stereoset translate run" in err


def test_help_of_every_step_needs_no_heavy_library():
    code = (
        "import sys\nfrom stereoset_translation.cli import make_parser\nmake_parser().format_help()\n"
        "heavy = {'torch', 'transformers', 'boto3', 'openpyxl', 'matplotlib', 'pandas', 'numpy'} & set(sys.modules)\n"
        "sys.exit(', '.join(heavy) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_third_backend_is_one_file(translate, english, tmp_path, monkeypatch):
    from stereoset_translation import backends

    folder = tmp_path / "more"
    folder.mkdir()
    (folder / "shout.py").write_text(
        "from stereoset_translation.backends import Backend\n"
        "PRICE = None\n"
        "def add_options(group): group.add_argument('--loud', action='store_true')\n"
        "def create(args, source, target): return Shout()\n"
        "class Shout(Backend):\n"
        "    identity = 'shout'\n"
        "    batch_size = 4\n"
        "    def translate(self, texts): return [t.upper() for t in texts]\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(backends, "__path__", [*backends.__path__, str(folder)])
    options = ("--to", "it", "--data", english, "--dir", tmp_path / "it")
    assert translate("run", *options, "--backend", "shout", "--loud")[0] == 0
    raw = Folder(tmp_path / "it" / "raw", "it").read()
    assert raw["inter"][0].context == english_examples()["inter"][0].context.upper()
