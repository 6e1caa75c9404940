"""stereoset report RESULTS… -o report.html: one page, tables and figures from any number of results."""

import argparse
import logging
import sys
from collections.abc import Callable, Iterable, Sequence
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
    logging.getLogger("lm_eval_stereoset.evaluation").setLevel(logging.ERROR)
    if Path(arguments.output).is_dir():
        raise UserError(f"-o {arguments.output}: is a folder; give the page's file, such as report.html")
    rows = paper.parse_rows(arguments.paper_row)
    runs = inputs.load(arguments.results, arguments.data, _progress("reading"))
    found = study.build(runs, _progress("comparing"))
    published = paper.beside(runs, rows) if arguments.against_paper or rows else None

    written = [arguments.output]
    write_page(arguments.output, found, arguments.title, published, examples=not arguments.no_examples)
    if arguments.tables:
        from lm_eval_stereoset.report.tables import write_tables

        written += write_tables(Path(arguments.tables), found, arguments.intervals, published)
    if arguments.figures:
        from lm_eval_stereoset.report.figures import write_figures

        figures, left_out = write_figures(Path(arguments.figures), found, _progress("drawing"))
        written += figures
        if left_out:
            print(f"note: nothing to draw for lack of samples: {', '.join(left_out)}", file=sys.stderr)
    _say(found, published, written)
    return 0


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
