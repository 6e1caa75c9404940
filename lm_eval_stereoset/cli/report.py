"""stereoset report RESULTS… -o report.html: one page, tables and figures from any number of results."""

import argparse
import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lm_eval_stereoset.report.extras import Beside
    from lm_eval_stereoset.report.study import Study

EPILOG = """\
RESULTS can be, in any mixture:
  a folder of the harness (--output_path, best with --log_samples), or one results_*.json in it
  a file of predictions (`stereoset predict`, or a published format), or a folder of them; files of one model that
  hold different splits, such as GEST's templates, are taken together
  JSON from `stereoset score --output` or `stereoset gest-mt score --output`
The model's name and language are read from the results or the file name. To give them yourself:
  NAME=PATH  or  NAME:LANGUAGE=PATH

examples:
  stereoset report results/ -o report.html
  stereoset report results/gpt2 mBERT:de=mbert.json -o report.html --tables tables --figures figures
"""


def make_parser() -> argparse.ArgumentParser:
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
        help="the papers' row, such as BERT, for a model under another name",
    )  # fmt: skip
    p.add_argument("--title", help="heading of the page (default: the benchmarks' names)")
    p.add_argument("--no-examples", action="store_true", help="a small page without the example browser")
    p.add_argument(
        "--data", metavar="NAME|DIR",
        help="data that the predictions are for: a folder laid out as <split>/<language>.jsonl, or 'sample' "
        "(default: the benchmark's)",
    )  # fmt: skip
    return p


def main(argv: Sequence[str] | None = None) -> int:
    arguments = make_parser().parse_args(argv)

    from lm_eval_stereoset.errors import UserError
    from lm_eval_stereoset.report import inputs, published, study

    # The page says where numbers are undefined; a line in the log for each would hide the rest.
    logging.getLogger("lm_eval_stereoset.benchmarks.evaluation").setLevel(logging.ERROR)
    check_outputs(arguments)
    runs = inputs.load(arguments.results, arguments.data, _progress("reading"))
    rows = published.parse_rows(arguments.paper_row, runs)
    studies = study.build(runs, _progress("comparing"))
    beside = published.beside(runs, rows) if arguments.against_paper or rows else None

    written: list[str | Path] = []
    try:
        _write(arguments, studies, beside, written)
    except UserError as error:
        done = f"written before that: {', '.join(map(str, written))}" if written else "nothing was written"
        raise UserError(f"{error}; {done}") from error
    _say(studies, beside, written)
    return 0


def _write(
    arguments: argparse.Namespace,
    studies: Sequence["Study"],
    beside: Mapping[str, Sequence["Beside"]] | None,
    written: list[str | Path],
) -> None:
    """Every file goes into `written` as soon as it is there."""
    from lm_eval_stereoset.report.page import write_page
    from lm_eval_stereoset.report.tables import folder_of, write_tables

    write_page(arguments.output, studies, arguments.title, beside, examples=not arguments.no_examples)
    written.append(arguments.output)
    for one in studies if arguments.tables else ():
        folder = folder_of(Path(arguments.tables), one.benchmark)
        write_tables(folder, one, arguments.intervals, (beside or {}).get(one.benchmark.name), written)
    for one in studies if arguments.figures else ():
        from lm_eval_stereoset.report.figures import write_figures

        folder = folder_of(Path(arguments.figures), one.benchmark)
        left_out = write_figures(folder, one, _progress("drawing"), written)
        if left_out:
            print(f"note: nothing to draw for lack of samples: {', '.join(left_out)}", file=sys.stderr)


def check_outputs(arguments: argparse.Namespace) -> None:
    """Before anything is read: no output may take the place of an input, nor of another output."""
    from lm_eval_stereoset.errors import UserError
    from lm_eval_stereoset.files import refuse_overwriting
    from lm_eval_stereoset.report import inputs, tables
    from lm_eval_stereoset.report.extras import reported_benchmarks

    if os.path.isdir(arguments.output):
        raise UserError(f"-o {arguments.output}: is a folder; give the page's file, such as report.html")
    outputs = {"-o": [Path(arguments.output)], "--tables": [], "--figures": []}
    names = {}
    if arguments.tables:
        names["--tables"] = (arguments.tables, tables.file_names)
    if arguments.figures:
        from lm_eval_stereoset.report import figures

        names["--figures"] = (arguments.figures, figures.file_names)
    for flag, (folder, names_of) in names.items():
        outputs[flag] = [
            tables.folder_of(Path(folder), benchmark) / name
            for benchmark in reported_benchmarks()
            for name in names_of(benchmark)
        ]
        if os.path.exists(folder) and not os.path.isdir(folder):
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


def _say(
    studies: Sequence["Study"],
    beside: Mapping[str, Sequence["Beside"]] | None,
    written: Sequence[str | Path],
) -> None:
    for study in studies:
        title = f"{study.benchmark.title}: " if len(studies) > 1 else ""
        for notice in study.notices:
            print(f"{notice.level}: {title}{notice.text}", file=sys.stderr)
    for study in studies:
        title = f"{study.benchmark.title}: " if len(studies) > 1 else ""
        languages = [code for code in study.languages if any(run.language == code for run in study.runs)]
        models = {run.model for run in study.runs}
        print(
            f"{title}{_count(len(models), 'model')} in {_count(len(languages), 'language')} "
            f"({', '.join(languages)}), {_count(len(study.runs), 'result')}"
        )
        metric, split = study.benchmark.ranking, study.splits()[0]
        compared = [c for c in study.comparisons if c.split == split]
        if compared:
            significant = sum(c.significant(metric.name) for c in compared)
            what = f"{metric.title} ({split})" if len(study.benchmark.splits) > 1 else metric.title
            print(f"{title}{significant} of {len(compared)} comparisons of {what} are significant")
    if beside is not None:
        found = [one for cells in beside.values() for one in cells]
        print(f"{sum(one.equal for one in found)} of {len(found)} published cells are equal as printed")
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
