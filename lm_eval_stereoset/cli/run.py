"""stereoset run …: lm_eval's own command line, with our tasks and models registered.

stereoset run --model hf --model_args pretrained=dbmdz/german-gpt2 --tasks stereoset_de
"""

import argparse
import logging
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lm_eval_stereoset.errors import UserError

if TYPE_CHECKING:
    from lm_eval._cli import HarnessCLI

# The harness's default is 1, which is slow. Used where neither the command line nor --config names a size.
BATCH_SIZES = {"hf": "16", "hf-auto": "16", "huggingface": "16", "stereoset-hf": "auto"}


def make_parser() -> argparse.ArgumentParser:
    """Our own flags, and the help that comes before the harness's."""
    from lm_eval_stereoset.cli import run_help

    return run_help.make_parser()


def main(argv: Sequence[str]) -> int:
    argv = list(argv)
    if not argv or {"-h", "--help"} & set(argv):
        print(f"{make_parser().format_help()}\nAll other options are lm_eval's own:\n")
    from lm_eval._cli import HarnessCLI

    from lm_eval_stereoset import benchmarks
    from lm_eval_stereoset.cli.run_help import FULL_TABLE
    from lm_eval_stereoset.harness import preflight, task
    from lm_eval_stereoset.harness.bends import without_repetition
    from lm_eval_stereoset.harness.identified import identified

    full_table = FULL_TABLE in argv
    argv = [argument for argument in argv if argument != FULL_TABLE]
    cli = HarnessCLI()
    sys.argv = ["stereoset", "run", *argv]  # where the harness reads its arguments
    args = cli.parse_args()  # --help ends here
    share_logging()
    task.begin_run()
    register_models()
    settings = merged_settings(args)
    args.include_path = merged_include_paths(args, settings, asks_for_ours_alone(settings))
    if "batch_size" not in settings and settings["model"] in BATCH_SIZES:
        args.batch_size = BATCH_SIZES[settings["model"]]
    with identified(settings["model"], settings.get("model_args")), without_repetition():
        preflight.check(settings, benchmarks.names())
        return evaluate(cli, args, settings, full_table)


def evaluate(cli: "HarnessCLI", args: argparse.Namespace, settings: dict[str, Any], full_table: bool) -> int:
    """Lets the harness run, then prints the closing lines."""
    from lm_eval_stereoset.harness import aggregation, closing, mistakes, task
    from lm_eval_stereoset.harness.bends import quiet, table_of, tasks_found
    from lm_eval_stereoset.harness.saving import Saving

    is_first = int(os.environ.get("RANK", "0")) == 0
    with Saving(settings.get("output_path") if is_first else None) as saving:
        try:
            with (
                quiet(),
                tasks_found(with_the_harnesss=not asks_for_ours_alone(settings)),
                table_of(None if full_table else closing.without_ours) as printed,
            ):
                cli.execute(args)
        except Exception as error:  # looked at, and raised again unless it is known to be the user's mistake
            message = mistakes.explain(error, settings)
            if message is None or os.environ.get("STEREOSET_DEBUG"):
                raise
            raise UserError(f"{message} [STEREOSET_DEBUG=1 shows where]") from error
    if is_first:
        samples = bool(settings.get("log_samples") or settings.get("predict_only"))
        table = closing.closing_table(printed[0] if printed else {})
        print("\n".join([*table, *closing.data_lines(task.loaded)]))
        saving.check(samples)
        if table:
            print(f"\n{closing.report_hint(saving.report_paths(), samples)}")
    if aggregation.problems:
        raise UserError("; ".join(aggregation.problems))
    return 0


def asks_for_ours_alone(settings: dict[str, Any]) -> bool:
    from lm_eval_stereoset.harness.paths import installed_names

    asked = settings.get("tasks") or []
    names = [name for one in ([asked] if isinstance(asked, str) else asked) for name in str(one).split(",")]
    return set(names) <= set(installed_names())


def share_logging() -> None:
    """Our messages look like the harness's and follow its level (LMEVAL_LOG_LEVEL)."""
    from lm_eval.utils import setup_logging

    setup_logging()
    theirs, ours = logging.getLogger("lm_eval"), logging.getLogger("lm_eval_stereoset")
    ours.setLevel(theirs.level)
    ours.handlers = theirs.handlers
    ours.propagate = False


def merged_settings(args: argparse.Namespace) -> dict[str, Any]:
    """What the harness will run with: the configuration file, overridden by the command line."""
    from lm_eval.config.evaluate_config import EvaluatorConfig
    from lm_eval.utils import simple_parse_args_string

    settings: dict[str, Any] = {}
    if getattr(args, "config", None):
        try:
            settings |= EvaluatorConfig.load_yaml_config(args.config)
        except (
            FileNotFoundError,
            ValueError,
            TypeError,
        ) as error:  # all that it raises, each with its reason
            raise UserError(f"--config {args.config}: {error}") from error
    settings |= {key: value for key, value in vars(args).items() if value or value == 0}
    for key in ("model_args", "metadata"):
        if isinstance(settings.get(key), str):
            settings[key] = simple_parse_args_string(settings[key])
    settings.setdefault("model", EvaluatorConfig().model)
    return settings


def merged_include_paths(args: argparse.Namespace, settings: dict[str, Any], ours_alone: bool) -> list[str]:
    """Ours and the user's own languages, then what the user asks for, which may override them."""
    from lm_eval_stereoset.harness.paths import (
        include_paths,
        include_paths_beside_the_harness,
        refresh_own_tasks,
    )

    refresh_own_tasks()
    # An argument overrides the configuration file, so its include_path must be carried over.
    wanted = args.include_path or settings.get("include_path") or []
    ours = include_paths() if ours_alone else include_paths_beside_the_harness()
    return [*map(str, ours), *([wanted] if isinstance(wanted, str) else wanted)]


def register_models() -> None:
    """The harness knows `stereoset-hf` from here on; its class is imported when it is asked for."""
    import lm_eval.models  # noqa: F401  its own models first: it fills an empty registry only
    from lm_eval.api.registry import model_registry

    if "stereoset-hf" not in model_registry:
        model_registry.register("stereoset-hf", target="lm_eval_stereoset.harness.model:StereoSetHF")
