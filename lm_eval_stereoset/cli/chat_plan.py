"""stereoset chat-plan: what a run of chat tasks would ask and cost, before anything is sent.

stereoset chat-plan --model openai-chat-completions --model_args model=gpt-4o-mini --tasks stereoset_chat \\
    --price-in 0.15 --price-out 0.60
"""

import argparse
import json
import logging
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from lm_eval_stereoset.chat.asking import MAX_TOKENS

if TYPE_CHECKING:
    from lm_eval_stereoset.harness.chat_planning import Planned

EPILOG = """\
Takes the flags of `stereoset run` under the same names; nothing is sent, and no model is loaded. "answers" is given
twice: if every answer is as short as "(b)", and if every one is as long as it may be (max_gen_toks, 64 by default).
Prices are per million tokens, as services state them. Requests that fail are asked again, up to three times, and
what --use_cache holds is not asked at all: neither is counted here.

examples:
  stereoset chat-plan --model hf --model_args pretrained=HuggingFaceTB/SmolLM2-135M-Instruct --tasks stereoset_chat_en
  stereoset chat-plan --model openai-chat-completions --model_args model=NAME --tasks stereoset_chat \\
      --metadata orders=6 --price-in 0.15 --price-out 0.60
  stereoset chat-plan --model anthropic-chat --model_args model=NAME --tasks stereoset_chat_de --limit 100 \\
      --gen_kwargs max_gen_toks=1024 --price-in 3 --price-out 15
"""


def make_parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        prog="stereoset chat-plan",
        description="Requests, tokens and money that a run of chat tasks would take, before anything is sent.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    p.add_argument("--model", "-m", default="hf", help="as in `stereoset run` (default: hf)")
    p.add_argument("--model_args", "-a", default="", metavar="ARGS", help="name=value,name=value")
    p.add_argument("--tasks", "-t", required=True, help="a,b: tasks or groups with chat in their names")
    p.add_argument("--metadata", default="", metavar="ARGS", help="data=sample, data=DIR, orders=1|3|6")
    p.add_argument("--limit", "-L", type=float, metavar="N", help="examples per task, or a share below 1")
    p.add_argument(
        "--gen_kwargs", default="", metavar="ARGS", help="max_gen_toks=N: how long an answer may be"
    )
    p.add_argument("--system_instruction", metavar="TEXT", help="sent with every question")
    p.add_argument(
        "--tokenizer", metavar="NAME", help="counts the tokens of a service's model: a name or a folder"
    )
    p.add_argument("--price-in", type=float, metavar="X", help="of a million tokens sent")
    p.add_argument("--price-out", type=float, metavar="X", help="of a million tokens answered")
    p.add_argument("--currency", default="$", help="of these prices (default: $)")
    p.add_argument("--json", action="store_true", help="as JSON")
    return p


def main(argv: Sequence[str]) -> int:
    args = make_parser().parse_args(argv)

    from tqdm import tqdm

    from lm_eval_stereoset.harness import chat_planning, preflight

    logging.getLogger("lm_eval_stereoset.data.store").setLevel(logging.ERROR)  # the last line names the data
    prices = prices_of(args)
    model_args, metadata, answers = (
        arguments_in(text, flag)
        for text, flag in (
            (args.model_args, "--model_args"),
            (args.metadata, "--metadata"),
            (args.gen_kwargs, "--gen_kwargs"),
        )
    )
    preflight.check_metadata(metadata)
    preflight.check_limit(args.limit)
    longest = longest_answer(answers)
    tasks = chat_planning.asked_tasks([name.strip() for name in args.tasks.split(",") if name.strip()])
    count, how = chat_planning.counter_for(args.model, model_args, args.tokenizer, args.system_instruction)
    planned = [
        chat_planning.plan(
            task, count, metadata.get("data"), metadata.get("orders"), args.limit, longest,
            lambda prompts, name=task.name: tqdm(prompts, desc=name, leave=False, disable=None),
        )
        for task in tasks
    ]  # fmt: skip
    print(as_json(planned, prices, how) if args.json else as_text(planned, prices, how, longest, args))
    return 0


def arguments_in(text: str, flag: str) -> dict[str, Any]:
    """As the harness reads name=value,name=value."""
    from lm_eval.utils import simple_parse_args_string

    from lm_eval_stereoset.errors import UserError

    if unlike := [part for part in text.split(",") if part.strip() and "=" not in part]:
        raise UserError(f"{flag} {text}: {unlike[0]!r} is not name=value")
    return simple_parse_args_string(text)


def longest_answer(answers: dict[str, Any]) -> int:
    from lm_eval_stereoset.errors import UserError

    names = (
        "max_gen_toks",
        "max_tokens",
        "max_new_tokens",
        "max_completion_tokens",
    )  # all that the harness takes
    given = next((answers[name] for name in names if name in answers), MAX_TOKENS)
    if type(given) is not int or given < 1:
        raise UserError(f"--gen_kwargs max_gen_toks={given}: must be a whole number of at least 1")
    return given


def prices_of(args: argparse.Namespace) -> tuple[float, float] | None:
    from lm_eval_stereoset.errors import UserError

    given = (args.price_in, args.price_out)
    if given == (None, None):
        return None
    if None in given:
        raise UserError("give both --price-in and --price-out, per million tokens (0 for what is free)")
    if not all(0 <= price < float("inf") for price in given):
        raise UserError(f"--price-in {given[0]:g} --price-out {given[1]:g}: prices are numbers from 0 up")
    return given


def as_text(
    planned: Sequence["Planned"],
    prices: tuple[float, float] | None,
    how: str,
    longest: int,
    args: argparse.Namespace,
) -> str:
    from lm_eval_stereoset.cli.overview import table

    header = ["task", "examples", "orders", "requests", "tokens sent", "answers, short", "answers, at most"]
    rows = [
        [one.task, f"{one.examples:,}", str(one.orders), f"{one.requests:,}"]
        + [f"{number:,}" for number in (one.tokens_in, one.tokens_out, one.tokens_out_most)]
        for one in planned
    ]
    if len(planned) > 1:
        sums = [
            sum(getattr(one, name) for one in planned)
            for name in ("requests", "tokens_in", "tokens_out", "tokens_out_most")
        ]
        rows.append(["together", "", "", *(f"{number:,}" for number in sums)])
    lines = table([header, *rows], indent="", width=140)
    if prices:
        least, most = total(planned, prices)
        lines.append(
            f"\nmoney: {money(least, args.currency)} if answers are short, at most {money(most, args.currency)} "
            f"({prices[0]:g} and {prices[1]:g} per million tokens sent and answered)"
        )
    lines.append(f"{'' if prices else chr(10)}tokens: {how}; an answer has at most {longest}")
    lines.append(f"data: {', '.join(dict.fromkeys(one.data for one in planned))}")
    return "\n".join(lines)


def as_json(planned: Sequence["Planned"], prices: tuple[float, float] | None, how: str) -> str:
    found: dict[str, Any] = {"tasks": [asdict(one) for one in planned], "tokens": how}
    if prices:
        least, most = total(planned, prices)
        found["money"] = {"least": round(least, 6), "most": round(most, 6)}
    return json.dumps(found, ensure_ascii=False, indent=2)


def total(planned: Sequence["Planned"], prices: tuple[float, float]) -> tuple[float, float]:
    each = [one.money(*prices) for one in planned]
    return sum(least for least, _ in each), sum(most for _, most in each)


def money(amount: float, currency: str) -> str:
    """Two decimals, more only where they would all be 0."""
    return f"{currency}{amount:,.2f}" if amount >= 0.01 or amount == 0 else f"{currency}{amount:.2g}"
