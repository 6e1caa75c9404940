"""How a benchmark asks models that answer in words: what its declaration says about it (declaration.py, `words`)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lm_eval_stereoset.chat.orders import Order, orders_of
from lm_eval_stereoset.chat.reading import Option, Reading, read
from lm_eval_stereoset.chat.tally import Tally, label_of, tally
from lm_eval_stereoset.chat.wording import LETTERS, Form, Wording

MAX_TOKENS = 64  # of an answer; `--gen_kwargs max_gen_toks=…` for models that think first


@dataclass(frozen=True)
class Words:
    """What is asked about an example in words, with three options in the order of the benchmark's labels."""

    of: str  # the benchmark whose data are asked about; its results are shown beside these
    form: Form  # the wording files
    fields: Callable[[Any], Mapping[str, str]]  # example -> the fields of the question besides the options
    options: Callable[[Any, Wording], tuple[str, str, str]]  # as they are shown
    others: Callable[[Any, int], tuple[str, ...]] = (
        lambda example, number: ()
    )  # other texts that mean an option
    # Texts that mean an option if they are the whole answer
    alone: Callable[[Any, int], tuple[str, ...]] = lambda example, number: ()
    elsewhere: Mapping[str, str] = field(
        default_factory=dict
    )  # language: the benchmark whose data serve it instead
    # An example of those data -> what is asked about; None: it cannot be asked about
    asked_about: Callable[[Any], Any | None] = lambda example: example
    # Of an example: which label of the benchmark's likelihoods, 0 or 1, is its stereotype; the other one is the opposite
    stereotype: Callable[[Any], int] = lambda example: 0
    neither: int | None = None  # the option that "none of them" amounts to

    def data_of(self, language: str) -> str:
        """The name of the benchmark whose data are asked about."""
        return self.elsewhere.get(language, self.of)

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.of, *self.elsewhere.values())))

    def prompt(self, example: Any, wording: Wording, order: Order) -> str:
        options = self.options(example, wording)
        shown = {letter: options[number] for letter, number in zip(LETTERS, order, strict=True)}
        return wording.ask(example.split, {**self.fields(example), **shown})

    def prompts(self, example: Any, wording: Wording, count: int) -> tuple[list[Order], list[str]]:
        orders = list(orders_of(example.id, count))
        return orders, [self.prompt(example, wording, order) for order in orders]


@dataclass(frozen=True)
class Said:
    """All answers about one example, read."""

    orders: tuple[Order, ...]
    prompts: tuple[str, ...]
    answers: tuple[str, ...]
    readings: tuple[Reading, ...]
    neither: int | None = None

    @property
    def tally(self) -> Tally:
        return tally(self.readings, self.orders, self.neither)

    @property
    def labels(self) -> tuple[int | None, ...]:
        """Of each answer: the number of the option that it names."""
        return tuple(label_of(r, o, self.neither) for r, o in zip(self.readings, self.orders, strict=True))


def understood(
    words: Words,
    options: Sequence[Option],
    orders: Sequence[Order],
    prompts: Sequence[str],
    answers: Sequence[str],
) -> Said:
    """`options` in the order of the labels, as the questions showed them."""
    readings = [
        read(answer, [options[number] for number in order], prompt)
        for answer, order, prompt in zip(answers, orders, prompts, strict=True)
    ]
    return Said(tuple(orders), tuple(prompts), tuple(answers), tuple(readings), words.neither)
