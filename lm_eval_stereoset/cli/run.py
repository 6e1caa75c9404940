"""stereoset run …: lm_eval's own command line, with our tasks and models registered.

stereoset run --model hf --model_args pretrained=dbmdz/german-gpt2 --tasks stereoset_de
"""

import argparse
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from lm_eval_stereoset.errors import UserError


def main(argv: Sequence[str]) -> int:
    from lm_eval._cli import HarnessCLI

    share_logging()
    cli = HarnessCLI()
    sys.argv = ["stereoset", "run", *argv]  # where the harness reads its arguments
    args = cli.parse_args()
    args.include_path = merged_include_paths(args)
    if args.model == "stereoset-hf" and not any(
        a.startswith(("--batch_size", "-b", "--config")) for a in argv
    ):
        args.batch_size = "auto"  # the harness's default is 1; our scores do not depend on it
    register_models()
    try:
        cli.execute(args)
    except (OSError, ValueError, KeyError) as error:
        # What a user's arguments lead to: no such model, task, file or setting.
        if os.environ.get("STEREOSET_DEBUG"):
            raise
        raise UserError(explain(error, args)) from error
    print_data_lines()
    return 0


def share_logging() -> None:
    """Our messages look like the harness's and follow its level (LMEVAL_LOG_LEVEL)."""
    from lm_eval.utils import setup_logging

    setup_logging()
    theirs, ours = logging.getLogger("lm_eval"), logging.getLogger("lm_eval_stereoset")
    ours.setLevel(theirs.level)
    ours.handlers = theirs.handlers
    ours.propagate = False


def explain(error: Exception, args: argparse.Namespace) -> str:
    message = str(error.args[0] if isinstance(error, KeyError) and error.args else error)
    if message.startswith("Tasks not found"):
        from lm_eval_stereoset.data.store import data_folder, languages_in
        from lm_eval_stereoset.languages import LANGUAGES

        own = [code for code in languages_in(data_folder()) if code not in LANGUAGES]
        message += (
            f"; StereoSet is there in {', '.join([*LANGUAGES, *own])}; `lm_eval ls tasks` shows all others"
        )
    name = args.model_args.get("pretrained") if isinstance(args.model_args, dict) else None
    if isinstance(name, str) and name.startswith(("/", ".", "~")) and not Path(name).exists():
        message = f"{name}: no such folder"  # the hub's complaint about a path is no help
    return (
        f"{message} [model {args.model}, {args.model_args or 'no model_args'}; STEREOSET_DEBUG=1 shows where]"
    )


def merged_include_paths(args: argparse.Namespace) -> list[str]:
    """Ours and the user's own languages, then what the user asks for, which may override them."""
    from lm_eval_stereoset.harness.paths import include_paths

    paths = [str(path) for path in include_paths()]
    if args.include_path:
        return [*paths, args.include_path]
    if args.config and Path(args.config).is_file():
        import yaml

        # An argument overrides the configuration file, so its include_path must be carried over.
        wanted = (yaml.safe_load(Path(args.config).read_text(encoding="utf-8")) or {}).get("include_path")
        paths += [wanted] if isinstance(wanted, str) else list(wanted or [])
    return paths


def register_models() -> None:
    """The harness knows `stereoset-hf` from here on; its class is imported when it is asked for."""
    import lm_eval.models  # noqa: F401  its own models first: it fills an empty registry only
    from lm_eval.api.registry import model_registry

    if "stereoset-hf" not in model_registry:
        model_registry.register("stereoset-hf", target="lm_eval_stereoset.models.stereoset_hf:StereoSetHF")


def print_data_lines() -> None:
    """Which data the numbers above are from: one line a file."""
    from lm_eval_stereoset.harness.docs import loaded

    if int(os.environ.get("RANK", "0")) != 0:
        return
    lines = {
        f"data: {d['data']} {d['version']}, {d['split']}/{d['language']}, {d['examples']} examples, "
        f"sha256 {d['sha256'][:12]}; normaliser: {about['normaliser']}": None
        for about in loaded
        for d in about["data"]
    }
    print("\n".join(lines))
