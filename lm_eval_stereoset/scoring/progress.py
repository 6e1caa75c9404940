"""One progress bar that counts examples, whatever the passes through the model count.

A pass works through inputs: the prefixes of a hundred sentences, say, or each step of unmasking a word. How many there
are is known only once they are made, and differs from family to family; what a user wants to know is how many examples
are left. So the bar is told how many examples the next passes are for, and moves by the share of inputs that are done:

    with Progress(56) as progress:
        with progress.part(28):         # 28 of the examples are scored now
            progress.done(30, of=120)   # a quarter of a pass is done: the bar shows 7
"""

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType


class Progress:
    def __init__(self, examples: int, shown: bool = True, description: str = "scoring"):
        self.examples, self.shown, self.description = examples, shown, description
        self.before = 0  # examples of finished parts
        self.here = 0  # examples of the part under way

    def __enter__(self) -> "Progress":
        from tqdm import tqdm

        self.bar = tqdm(total=self.examples, desc=self.description, unit=" examples", disable=not self.shown)
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.bar.close()

    @contextmanager
    def part(self, examples: int) -> Iterator[None]:
        """While it is open, `done` tells about these examples; at its end all of them are done."""
        self.here = examples
        yield
        self.before, self.here = self.before + examples, 0
        self._show(self.before)

    def skip(self, examples: int) -> None:
        """Of examples that need no scoring, because an earlier run has done it."""
        self.before += examples
        self._show(self.before)

    def done(self, inputs: int, of: int) -> None:
        """A part may take several passes; in a later one the bar waits until it is as far as the one before."""
        self._show(self.before + self.here * inputs // max(of, 1))

    def _show(self, examples: int) -> None:
        if examples > self.bar.n:
            self.bar.update(examples - self.bar.n)
