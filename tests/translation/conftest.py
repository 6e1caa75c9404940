"""A small English data set, real data where it is there, and a running stand-in for Amazon Translate."""

import csv
from pathlib import Path

import pytest
from stereoset_translation import review
from stereoset_translation.columns import put, rebuilt
from stereoset_translation.folder import Folder
from stereoset_translation.source import assemble, strings_of
from translation_examples import english_examples
from translation_review_folder import FORMULA, LOST
from translation_stand_in import KEY, StandIn, pseudo

from lm_eval_stereoset.benchmarks.stereoset.example import Example
from lm_eval_stereoset.benchmarks.stereoset.pickles import read_pickle
from lm_eval_stereoset.cli import main
from lm_eval_stereoset.files import write_examples


@pytest.fixture
def english(tmp_path: Path) -> Path:
    """A folder with a small English data set, as --data takes it."""
    folder = tmp_path / "english"
    for split, examples in english_examples().items():
        write_examples(folder / split / "en.jsonl", examples)
    return folder


@pytest.fixture(autouse=True)
def own_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the user's data folder, configuration or credentials."""
    monkeypatch.setenv("STEREOSET_DATA", str(tmp_path / "data"))
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "no-config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "no-credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture
def amazon(monkeypatch: pytest.MonkeyPatch):
    """The stand-in, with an environment in which a boto3 client finds it."""
    server = StandIn()
    monkeypatch.setenv("AWS_ENDPOINT_URL_TRANSLATE", server.url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret-of-the-stand-in")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def translate(capfd: pytest.CaptureFixture[str]):
    """Runs `stereoset translate …`; gives exit code, output and the lines of errors without progress."""

    def call(*argv) -> tuple[int, str, str]:
        capfd.readouterr()
        code = main(["translate", *map(str, argv)])
        out, err = capfd.readouterr()
        lines = [line.split("\r")[-1] for line in err.split("\n")]
        return code, out, "\n".join(line for line in lines if line and "char/s" not in line)

    return call


@pytest.fixture
def work(english, tmp_path, translate):
    """A working folder with raw and repaired examples; a few of them need a person."""
    raw = {
        split: [assemble(e, {t: pseudo(t, e.id != LOST) for t in strings_of(e)}) for e in examples]
        for split, examples in english_examples().items()
    }
    raw["intra"][0] = rebuilt(put(raw["intra"][0], "context", FORMULA))
    raw["intra"][0] = put(raw["intra"][0], "target", "-giardiniere x")
    raw["inter"][5] = put(raw["inter"][5], "c1_sentence", raw["inter"][5].candidates[1].sentence)
    Folder(tmp_path / "it" / "raw", "it").write(raw)
    options = ("--to", "it", "--data", english, "--dir", tmp_path / "it")
    assert translate("repair", *options)[0] == 0
    return options


@pytest.fixture
def rows(work, translate, tmp_path):
    """Writes the sheet; gives its rows by id and a function that saves and applies them."""
    assert translate("review", *work)[0] == 0
    path = tmp_path / "it" / "review.csv"
    with open(path, encoding="utf-8-sig", newline="") as handle:
        content = {row["id"]: row for row in csv.DictReader(handle)}

    def apply(*more, by="Ada"):
        with open(path, "w", encoding="utf-8", newline="") as handle:
            writer = csv.DictWriter(handle, review.columns())
            writer.writeheader()
            writer.writerows(content.values())
        return translate("apply", path, *work, "--by", by, *more)

    return content, apply


@pytest.fixture(scope="session")
def published(shared: Path):
    """The authors' published data: published("intra", "de")."""
    folder = shared / "upstream" / "stereotypes-multi" / "create_dataset" / "data"
    cache = {}

    def read(split: str, language: str) -> list[Example]:
        path = folder / f"{split}sentence" / f"df_{split}sentence_{language}.pkl"
        if path not in cache:
            cache[path] = read_pickle(path, split)
        return cache[path]

    return read
