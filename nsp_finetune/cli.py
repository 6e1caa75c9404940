"""stereoset nsp COMMAND …, or python -m nsp_finetune COMMAND …

Nothing heavy is imported before it is known what is wanted.
"""

import argparse
import dataclasses
import json
import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lm_eval_stereoset.errors import UserError
from nsp_finetune.settings import CHOICES, TrainSettings, load_settings, preset_names, type_of
from nsp_finetune.splitters import PUNKT

# Seconds. A mistake that all processes find is said by the first; the launcher ends the others meanwhile.
SAY_LATER = 5


def make_parser(prog: str = "stereoset nsp") -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=prog,
        description="Next-sentence prediction for GPT-2, T5 and encoder models, and natural language inference.",
        epilog="On several processes: accelerate launch -m nsp_finetune train …, or nli …",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_prepare(commands.add_parser("prepare", help="a corpus into sentence pairs"))
    _add_train(commands.add_parser("train", help="fine-tune a model on sentence pairs"))
    _add_nli(commands.add_parser("nli", help="fine-tune a classifier for natural language inference"))
    _add_evaluate(commands.add_parser("evaluate", help="accuracy of a model on held-out pairs"))
    _add_convert(commands.add_parser("convert", help="the authors' checkpoints into model folders"))
    return parser


def _add_prepare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--languages", nargs="+", default=[], metavar="CODE", help="such as de, or several: de it pl"
    )
    parser.add_argument(
        "--corpus",
        nargs="+",
        default=[],
        metavar="SOURCE",
        help="LANGUAGE=SOURCE, or one SOURCE in which {language} stands for the code: a .parquet or .jsonl file, a "
        "folder of them or of .txt files, or a hub data set OWNER/NAME[:CONFIG] (default: wikimedia/wikipedia)",
    )
    parser.add_argument(
        "--splitter",
        nargs="+",
        default=[],
        metavar="NAME",
        help="what splits texts into sentences: punkt (default; NLTK's, for "
        f"{' '.join(PUNKT)}), punkt:NAME (NLTK's for a similar language, such as punkt:portuguese), sentencex (most "
        "languages), rules (end marks only); LANGUAGE=NAME for one language of several",
    )
    parser.add_argument("--output", type=Path, required=True, metavar="DIR", help="where the pairs go")
    parser.add_argument(
        "--held-out",
        type=float,
        default=0.05,
        metavar="SHARE",
        help="share of articles for validation, and for test (default: %(default)s)",
    )
    parser.add_argument(
        "--max-articles", type=_at_least(1), metavar="N", help="at most so many of each language"
    )
    parser.add_argument(
        "--text-column", default="text", metavar="NAME", help="of the corpus (default: %(default)s)"
    )
    parser.add_argument(
        "--id-column", default="id", metavar="NAME", help="of the corpus (default: %(default)s)"
    )
    parser.add_argument(
        "--seed",
        type=_at_least(0),
        default=27,
        metavar="N",
        help="of the split and the pairs (default: %(default)s)",
    )
    parser.add_argument(
        "--workers",
        type=_at_least(1),
        default=os.cpu_count() or 1,
        metavar="N",
        help="processes (default: all cores)",
    )


def _add_train(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--preset", metavar="NAME", help=f"{', '.join(preset_names())}, or a YAML file of your own"
    )
    parser.add_argument("--pairs", type=Path, required=True, metavar="DIR", help="what prepare made")
    parser.add_argument(
        "--output", type=Path, required=True, metavar="DIR", help="the model; DIR.run beside it: the run"
    )
    parser.add_argument("--resume", action="store_true", help="go on from the newest whole checkpoint")
    _add_settings(parser, {}, ())


def _add_nli(parser: argparse.ArgumentParser) -> None:
    from nsp_finetune.nli_settings import DEFAULTS, UNUSED

    parser.add_argument("--preset", metavar="FILE", help="a YAML file with settings of your own")
    parser.add_argument(
        "--data",
        type=Path,
        required=True,
        metavar="SOURCE",
        help="a folder with SNLI's files (…train….jsonl, …dev….jsonl, …test….jsonl), one such file, of which a "
        "twentieth is held out for validation and for test, or a hub data set, such as stanfordnlp/snli",
    )
    parser.add_argument(
        "--output", type=Path, required=True, metavar="DIR", help="the model; DIR.run beside it: the run"
    )
    parser.add_argument("--resume", action="store_true", help="go on from the newest whole checkpoint")
    _add_settings(parser, DEFAULTS, UNUSED)


def _add_settings(
    parser: argparse.ArgumentParser, defaults: Mapping[str, Any], without: Sequence[str]
) -> None:
    group = parser.add_argument_group("settings (each goes before the preset's)")
    for field in dataclasses.fields(TrainSettings):
        if field.name in without:
            continue
        kind, default = type_of(field.name), defaults.get(field.name, field.default)
        shown = "" if default in (None, "") else f" (default: {default})"
        options = {"default": argparse.SUPPRESS, "help": (field.metadata["help"] + shown).replace("%", "%%")}
        if kind is bool:
            options["action"] = argparse.BooleanOptionalAction
        else:
            options |= {"type": kind, "choices": CHOICES.get(field.name), "metavar": field.name.upper()}
        group.add_argument(f"--{field.name.replace('_', '-')}", **options)


def _add_evaluate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path, metavar="DIR", help="a model that train or convert made")
    parser.add_argument("--pairs", type=Path, required=True, metavar="DIR", help="what prepare made")
    parser.add_argument(
        "--split", default="test", choices=("train", "validation", "test"), help="default: %(default)s"
    )
    parser.add_argument(
        "--batch-size",
        type=_at_least(1),
        default=32,
        metavar="N",
        help="pairs at once (default: %(default)s)",
    )
    parser.add_argument("--max-examples", type=_at_least(1), metavar="N", help="the first N pairs only")
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def _add_convert(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "checkpoint", type=Path, metavar="CHECKPOINT.pth", help="the authors' file, nsp_model.pth"
    )
    parser.add_argument("--base", required=True, metavar="MODEL_DIR", help="the model it was fine-tuned from")
    parser.add_argument("--output", type=Path, required=True, metavar="DIR", help="a new folder")
    parser.add_argument(
        "--prefix",
        metavar="TEXT",
        help="text before each pair (default: as the authors' program tests the family)",
    )


def _at_least(least: int) -> Callable[[str], int]:
    def whole_number(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"must be a whole number, is {text[:40]!r}") from None
        if value < least:
            raise argparse.ArgumentTypeError(f"must be at least {least}, is {value}")
        return value

    return whole_number


def main(argv: Sequence[str] | None = None, prog: str = "stereoset nsp") -> int:
    commands = {
        "prepare": _prepare,
        "train": _train,
        "nli": _nli,
        "evaluate": _evaluate,
        "convert": _convert,
    }
    arguments = make_parser(prog).parse_args(argv)
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    try:
        commands[arguments.command](arguments)
    except UserError:
        if os.environ.get("RANK", "0") != "0":
            time.sleep(SAY_LATER)
        raise
    return 0


def _prepare(arguments: argparse.Namespace) -> None:
    from nsp_finetune.corpus import resolve
    from nsp_finetune.prepare import PrepareSettings, prepare
    from nsp_finetune.splitters import chosen

    sources = tuple(resolve(arguments.corpus, arguments.languages))
    splitters = chosen(arguments.splitter, [source.language for source in sources])
    names = ("output", "seed", "held_out", "max_articles", "text_column", "id_column", "workers")
    statistics, reused = prepare(
        PrepareSettings(sources, splitters=splitters, **{name: getattr(arguments, name) for name in names})
    )
    print(f"{arguments.output}: {'made before from the same inputs, used as it is' if reused else 'done'}")
    for split, info in statistics["splits"].items():
        articles, pairs = sum(info["articles"].values()), sum(info["pairs"].values())
        print(f"  {split}: {articles} articles, {pairs} pairs ({info['labels']['next']} next)")


def _train(arguments: argparse.Namespace) -> None:
    from nsp_finetune.train import train

    settings = load_settings(arguments.preset, _given(arguments))
    _quiet()
    train(settings, arguments.pairs, arguments.output, arguments.resume)


def _given(arguments: argparse.Namespace) -> dict[str, Any]:
    """The settings that are on the command line."""
    known = {field.name for field in dataclasses.fields(TrainSettings)}
    return {name: value for name, value in vars(arguments).items() if name in known}


def _nli(arguments: argparse.Namespace) -> None:
    from nsp_finetune.nli import NLI
    from nsp_finetune.nli_settings import nli_settings
    from nsp_finetune.train import train

    settings = nli_settings(arguments.preset, _given(arguments))
    _quiet()
    train(settings, arguments.data, arguments.output, arguments.resume, NLI)


def _evaluate(arguments: argparse.Namespace) -> None:
    import tempfile

    from nsp_finetune.evaluate import Accuracy, evaluate

    _quiet()
    with tempfile.TemporaryDirectory() as cache:
        result = evaluate(
            arguments.model,
            arguments.pairs,
            arguments.split,
            arguments.batch_size,
            arguments.max_examples,
            Path(cache),
        )
    if arguments.json:
        print(json.dumps(result, indent=2))
        return
    for name, values in result.items():
        print(f"{name}: {Accuracy(**values)}")


def _convert(arguments: argparse.Namespace) -> None:
    from nsp_finetune.convert import convert

    if arguments.output.exists():
        raise UserError(f"{arguments.output} exists; choose another --output")
    _quiet()
    model = convert(arguments.checkpoint, arguments.base, arguments.output, arguments.prefix)
    print(f"{arguments.output}: a {model.settings.family} model for next-sentence prediction")


def _quiet() -> None:
    """transformers' own bars and advice would bury ours."""
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()
    transformers_logging.set_verbosity_error()
    logging.getLogger("accelerate.utils.other").setLevel(logging.ERROR)  # that tied weights are saved once
