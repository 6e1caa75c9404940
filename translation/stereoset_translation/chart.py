"""The picture of a translation's problems: how many after each step, and for which target terms."""

from pathlib import Path
from typing import TYPE_CHECKING

from lm_eval_stereoset.benchmarks.stereoset.example import SPLITS
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import atomic_write
from stereoset_translation.steps import StepCounts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = {"intra": "#2a6f97", "inter": "#e07a2f"}
TERMS = 20  # as many as stay readable; the table has all


def draw(steps: list[StepCounts], language: str, path: Path) -> None:
    """Bars per step on the left; per target term, first step against last, on the right."""
    from matplotlib import rc_context

    with rc_context({"text.parse_math": False}):  # a $ in a target term is no formula
        _draw(steps, language, path)


def refuse_format(path: Path) -> None:
    """Said before anything is counted, and not by matplotlib after it."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    known = FigureCanvasAgg.get_supported_filetypes()
    if path.suffix and path.suffix.lstrip(".").lower() not in known:
        raise UserError(f"--picture {path}: no such kind of picture; take one of {', '.join(sorted(known))}")


def _draw(steps: list[StepCounts], language: str, path: Path) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    splits = [split for split in SPLITS if split in steps[0].targets]
    figure = Figure(figsize=(6 + 4.6 * len(splits), 6.4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, 1 + len(splits), width_ratios=[1.25] + [1] * len(splits))
    _per_step(axes[0], steps, splits)
    for ax, split in zip(axes[1:], splits, strict=True):
        _per_term(ax, steps, split)
    figure.suptitle(f"StereoSet in {language}: examples whose target does not occur in the context")
    with atomic_write(path, "wb") as handle:
        figure.savefig(handle, dpi=130, format=Path(path).suffix.lstrip(".").lower() or "png")


def _per_step(ax: "Axes", steps: list[StepCounts], splits: list[str]) -> None:
    width = 0.8 / len(splits)
    for offset, split in enumerate(splits):
        heights = [sum(step.targets.get(split, {}).values()) for step in steps]
        places = [i + (offset - (len(splits) - 1) / 2) * width for i in range(len(steps))]
        bars = ax.bar(places, heights, width, label=split, color=COLOURS[split])
        ax.bar_label(bars, padding=2, fontsize=9)
    ax.set_xticks(range(len(steps)), [_wrapped(step.step) for step in steps])
    ax.set_ylabel("problematic examples")
    ax.set_title("after each step", fontsize=11)
    ax.legend(frameon=False)
    ax.spines[["top", "right"]].set_visible(False)


def _per_term(ax: "Axes", steps: list[StepCounts], split: str) -> None:
    first, last = steps[0].targets[split], steps[-1].targets.get(split, {})
    terms = sorted({*first, *last}, key=lambda t: (-first.get(t, 0), -last.get(t, 0), t))
    shown = terms[:TERMS]
    places = range(len(shown))
    before = ax.barh(places, [first.get(t, 0) for t in shown], 0.8, color=COLOURS[split], alpha=0.35)
    ax.barh(places, [last.get(t, 0) for t in shown], 0.5, color=COLOURS[split])
    labels = [f"{first.get(t, 0)} → {last.get(t, 0)}" for t in shown]
    ax.bar_label(before, labels, padding=3, fontsize=8)
    ax.set_yticks(places, shown, fontsize=9)
    ax.invert_yaxis()
    ax.margins(x=0.18)
    rest = f" ({TERMS} worst of {len(terms)})" if len(terms) > TERMS else ""
    ax.set_title(f"{split} per target term{rest}\nlight: {steps[0].step}, dark: at the end", fontsize=11)
    ax.spines[["top", "right"]].set_visible(False)


def _wrapped(name: str) -> str:
    import textwrap

    return "\n".join(textwrap.wrap(name, 14))
