"""stereoset report RESULTS… -o report.html: one page, tables and figures from any number of results."""

import argparse
import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

EPILOG = """\
RESULTS can be, in any mixture:
  a folder of the harness (--output_path, best with --log_samples), or one results_*.json in it
  a file of predictions in the published format, or a folder of them
  JSON from `stereoset score --output`
The model's name and language are read from the results or the file name. To give them yourself:
  NAME=PATH  or  NAME:LANGUAGE=PATH

examples:
  stereoset report results/ -o report.html
  stereoset report results/gpt2 mBERT:de=mbert.json -o report.html --tables tables --figures figures
"""


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        prog="stereoset report",
        description="One self-contained HTML page, and tables and figures for a paper, from any number of results.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    p.add_argument("results", nargs="+", metavar="RESULTS", help="what to report on, see below")
    p.add_argument(
        "-o", "--output", default="report.html", metavar="FILE", help="the page (default: %(default)s)"
    )
    p.add_argument("--tables", metavar="DIR", help="also write the paper's tables as LaTeX, Markdown and CSV")
    p.add_argument("--intervals", action="store_true", help="95 %% intervals in these tables")
    p.add_argument("--figures", metavar="DIR", help="also write each plot as SVG and PNG")
    p.add_argument(
        "--against-paper", action="store_true", help="published numbers beside yours, with the difference"
    )
    p.add_argument(
        "--paper-row", action="append", default=[], metavar="MODEL=ROW",
        help="the papers' row (BERT, GPT-2, T5, mBERT, mGPT-2, mT5) for a model under another name",
    )  # fmt: skip
    p.add_argument("--title", default="StereoSet results", help="heading of the page")
    p.add_argument("--no-examples", action="store_true", help="a small page without the example browser")
    p.add_argument(
        "--data", metavar="NAME|DIR",
        help="data that the predictions are for: a folder laid out as <split>/<language>.jsonl, or 'sample' "
        "(default: StereoSet)",
    )  # fmt: skip
    return p


def main(argv: Sequence[str] | None = None) -> int:
    arguments = parser().parse_args(argv)

    from lm_eval_stereoset.errors import UserError
    from lm_eval_stereoset.report import inputs, paper, study
    from lm_eval_stereoset.report.page import write_page

    # The page says where numbers are undefined; a line in the log for each would hide the rest.
    logging.getLogger("lm_eval_stereoset.benchmarks.stereoset.evaluation").setLevel(logging.ERROR)
    check_outputs(arguments)
    rows = paper.parse_rows(arguments.paper_row)
    runs = inputs.load(arguments.results, arguments.data, _progress("reading"))
    found = study.build(runs, _progress("comparing"))
    published = paper.beside(runs, rows) if arguments.against_paper or rows else None

    written: list[str | Path] = []
    try:
        write_page(arguments.output, found, arguments.title, published, examples=not arguments.no_examples)
        written.append(arguments.output)
        if arguments.tables:
            from lm_eval_stereoset.report.tables import write_tables

            write_tables(Path(arguments.tables), found, arguments.intervals, published, written)
        if arguments.figures:
            from lm_eval_stereoset.report.figures import write_figures

            left_out = write_figures(Path(arguments.figures), found, _progress("drawing"), written)
            if left_out:
                print(f"note: nothing to draw for lack of samples: {', '.join(left_out)}", file=sys.stderr)
    except UserError as error:
        done = f"written before that: {', '.join(map(str, written))}" if written else "nothing was written"
        raise UserError(f"{error}; {done}") from error
    _say(found, published, written)
    return 0


def check_outputs(arguments: argparse.Namespace) -> None:
    """Before anything is read: no output may take the place of an input, nor of another output."""
    from lm_eval_stereoset.errors import UserError
    from lm_eval_stereoset.files import refuse_overwriting
    from lm_eval_stereoset.report import inputs

    if os.path.isdir(arguments.output):
        raise UserError(f"-o {arguments.output}: is a folder; give the page's file, such as report.html")
    outputs = {"-o": [Path(arguments.output)], "--tables": [], "--figures": []}
    if arguments.tables:
        from lm_eval_stereoset.report import tables

        outputs["--tables"] = [Path(arguments.tables) / name for name in tables.file_names()]
    if arguments.figures:
        from lm_eval_stereoset.report import figures

        outputs["--figures"] = [Path(arguments.figures) / name for name in figures.file_names()]
    for flag, folder in (("--tables", arguments.tables), ("--figures", arguments.figures)):
        if folder and os.path.exists(folder) and not os.path.isdir(folder):
            raise UserError(f"{flag} {folder}: is a file; name a folder")
    read = inputs.files_read(arguments.results, arguments.data)
    known = {(status.st_dev, status.st_ino): path for path, status in _existing(read)}
    for flag, paths in outputs.items():
        for path, status in _existing(paths):
            if (status.st_dev, status.st_ino) in known:
                refuse_overwriting(path, [known[status.st_dev, status.st_ino]], flag)
    refuse_overwriting(arguments.output, [*outputs["--tables"], *outputs["--figures"]], "-o")


def _existing(paths: Iterable[Path]) -> Iterator[tuple[Path, os.stat_result]]:
    for path in paths:
        with suppress(OSError, ValueError):
            yield path, os.stat(path)


def _say(found, published, written: Sequence[str | Path]) -> None:
    for notice in found.notices:
        print(f"{notice.level}: {notice.text}", file=sys.stderr)
    languages = ", ".join(found.languages)
    overall = [c for c in found.comparisons if c.split == found.splits()[0]]
    significant = sum(c.significant("icat") for c in overall)
    print(
        f"{_count(len(found.models), 'model')} in {_count(len(found.languages), 'language')} ({languages}), "
        f"{_count(len(found.runs), 'result')}"
    )
    if overall:
        print(f"{significant} of {len(overall)} comparisons of ICAT ({overall[0].split}) are significant")
    if published is not None:
        print(f"{sum(b.equal for b in published)} of {len(published)} published cells are equal as printed")
    size = Path(written[0]).stat().st_size / 1e6
    print(
        f"wrote {written[0]} ({size:.1f} MB)"
        + (f" and {_count(len(written) - 1, 'other file')}" if written[1:] else "")
    )


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _progress(label: str) -> Callable[[Sequence], Iterable]:
    from tqdm import tqdm

    return lambda items: tqdm(items, desc=label, leave=False, disable=None)  # silent without a terminal
