"""What a run of chat tasks would ask, before anything is sent: requests, tokens, money (`stereoset chat-plan`).

The questions are the very texts that `stereoset run` sends, from the same functions; only the model is missing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lm_eval_stereoset import benchmarks
from lm_eval_stereoset.benchmarks.declaration import Benchmark
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.harness import yaml_tasks
from lm_eval_stereoset.harness.preflight import HF_MODELS

BYTES_PER_TOKEN = (
    3  # of UTF-8, where no tokenizer is at hand: more tokens than most models make of these languages
)
FRAME = 8  # tokens that a service adds to every conversation
SHORT_ANSWER = 5  # tokens of "(b)" and an end; what a model that does as it is told says

Counter = Callable[[str], int]  # a question -> tokens sent


@dataclass(frozen=True)
class Task:
    name: str
    benchmark: Benchmark
    language: str
    splits: tuple[str, ...]


@dataclass(frozen=True)
class Planned:
    """What one task would cost."""

    task: str
    examples: int
    orders: int
    requests: int
    tokens_in: int
    tokens_out: int  # if every answer is short
    tokens_out_most: int  # if every answer is as long as it may be
    data: str

    def money(self, price_in: float, price_out: float) -> tuple[float, float]:
        """Least and most, with prices per million tokens."""
        sent = self.tokens_in * price_in
        return (sent + self.tokens_out * price_out) / 1e6, (sent + self.tokens_out_most * price_out) / 1e6


def chat_tasks() -> tuple[dict[str, Task], dict[str, list[str]]]:
    """Every task that asks in words, and every group of such tasks with its members."""
    tasks: dict[str, Task] = {}
    groups: dict[str, list[str]] = {}
    for benchmark in (one for one in benchmarks.registered() if one.words):
        for language in (*benchmark.built_in, *yaml_tasks.own_languages(benchmark)):
            for split in yaml_tasks.with_pooled(benchmark, benchmark.splits):
                name = benchmark.task_name(split, language)
                splits = (split,) if split else benchmark.splits
                tasks[name] = Task(name, benchmark, language, splits)
        groups |= {name: members for name, (_, members) in yaml_tasks.groups_of(benchmark).items()}
    groups[yaml_tasks.CHAT_TAG] = [
        name for name, task in tasks.items() if task.language in task.benchmark.built_in
    ]
    return tasks, groups


def asked_tasks(names: Sequence[str]) -> list[Task]:
    """Each once, groups as their members."""
    tasks, groups = chat_tasks()
    found: dict[str, Task] = {}
    for name in names:
        if name not in tasks and name not in groups:
            known = ", ".join([*groups, *(n for n in tasks if n.endswith("_en"))])
            raise UserError(
                f"--tasks {name}: not a task that asks in words; those are {known} and others that `stereoset ls` shows"
            )
        found |= {one: tasks[one] for one in groups.get(name, [name])}
    return list(found.values())


def plan(
    task: Task,
    count_tokens: Counter,
    data: str | None,
    orders: Any,
    limit: float | None,
    longest_answer: int,
    progress: Callable[..., Any] = list,
) -> Planned:
    """`limit` as lm_eval's: a number of examples, or a share of them below 1."""
    from lm_eval_stereoset.harness.documents import documents

    about, docs = documents(task.benchmark, task.language, task.splits, data, orders)
    used = docs[: number_of(limit, len(docs))]
    prompts = [prompt for doc in used for prompt in doc["prompts"]]
    sources = dict.fromkeys(f"{part['data']} {part['version']}" for part in about["data"])
    return Planned(
        task=task.name,
        examples=len(used),
        orders=about["asked"]["orders"],
        requests=len(prompts),
        tokens_in=sum(count_tokens(prompt) for prompt in progress(prompts)),
        tokens_out=len(prompts) * min(SHORT_ANSWER, longest_answer),
        tokens_out_most=len(prompts) * longest_answer,
        data=", ".join(sources),
    )


def number_of(limit: float | None, examples: int) -> int:
    """As lm_eval 0.4.13 takes it (evaluator_utils.get_sample_size)."""
    import math

    if limit is None:
        return examples
    return min(examples, math.ceil(examples * limit) if limit < 1 else int(limit))


def counter_for(
    model: str, model_args: Mapping[str, Any], tokenizer: str | None, system: str | None
) -> tuple[Counter, str]:
    """How tokens are counted, and that in words."""
    name = tokenizer or model_args.get("tokenizer") or (model in HF_MODELS and model_args.get("pretrained"))
    if not name:
        extra = FRAME + (_by_bytes(system) if system else 0)
        return lambda prompt: _by_bytes(prompt) + extra, (
            f"estimated at {BYTES_PER_TOKEN} bytes per token, which is rather too many; --tokenizer NAME counts them"
        )
    return _by_tokenizer(str(name), model_args, system), f"counted by the tokenizer of {name}"


def _by_bytes(text: str) -> int:
    return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)


def _by_tokenizer(name: str, model_args: Mapping[str, Any], system: str | None) -> Counter:
    from transformers import AutoTokenizer

    from lm_eval_stereoset.scoring.checkpoint import one_line

    options = {key: model_args[key] for key in ("revision", "subfolder", "gguf_file") if model_args.get(key)}
    loaded = one_line(name, lambda: AutoTokenizer.from_pretrained(name, **options))
    first = [{"role": "system", "content": system}] if system else []

    def count(prompt: str) -> int:
        if not loaded.chat_template:
            return len(loaded(prompt)["input_ids"]) + FRAME
        said = loaded.apply_chat_template(
            [*first, {"role": "user", "content": prompt}], tokenize=False, add_generation_prompt=True
        )
        return len(loaded(said, add_special_tokens=False)["input_ids"])

    return count
