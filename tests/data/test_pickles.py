import os
import pickle

import pytest

from lm_eval_stereoset.benchmarks.stereoset.declared import BENCHMARK as STEREOSET
from lm_eval_stereoset.benchmarks.stereoset.example import SPLITS
from lm_eval_stereoset.benchmarks.stereoset.pickles import (
    examples_to_frame,
    frame_to_annotations,
    frame_to_examples,
    read_frame,
)
from lm_eval_stereoset.benchmarks.stereoset.upstream import pickle_path
from lm_eval_stereoset.errors import UserError


class RunsCode:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


class NeedsEval:
    def __reduce__(self):
        return eval, ("1 + 1",)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_that_runs_code_is_refused_and_nothing_runs(tmp_path, protocol):
    victim = tmp_path / "made-by-pickle"
    with pytest.raises(UserError, match=r"asks to run \w+\.mkdir, which is refused"):
        read_frame(pickle.dumps(RunsCode(victim), protocol=protocol), "evil.pkl")
    assert not victim.exists()


def test_builtins_are_not_open(tmp_path):
    with pytest.raises(UserError, match="eval, which is refused"):
        read_frame(pickle.dumps(NeedsEval()), "evil.pkl")


@pytest.mark.parametrize(
    "content", [b"", b"\x80\x05.", b"not a pickle", pickle.dumps([1, 2]), pickle.dumps({"_mgr": 1})]
)
def test_what_is_no_data_frame_is_one_clear_line(content):
    with pytest.raises(UserError, match=r"x\.pkl: not a pickled data frame"):
        read_frame(content, "x.pkl")


@pytest.mark.parametrize("language", STEREOSET.languages)
@pytest.mark.parametrize("split", SPLITS)
def test_there_and_back_loses_nothing(clone, split, language):
    content = (clone / pickle_path(split, language)).read_bytes()
    rows, columns = read_frame(content, "upstream")
    examples = frame_to_examples(columns, split, "upstream")
    annotations = frame_to_annotations(rows, columns)
    assert examples_to_frame(examples, annotations, translated=language != "en") == columns
    assert [a["row"] for a in annotations] == rows


def test_row_numbers_show_the_three_german_examples_that_were_removed(clone):
    rows, _ = read_frame((clone / pickle_path("intra", "de")).read_bytes(), "upstream")
    assert (len(rows), rows[-1]) == (2103, 2105)
    assert len(set(range(2106)) - set(rows)) == 3
