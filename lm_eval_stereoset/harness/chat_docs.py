"""Documents of tasks that ask in words: each holds its questions, one per order, so that a logged sample says what was
asked."""

from pathlib import Path
from typing import Any

from lm_eval_stereoset.benchmarks.declaration import Benchmark
from lm_eval_stereoset.chat import wording
from lm_eval_stereoset.chat.asking import Said, Words, understood
from lm_eval_stereoset.chat.orders import DEFAULT, SEED, Order, checked_count
from lm_eval_stereoset.chat.reading import Option
from lm_eval_stereoset.chat.wording import Wording
from lm_eval_stereoset.data.store import data_folder
from lm_eval_stereoset.errors import UserError, short

ASKED = "asked"  # in a document: which of its questions a request is


def own_wording(benchmark: Benchmark) -> Path:
    """Where a user puts words for a language that has none."""
    return data_folder() / "wording" / benchmark.name


def words_of(benchmark: Benchmark) -> Words:
    if benchmark.words is None:
        raise ValueError(f"{benchmark.name} does not ask in words")
    return benchmark.words


def find_wording(benchmark: Benchmark, language: str) -> Wording:
    return wording.find(words_of(benchmark).form, language, own_wording(benchmark))


def settings(benchmark: Benchmark, language: str, orders: Any = None) -> tuple[Wording, int]:
    return find_wording(benchmark, language), checked_count(DEFAULT if orders is None else orders)


def described(words: Wording, count: int) -> dict[str, Any]:
    """As results record it."""
    return {"orders": count, "seed": SEED, "wording": words.describe()}


def questions(benchmark: Benchmark, example: Any, words: Wording, count: int) -> dict[str, Any]:
    """What a document holds besides its example."""
    asked = words_of(benchmark)
    orders, prompts = asked.prompts(example, words, count)
    options = list(asked.options(example, words))
    return {
        "orders": [list(order) for order in orders],
        "prompts": prompts,
        "options": options,
        "wording": words.name,
    }


def doc_to_text(doc: dict[str, Any]) -> str:
    return doc["prompts"][doc.get(ASKED, 0)]


def doc_to_target(doc: dict[str, Any]) -> str:
    """The harness wants a target; the metrics do not use it."""
    return doc["options"][0]


def said(benchmark: Benchmark, example: Any, doc: dict[str, Any], answers: list[str], where: str) -> Said:
    """The answers about a document, read."""
    orders = orders_in(doc, where)
    prompts = doc.get("prompts")
    if not isinstance(prompts, list) or not all(isinstance(prompt, str) for prompt in prompts):
        raise UserError(f"{where}: needs the questions (prompts), found {short(prompts)}")
    if not len(answers) == len(orders) == len(prompts):
        raise UserError(
            f"{where}: {len(answers)} answers to {len(prompts)} questions in {len(orders)} orders"
        )
    words = words_of(benchmark)
    return understood(words, options_in(words, example, doc, where), orders, prompts, answers)


def options_in(words: Words, example: Any, doc: dict[str, Any], where: str) -> list[Option]:
    """As they were shown; other texts that mean them come from the example."""
    texts = doc.get("options")
    if not isinstance(texts, list) or len(texts) != 3 or not all(isinstance(text, str) for text in texts):
        raise UserError(f"{where}: needs the three options, found {short(texts)}")
    return [
        Option(text, words.others(example, number), words.alone(example, number), number == words.neither)
        for number, text in enumerate(texts)
    ]


def orders_in(doc: dict[str, Any], where: str) -> list[Order]:
    found = doc.get("orders")
    if not isinstance(found, list) or not found or not all(_is_order(order) for order in found):
        raise UserError(f"{where}: needs the orders of the options, found {short(found)}")
    return [(a, b, c) for a, b, c in found]


def _is_order(order: Any) -> bool:
    return isinstance(order, list) and all(type(n) is int for n in order) and sorted(order) == [0, 1, 2]
