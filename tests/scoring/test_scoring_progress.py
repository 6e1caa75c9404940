"""One bar that ends at the number of examples, for every family and however many passes it takes."""

import io

import pytest
from tqdm import tqdm

from lm_eval_stereoset.scoring.progress import Progress


@pytest.fixture
def shown(monkeypatch) -> list[int]:
    """Where the bar has stood."""
    seen: list[int] = []
    update = tqdm.update

    def remember(self, n=1):
        update(self, n)
        seen.append(self.n)

    monkeypatch.setattr(tqdm, "update", remember)
    return seen


def test_the_bar_counts_examples_not_inputs(shown):
    with Progress(10) as progress:
        progress.skip(2)
        with progress.part(4):
            for done in (25, 50, 100):
                progress.done(done, of=100)
        with progress.part(4):
            progress.done(1, of=1000)
            progress.done(1000, of=1000)
    assert shown == [2, 3, 4, 6, 10]


def test_a_second_pass_over_the_same_examples_does_not_move_it_back(shown):
    with Progress(4) as progress, progress.part(4):
        progress.done(3, of=4)
        progress.done(1, of=4)
        progress.done(4, of=4)
    assert shown == [3, 4]


def fail_after(progress: Progress, inputs: int) -> None:
    with progress.part(4):
        progress.done(inputs, of=4)
        raise ZeroDivisionError


def test_an_error_leaves_the_bar_where_it_was(shown):
    with Progress(4) as progress, pytest.raises(ZeroDivisionError):
        fail_after(progress, 1)
    assert shown == [1]


def test_nothing_is_shown_where_nothing_is_wanted(capsys):
    with Progress(4, shown=False) as progress, progress.part(4):
        progress.done(1, of=4)
    assert capsys.readouterr().err == ""


def test_it_writes_what_users_read(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    with Progress(3) as progress, progress.part(3):
        pass
    assert "scoring: 100%" in stream.getvalue()
    assert "3/3" in stream.getvalue()
