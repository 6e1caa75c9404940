"""stereoset completion SHELL: what makes a shell complete our verbs, flags, tasks and languages.

eval "$(stereoset completion bash)"         # or zsh; put the line into ~/.bashrc or ~/.zshrc
stereoset completion fish | source

The shell runs `stereoset` itself, with _ARGCOMPLETE in the environment and the line so far in COMP_LINE (the protocol
of the library argcomplete). `answer` then builds the parser of the verb on the line and no other, which keeps it fast.
"""

import argparse
import importlib
import os
from collections.abc import Callable, Sequence
from typing import Any

SHELLS = ("bash", "zsh", "fish", "powershell")
Completer = Callable[..., Sequence[str]]


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="stereoset completion",
        description="Prints what makes your shell complete the commands, options, tasks and languages of stereoset.",
        epilog='bash, zsh:  eval "$(stereoset completion bash)"    fish:  stereoset completion fish | source\n'
        "Put the line into ~/.bashrc, ~/.zshrc or ~/.config/fish/config.fish to have it in every shell.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("shell", choices=SHELLS, help="the shell you type in")
    return parser


def main(argv: Sequence[str]) -> None:
    from argcomplete.shell_integration import shellcode

    args = make_parser().parse_args(argv)
    print(shellcode(["stereoset"], shell=args.shell))


def answer() -> None:
    """Tells the shell what may come next, and ends the process."""
    import argcomplete

    words = os.environ.get("COMP_LINE", "").split()
    argcomplete.autocomplete(parser_of_line(words[1] if len(words) > 1 else None))


def parser_of_line(verb: str | None) -> argparse.ArgumentParser:
    from lm_eval_stereoset import cli

    parser = argparse.ArgumentParser(prog="stereoset")
    parser.add_argument("--version", action="store_true")
    verbs = parser.add_subparsers()
    for name, (module, text) in cli.COMMANDS.items():
        if name != verb:
            verbs.add_parser(name, help=text)
            continue
        parents = [importlib.import_module(module).make_parser()]
        if name == "run":
            parents.append(harness_parser())
        verbs.add_parser(name, help=text, parents=parents, conflict_handler="resolve")
    with_completers(parser)
    return parser


def harness_parser() -> argparse.ArgumentParser:
    """The parser of `lm_eval run`."""
    from lm_eval._cli.run import Run

    verbs = argparse.ArgumentParser().add_subparsers()
    Run.create(verbs)
    return verbs.choices["run"]


def with_completers(parser: argparse.ArgumentParser) -> None:
    """Hangs our completers on the parser's actions, where argcomplete looks for them, and on those of its verbs."""
    known = completers()
    for action in parser._actions:
        names = [*action.option_strings, action.dest]
        found = next((known[name] for name in names if name in known), None)
        if found is not None and not action.choices:
            action.completer = found  # type: ignore[attr-defined]
        if isinstance(action, argparse._SubParsersAction):
            for verb in action.choices.values():
                with_completers(verb)


def completers() -> dict[str, Completer]:
    """{option, or name of a positional argument: what may stand there}."""
    from lm_eval_stereoset.cli import run_help

    model_args = [f"{name}=" for name in (*run_help.COMMON_MODEL_ARGS, *run_help.OWN_MODEL_ARGS)]
    return {
        "--tasks": one_of(task_names, separated=True),
        "--language": one_of(languages),
        "--languages": one_of(languages),
        "--model": one_of(lambda: list(run_help.MODEL_TYPES)),
        "--model_args": one_of(lambda: model_args, separated=True),
        "--metadata": one_of(lambda: ["data=sample", "data=", "orders="]),
        "--data": sample_or_folder,
        "--split": one_of(splits),
        "--benchmark": one_of(benchmark_names),
        "benchmark": one_of(benchmark_names),
        "--preset": one_of(presets),
    }


def one_of(values: Callable[[], Sequence[str]], separated: bool = False) -> Completer:
    """`separated`: several of them with commas between."""

    def complete(prefix: str, **_: Any) -> list[str]:
        head, comma, last = prefix.rpartition(",") if separated else ("", "", prefix)
        return [head + comma + value for value in values() if value.startswith(last)]

    return complete


def benchmark_names() -> list[str]:
    from lm_eval_stereoset import benchmarks

    return [benchmark.name for benchmark in benchmarks.with_own_data()]


def task_names() -> list[str]:
    """Those of added languages, too, whose task files are written only when something runs."""
    from lm_eval_stereoset.harness.paths import installed_names
    from lm_eval_stereoset.harness.yaml_tasks import all_own_files

    own = {path.stem for path in all_own_files() if path.suffix == ".yaml" and not path.stem.startswith("_")}
    return sorted({*installed_names(), *own})


def languages() -> list[str]:
    from lm_eval_stereoset import benchmarks
    from lm_eval_stereoset.harness.yaml_tasks import own_languages

    found = [code for b in benchmarks.registered() for code in (*b.built_in, *own_languages(b))]
    return list(dict.fromkeys(found))


def splits() -> list[str]:
    from lm_eval_stereoset import benchmarks

    return [*dict.fromkeys(split for b in benchmarks.registered() for split in b.splits), "both"]


def presets() -> list[str]:
    from nsp_finetune.settings import preset_names

    return preset_names()


def sample_or_folder(prefix: str, **options: Any) -> list[str]:
    from argcomplete.completers import DirectoriesCompleter

    folders = list(DirectoriesCompleter()(prefix=prefix, **options))
    return [*(["sample"] if "sample".startswith(prefix) else []), *folders]
