"""docs/notebook.md is run from top to bottom, as its reader would, with small models in the place of those it names."""

import re
from pathlib import Path

import end_to_end_models
import matplotlib as mpl
import numpy as np
import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "notebook.md"
STAND_INS = {
    "bert-base-german-cased": end_to_end_models.bert,
    "distilbert-base-german-cased": end_to_end_models.gpt2,
}


@pytest.fixture
def code(tmp_path) -> str:
    text = "\n".join(re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), flags=re.DOTALL))
    for name, make in STAND_INS.items():
        for part in make():
            part.save_pretrained(tmp_path / name)
        assert f'"{name}"' in text
        text = text.replace(f'"{name}"', repr(str(tmp_path / name)))
    return text


def test_the_page_runs_from_data_to_a_plot(code, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    mpl.use("Agg")
    names: dict = {}
    exec(compile(code, str(PAGE), "exec"), names)
    printed = capsys.readouterr().out
    assert "28 examples, sample 1.0" in printed
    for line in (r"SS +\d+\.\d ± \d+\.\d  \[", r"ICAT [+-]\d+\.\d \[.*\], p = [01]\.\d{3}"):
        assert re.search(line, printed), line
    picture = mpl.image.imread(tmp_path / "ss_by_kind.png")
    assert len(np.unique(picture[..., :3].reshape(-1, 3), axis=0)) > 10, "something is drawn"
    drawn = [bars.lines[0].get_ydata() for bars in names["axes"].containers]
    assert [list(values) for values in drawn] == [
        [names["evaluate"]({"intra": one})["intra"][kind]["ss"] for kind in names["kinds"]]
        for one in (names["first"], names["other"])
    ]
