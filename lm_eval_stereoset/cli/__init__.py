"""The command `stereoset`: one module a subcommand, imported only when it is asked for."""

import errno
import importlib
import logging
import os
import sys
from collections.abc import Callable, Sequence

from lm_eval_stereoset import __version__
from lm_eval_stereoset.errors import UserError

# name: (module with `main(argv) -> int | None` and `make_parser()`, help)
COMMANDS = {
    "run": ("lm_eval_stereoset.cli.run", "evaluate a model: lm_eval's own flags, our tasks and models registered"),
    "ls": ("lm_eval_stereoset.cli.ls", "list benchmarks, languages and tasks, and which data is here"),
    "chat-plan": ("lm_eval_stereoset.cli.chat_plan", "what chat tasks would ask and cost, before anything is sent"),
    "tasks": ("lm_eval_stereoset.cli.tasks", "print the folder of our tasks, for lm_eval's --include_path"),
    "predict": ("lm_eval_stereoset.cli.predict", "write every candidate's score to a file, without the harness"),
    "score": ("lm_eval_stereoset.cli.score", "the metrics of a file of predictions or of logged samples"),
    "report": ("lm_eval_stereoset.cli.report", "one page, tables and figures from any number of results"),
    "compare": ("lm_eval_stereoset.cli.compare", "a base model against others: paired differences, intervals, tests"),
    "gate": ("lm_eval_stereoset.cli.gate", "pass or fail: results against limits, for a build or a release"),
    "publish": ("lm_eval_stereoset.cli.publish", "results into a model card, the hub's evaluation results, or LaTeX"),
    "data": ("lm_eval_stereoset.cli.data", "fetch, list, check and add data sets"),
    "debias": ("lm_eval_stereoset.cli.debias", "fit projections that take a bias out of a model, save and sweep them"),
    "translate": ("stereoset_translation.cli", "bring StereoSet into a new language"),
    "gest-mt": ("lm_eval_stereoset.cli.gest_mt", "masculine rates of translations of GEST, by stereotype"),
    "nsp": ("nsp_finetune.cli", "fine-tune models for next-sentence prediction, as `python -m nsp_finetune`"),
    "completion": ("lm_eval_stereoset.cli.completion", "print what makes your shell complete these commands"),
}  # fmt: skip


def usage() -> str:
    from lm_eval_stereoset.cli.overview import benchmarks_text

    width = max(map(len, COMMANDS))
    rows = "\n".join(f"  {name:<{width}}  {text}" for name, (_, text) in COMMANDS.items())
    return (
        "usage: stereoset COMMAND …\n\n"
        "Stereotypes in language models, measured in many languages as tasks of the lm-evaluation-harness.\n\n"
        f"commands:\n{rows}\n\n"
        "options:\n"
        "  --version   print the version\n"
        "  -h, --help  this text; `stereoset COMMAND --help` for a command's own\n\n"
        f"benchmarks and their tasks:\n{benchmarks_text()}\n\n"
        "a first run, on the sample that comes with the package:\n"
        "  stereoset run --model hf --model_args pretrained=gpt2 --tasks stereoset_en --metadata data=sample"
    )


def main(argv: Sequence[str] | None = None) -> int:
    if "_ARGCOMPLETE" in os.environ:  # the shell asks what may come next
        from lm_eval_stereoset.cli.completion import answer

        answer()
    argv = list(sys.argv[1:] if argv is None else argv)
    if not argv or argv[0] in ("-h", "--help"):
        print(usage())
        return 0 if argv else 2
    if argv[0] in ("-V", "--version"):
        print(f"stereoset {__version__}")
        return 0
    if argv[0] not in COMMANDS:
        print(
            f"stereoset: no command {argv[0]!r}; the commands are {', '.join(COMMANDS)}",
            file=sys.stderr,
        )
        return 2
    if hasattr(sys.stdout, "reconfigure"):  # a terminal or pipe that cannot show a letter shows its code
        sys.stdout.reconfigure(errors="backslashreplace")
    logging.basicConfig(format="%(levelname)s: %(message)s")
    module, _ = COMMANDS[argv[0]]
    return guarded(f"stereoset {argv[0]}", lambda: importlib.import_module(module).main(argv[1:]))


def guarded(name: str, command: Callable[[], int | None]) -> int:
    """Runs a command; a user's mistake becomes one line and exit code 2."""
    try:
        return command() or 0
    except UserError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"{name}: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader (`| head`) has gone; keep the interpreter from complaining about it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:  # no name that we make is that long
            raise
        print(f"{name}: {str(error.filename)[:80]}…: {error.strerror}", file=sys.stderr)
        return 2
