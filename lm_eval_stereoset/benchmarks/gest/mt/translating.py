"""GEST through a translator, by way of the memory of `stereoset translate`: what is stored is never asked again."""

import argparse
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from stereoset_translation import backends
from stereoset_translation.backends import Backend
from stereoset_translation.memory import Memory
from stereoset_translation.plan import Plan, describe
from stereoset_translation.run import too_long, translate

from lm_eval_stereoset.benchmarks.gest.mt.english import English
from lm_eval_stereoset.benchmarks.gest.mt.translations import read_translations, write_translations
from lm_eval_stereoset.errors import UserError

SOURCE_LANGUAGE = "en"


@dataclass(frozen=True)
class Translated:
    path: Path
    backend: str  # its identity


def translate_gest(args: argparse.Namespace, english: English, path: Path) -> Translated:
    """Writes `path` once every text has its translation; until then the memory keeps what there is."""
    texts = english.texts[: args.limit]
    _keep_whole(path, texts)
    source, target = args.source_code or SOURCE_LANGUAGE, args.target_code or args.language
    backend = backends.module(args.backend).create(args, source, target)
    memory_file = args.memory or path.with_name("memory.sqlite")
    with _opened(Memory(memory_file, backend.identity, source, target)) as memory:
        plan = make_plan(texts, backend, memory)
        print(describe(plan))
        _check_plan(plan, backend, args.max_cost)
        answers, outcome = translate(texts, backend, memory)
    print(f"{outcome.asked:,} texts translated, {len(texts) - len(plan.missing):,} were stored already")
    if outcome.refused:
        raise _refused(outcome.refused)
    write_translations(path, ((text, answers[text]) for text in texts))
    print(f"written: {path}")
    return Translated(path, backend.identity)


@contextmanager
def _opened(memory: Memory) -> Iterator[Memory]:
    with closing(memory):
        yield memory


def make_plan(texts: list[str], backend: Backend, memory: Memory) -> Plan:
    stored = memory.get(texts)
    return Plan(
        examples={"gest": len(texts)},
        strings={"gest": len(texts)},
        characters={"gest": sum(map(len, texts))},
        unique=texts,
        missing=[text for text in texts if text not in stored],
        price=backend.price,
        strings_per_second=memory.strings_per_second(),
        concurrency=backend.concurrency,
    )


def _check_plan(plan: Plan, backend: Backend, max_cost: float | None) -> None:
    cost = plan.cost(plan.missing_characters)
    if max_cost is not None and cost > max_cost:
        raise UserError(f"it would cost {cost:.2f}, more than --max-cost {max_cost:g}; nothing was sent")
    if refused := too_long(plan.missing, backend):
        raise _refused(refused)


def _refused(refused: dict[str, str]) -> UserError:
    text, why = next(iter(refused.items()))
    return UserError(
        f"{len(refused):,} texts were refused ({why}), e.g. {text[:60]!r}; every answer so far is stored: run the "
        "command again, or take another --backend"
    )


def _keep_whole(path: Path, texts: list[str]) -> None:
    """A trial with --limit must not cut a finished translation down."""
    there = len(read_translations(path)) if path.is_file() else 0
    if there > len(texts):
        raise UserError(
            f"{path} has {there:,} translations, this run would leave {len(texts):,}; leave out --limit, or choose "
            "another --dir for a trial"
        )
