"""Each plot of the page as SVG and PNG, for papers: the same colours and shapes, drawn by matplotlib."""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from lm_eval_stereoset.benchmarks.declaration import Benchmark
from lm_eval_stereoset.files import atomic_write
from lm_eval_stereoset.report.extras import Picture, extras_of
from lm_eval_stereoset.report.figures.clusters import heat_map
from lm_eval_stereoset.report.figures.groups import by_group
from lm_eval_stereoset.report.figures.ranking import ranking
from lm_eval_stereoset.report.figures.style import STYLE
from lm_eval_stereoset.report.study import Study

SUFFIXES = ("svg", "png")


def plots_of(benchmark: Benchmark) -> dict[str, Picture]:
    """Those of the benchmark's own, then those that every benchmark has."""
    own = {panel.name: panel.picture for panel in extras_of(benchmark).panels if panel.picture}
    grouped = {_plural(benchmark.group): by_group, _plural(benchmark.cluster): heat_map}
    has_groups = any(metric.by_group for metric in benchmark.metrics)
    return {**own, **(grouped if has_groups else {}), "ranking": ranking}


def _plural(name: str) -> str:
    return re.sub(r"\W+", "_", f"{name}s")


def file_names(benchmark: Benchmark) -> list[str]:
    """All that write_figures may write."""
    plots = plots_of(benchmark)
    return [f"{name}_{split}.{suffix}" for split in benchmark.views for name in plots for suffix in SUFFIXES]


def write_figures(
    folder: Path, study: Study, progress: Callable[..., Iterable] = list, written: list[Any] | None = None
) -> list[str]:
    """Two files per plot and split. Adds every file to `written` as soon as it is there; returns the names of the
    plots that have nothing to show and are not written."""
    written = [] if written is None else written
    left_out: list[str] = []
    plots = plots_of(study.benchmark)
    jobs = [(f"{name}_{split}", plot, split) for split in study.splits() for name, plot in plots.items()]
    for name, plot, split in progress(jobs):
        with drawing(plot, study, split) as figure:
            if figure is None:
                left_out.append(name)
                continue
            for suffix in SUFFIXES:
                path = folder / f"{name}.{suffix}"
                with atomic_write(path, "wb") as handle:
                    save(figure, handle, suffix)
                written.append(path)
    return left_out


@contextmanager
def drawing(plot: Picture, study: Study, split: str) -> Iterator[Any]:
    """The figure, or None if there is nothing to show; gone afterwards."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    with matplotlib.rc_context(STYLE):
        figure = plot(study, split)
        try:
            yield figure
        finally:
            if figure is not None:
                pyplot.close(figure)


def save(figure: Any, handle: IO[bytes], suffix: str) -> None:
    metadata = {"Date": None} if suffix == "svg" else None  # the same input, the same file
    figure.savefig(handle, format=suffix, dpi=200, bbox_inches="tight", metadata=metadata)
