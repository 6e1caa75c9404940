"""Writes docs/cli.md from the parsers of the command line, so that it never says anything else than they do.

python docs/make_cli.py          writes it
python docs/make_cli.py --check  exits 1 if it is not what would be written
"""

import argparse
import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from lm_eval_stereoset.cli import COMMANDS

PAGE = Path(__file__).with_name("cli.md")
INTRODUCTION = """\
# The command line

Written by `python docs/make_cli.py` from the parsers themselves; `stereoset COMMAND --help` says the same.

{verbs}

Every command ends with exit code 0, with 2 after a mistake of yours, which it names in one line with the way out, and
with 130 when it is interrupted. `stereoset COMMAND` and `python -m lm_eval_stereoset COMMAND` are the same.

Completion of commands, options, tasks and languages on TAB: put `eval "$(stereoset completion bash)"` into `~/.bashrc`
(zsh: `eval "$(stereoset completion zsh)"` into `~/.zshrc`, after `compinit`; fish:
`stereoset completion fish | source`).
"""
RUN = """\
The flags below are ours. All flags of `lm_eval run` work, too: `--tasks`, `--model`, `--model_args`, `--limit`,
`--batch_size`, `--device`, `--output_path`, `--log_samples`, `--use_cache`, `--predict_only`, `--config` and the others
that `stereoset run --help` lists after ours.
"""


def page() -> str:
    verbs = "\n".join(
        f"- [`stereoset {name}`](#stereoset-{name}): {text}" for name, (_, text) in COMMANDS.items()
    )
    parts = [INTRODUCTION.format(verbs=verbs)]
    for name, (module, _) in COMMANDS.items():
        parser = importlib.import_module(module).make_parser()
        for title, level, one in parsers_in(f"stereoset {name}", 2, parser):
            parts.append(section(title, level, one, RUN if name == "run" else ""))
    return "\n".join(parts)


def parsers_in(
    title: str, level: int, parser: argparse.ArgumentParser
) -> Iterator[tuple[str, int, argparse.ArgumentParser]]:
    yield title, level, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for verb, inner in action.choices.items():
                yield from parsers_in(f"{title} {verb}", level + 1, inner)


def section(title: str, level: int, parser: argparse.ArgumentParser, before: str) -> str:
    """A heading, what the command does, and a table of its arguments."""
    lines = [f"{'#' * level} {title}", ""]
    raw = parser.formatter_class is argparse.RawDescriptionHelpFormatter
    if parser.description:
        lines += [fenced(parser.description) if "\n" in parser.description else parser.description, ""]
    if before:
        lines += [before]
    rows = [row for action in parser._actions if (row := row_of(parser, action))]
    if rows:
        lines += ["| argument | meaning |", "|---|---|", *rows, ""]
    if parser.epilog:
        lines += [fenced(parser.epilog) if raw else parser.epilog, ""]
    return "\n".join(lines)


def fenced(text: str) -> str:
    return f"```text\n{text.rstrip()}\n```"


def row_of(parser: argparse.ArgumentParser, action: argparse.Action) -> str | None:
    if isinstance(action, argparse._HelpAction) or action.help == argparse.SUPPRESS:
        return None
    if isinstance(action, argparse._SubParsersAction):
        verbs = {choice.dest: choice.help for choice in action._choices_actions}
        return "\n".join(f"| `{verb}` | {cell(text or '')} |" for verb, text in verbs.items())
    values = "" if action.nargs == 0 else value_of(action)
    names = [f"`{name}{values and ' ' + values}`" for name in action.option_strings] or [f"`{values}`"]
    text = (action.help or "") % {"default": action.default, "prog": parser.prog}
    if action.required and action.option_strings:
        text += " (needed)"
    return f"| {cell(', '.join(names))} | {cell(text)} |"


def value_of(action: argparse.Action) -> str:
    name = action.metavar or ("{" + ",".join(map(str, action.choices)) + "}" if action.choices else None)
    name = name or (action.dest.upper() if action.option_strings else action.dest)
    return f"{name} …" if action.nargs in ("+", "*") else str(name)


def cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|").replace("<", "&lt;")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    if parser.parse_args().check:
        return int(PAGE.read_text(encoding="utf-8") != page())
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
