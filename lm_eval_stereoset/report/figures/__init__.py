"""Each plot of the page as SVG and PNG, for papers: the same colours and shapes, drawn by matplotlib."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from lm_eval_stereoset.files import atomic_write
from lm_eval_stereoset.report.figures.bias_types import bias_types
from lm_eval_stereoset.report.figures.ranking import ranking
from lm_eval_stereoset.report.figures.scatter import scatter
from lm_eval_stereoset.report.figures.style import STYLE
from lm_eval_stereoset.report.figures.targets import heat_map
from lm_eval_stereoset.report.run import ALL_SPLITS
from lm_eval_stereoset.report.study import Study

PLOTS: dict[str, Callable[[Study, str], Any]] = {
    "lms_ss": scatter,
    "bias_types": bias_types,
    "targets": heat_map,
    "ranking": ranking,
}


SUFFIXES = ("svg", "png")


def file_names() -> list[str]:
    """All that write_figures may write."""
    return [f"{name}_{split}.{suffix}" for split in ALL_SPLITS for name in PLOTS for suffix in SUFFIXES]


def write_figures(
    folder: Path, study: Study, progress: Callable[..., Iterable] = list, written: list[Any] | None = None
) -> list[str]:
    """Two files per plot and split. Adds every file to `written` as soon as it is there; returns the names of the
    plots that have nothing to show and are not written."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    written = [] if written is None else written
    left_out: list[str] = []
    jobs = [(f"{name}_{split}", plot, split) for split in study.splits() for name, plot in PLOTS.items()]
    for name, plot, split in progress(jobs):
        with matplotlib.rc_context(STYLE):
            figure = plot(study, split)
            if figure is None:
                left_out.append(name)
                continue
            for suffix in SUFFIXES:
                path = folder / f"{name}.{suffix}"
                with atomic_write(path, "wb") as handle:
                    metadata = {"Date": None} if suffix == "svg" else None  # the same input, the same file
                    figure.savefig(handle, format=suffix, dpi=200, bbox_inches="tight", metadata=metadata)
                written.append(path)
            pyplot.close(figure)
    return left_out
