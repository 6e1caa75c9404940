"""What a sweep writes: JSON, a table like the paper's table 7, and a picture."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lm_eval_stereoset.files import atomic_write, write_json
from lm_eval_stereoset.interventions.levels import BASE, LEVELS

Row = Mapping[str, Any]
TITLES = {
    BASE: "base", "sent": "sent", "layer12": "layer12: the last", "layer11": "layer11: the one before",
    "attn": "attn: and its attention",
}  # fmt: skip
LOST = 0.05  # a model that lost more of its base's accuracy than this share has lost its skill


def level_of(row: Row) -> str:
    return row["setting"].partition(" ")[0]


def bias(row: Row) -> tuple[float, float]:
    """Both are 0 in an unbiased model."""
    return abs(row["S"]), abs(row["D"])


def pareto(rows: Sequence[Row]) -> list[Row]:
    """Settings that no other beats in S or D without losing in the other, the base among them if it is one."""

    def beaten(row: Row) -> bool:
        mine = bias(row)
        return any(
            all(a <= b for a, b in zip(bias(one), mine, strict=True)) and bias(one) != mine for one in rows
        )

    return sorted((row for row in rows if not beaten(row)), key=bias)


def write_outputs(output: Path, head: Mapping[str, Any], rows: Sequence[Row]) -> list[Path]:
    best = {row["setting"] for row in pareto(rows)}
    marked = [{**row, "pareto": row["setting"] in best} for row in rows]
    table = table_of(marked)
    with atomic_write(output.with_suffix(".md")) as handle:
        handle.write("\n".join(table) + "\n")
    paths = [output.with_suffix(".md"), *draw(output, marked)]
    write_json(output, {**head, "settings": [_without_nan(row) for row in marked]})
    print("\n".join(plain_table(marked)))
    return paths


def _without_nan(row: Row) -> dict[str, Any]:
    """JSON has no word for NaN."""
    return {
        key: None if isinstance(value, float) and math.isnan(value) else value for key, value in row.items()
    }


def columns_of(rows: Sequence[Row]) -> list[str]:
    """The metrics, without their errors."""
    return [key for key in rows[0] if key not in ("setting", "pareto") and not key.endswith("_stderr")]


def table_of(rows: Sequence[Row]) -> list[str]:
    """Markdown, level by level as the paper's table 7."""
    columns = columns_of(rows)
    lines = [f"| setting | {' | '.join(columns)} |", "|---|" + "---|" * len(columns)]
    for row in rows:
        cells = [f"{row[name]:.4f} ± {row[f'{name}_stderr']:.4f}" for name in columns]
        name = f"**{row['setting']}**" if row["pareto"] else row["setting"]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return [
        *lines,
        "",
        "Bold: no other setting is better in S or in D without being worse in the other. ±: standard error. "
        "Numbers of a setting: n11, c11, n12, c12, n_p, as many as its level has.",
    ]


def plain_table(rows: Sequence[Row]) -> list[str]:
    """The base, and the settings that nothing beats: what to look at first."""
    columns = columns_of(rows)
    shown = [row for row in rows if row["pareto"] or row["setting"] == BASE]
    width = max(len(row["setting"]) for row in shown)
    lines = [f"{'setting':<{width}}  " + "  ".join(f"{name:<15}" for name in columns).rstrip()]
    for row in shown:
        cells = [f"{row[name]:.4f} ± {row[f'{name}_stderr']:.4f}" for name in columns]
        lines.append(f"{row['setting']:<{width}}  " + "  ".join(f"{cell:<15}" for cell in cells).rstrip())
    return [*lines, f"{len(rows)} settings; shown are the base and those that no other beats in both S and D"]


def draw(output: Path, rows: Sequence[Row]) -> list[Path]:
    """PNG and SVG."""
    import matplotlib

    from lm_eval_stereoset.report.figures.style import STYLE

    matplotlib.use("Agg")
    from matplotlib import pyplot

    panels = 2 if "eta" in rows[0] else 1
    paths = [output.with_suffix(ending) for ending in (".png", ".svg")]
    with matplotlib.rc_context(STYLE):
        figure, grid = pyplot.subplots(
            1, panels, figsize=(5.6 * panels, 4.6), squeeze=False, layout="constrained"
        )
        _panel(grid[0, 0], rows, "D")
        grid[0, 0].set_title("Strength and distance", loc="left")
        if panels == 2:
            _panel(grid[0, 1], rows, "eta")
            grid[0, 1].set_title("Strength, and fairness in NLI", loc="left")
        figure.legend(loc="outside lower center", ncols=3 if panels == 1 else 5, frameon=False, fontsize=8)
        for path in paths:
            with atomic_write(path, "wb") as handle:
                more = {"metadata": {"Date": None}} if path.suffix == ".svg" else {"dpi": 160}
                figure.savefig(handle, format=path.suffix[1:], **more)
        pyplot.close(figure)
    return paths


def _panel(axes: Any, rows: Sequence[Row], other: str) -> None:
    from lm_eval_stereoset.report.figures.style import COLOURS, GREY

    for level, shade in zip((BASE, *LEVELS), ("black", *COLOURS), strict=False):
        here = [row for row in rows if level_of(row) == level]
        if not here:
            continue
        title: str | None = TITLES[level] if other == "D" else None  # in the legend once
        for able, face in ((True, shade), (False, "white")):
            points = [row for row in here if viable(row, rows) == able]
            if points:
                axes.scatter(
                    [row["S"] for row in points], [row[other] for row in points], s=60 if level == BASE else 22,
                    marker="*" if level == BASE else "o", facecolor=face, edgecolor=shade, linewidth=0.8,
                    label=title, zorder=3,
                )  # fmt: skip
                title = None
    if other == "D":
        front = [row for row in rows if row["pareto"]]
        front = sorted(front, key=bias)
        axes.plot(
            [row["S"] for row in front], [row["D"] for row in front], color=GREY, linewidth=0.8, zorder=1
        )
        for number, row in enumerate(front):
            axes.annotate(row["setting"], (row["S"], row["D"]), (12, -4 - 11 * number), textcoords="offset points",
                          fontsize=7, color=GREY, arrowprops={"arrowstyle": "-", "color": GREY, "linewidth": 0.4},
                          annotation_clip=False)  # fmt: skip
    elif not all(viable(row, rows) for row in rows):
        axes.annotate(
            f"hollow: SNLI accuracy more than {100 * LOST:.0f} % below the base's", (0, -0.17),
            xycoords="axes fraction", fontsize=7, color=GREY,
        )  # fmt: skip
    axes.set_xlabel("S (0 is ideal)")
    axes.set_ylabel("D (0 is ideal)" if other == "D" else "eta = accuracy x parity (1 is ideal)")
    axes.grid(color="#e4e7eb", zorder=0)
    axes.set_axisbelow(True)


def viable(row: Row, rows: Sequence[Row]) -> bool:
    """Whether it kept the skill of the base, as far as that was measured."""
    if "snli_accuracy" not in row:
        return True
    base = next(one for one in rows if one["setting"] == BASE)
    return row["snli_accuracy"] >= (1 - LOST) * base["snli_accuracy"]
