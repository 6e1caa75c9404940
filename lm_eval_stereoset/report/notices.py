"""What a reader must know before believing a number: partial data, unlike data, unlike scoring, ties."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from lm_eval_stereoset.benchmarks.declaration import OVERALL
from lm_eval_stereoset.report.comparisons import Comparison
from lm_eval_stereoset.report.extras import extras_of
from lm_eval_stereoset.report.model_run import Run


@dataclass(frozen=True)
class Notice:
    level: str  # "warning" or "note"
    text: str


def notices(runs: Sequence[Run], comparisons: Sequence[Comparison]) -> list[Notice]:
    """`runs`: of one benchmark."""
    found = [*_sample(runs), *_partial(runs), *_unlike_data(runs), *_unlike_normalisers(runs)]
    found += [Notice("warning", caution) for run in runs if (caution := run.caution)]
    found += [notice for run in runs[:1] for notice in extras_of(run.benchmark).notices(runs)]
    found += [Notice("note", f"{run.label}: {note}.") for run in runs for note in run.notes]
    found += [*_missing_splits(runs), *_left_out(comparisons)]
    return found


def _sample(runs: Sequence[Run]) -> list[Notice]:
    labels = [run.label for run in runs if any(about.get("data") == "sample" for about in run.data.values())]
    if not labels:
        return []
    which = "All runs" if len(labels) == len(runs) else ", ".join(labels)
    title = runs[0].benchmark.title
    text = (
        f"{which}: on the small sample that comes with the package, not on {title}; not for comparing models."
    )
    return [Notice("warning", text)]


def _partial(runs: Sequence[Run]) -> list[Notice]:
    found = []
    for run in runs:
        splits = run.benchmark.pooled_splits
        whole = {OVERALL: sum(run.complete.get(split, 0) for split in splits)} | run.complete
        parts = [split for split in splits if run.overall(split, "n") < whole.get(split, 0)]
        if not parts and run.overall(OVERALL, "n") < whole[OVERALL]:
            parts = [OVERALL]  # results without samples give no count for a split of a pooled task
        for split in parts:
            n = run.overall(split, "n")
            text = f"{run.label}: {split} covers only {n:,.0f} of {whole[split]:,} examples (--limit?); "
            found.append(Notice("warning", text + "its numbers are not comparable with those of whole runs."))
    return found


def _unlike_data(runs: Sequence[Run]) -> list[Notice]:
    versions: dict[tuple[str, str], dict[str, list[Run]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        for split, about in run.data.items():
            if digest := about.get("sha256"):
                versions[split, run.language][digest].append(run)
    found = []
    for (split, language), by_digest in versions.items():
        if len(by_digest) > 1:
            parts = []
            for digest, group in by_digest.items():
                about = group[0].data[split]
                name = f"{about.get('data', '?')} {about.get('version', '?')} (sha256 {digest[:12]})"
                parts.append(f"{name}: {', '.join(run.model for run in group)}")
            text = f"{split}/{language}: runs used different versions of the data. {'; '.join(parts)}."
            found.append(Notice("warning", text))
    return found


def _unlike_normalisers(runs: Sequence[Run]) -> list[Notice]:
    kinds: dict[str, list[str]] = defaultdict(list)
    for run in runs:
        if run.normaliser and run.normaliser.strip():
            # a next-sentence probability has no normaliser, which is no reason to warn
            kinds["bytes" if "bytes" in run.normaliser else "tokens"].append(run.label)
    if len(kinds) < 2:
        return []
    text = "; ".join(f"by {kind}: {', '.join(labels)}" for kind, labels in kinds.items())
    return [Notice("warning", f"Scores were normalised in different ways and are not comparable. {text}.")]


def _missing_splits(runs: Sequence[Run]) -> list[Notice]:
    """Where some results have a pooled value and others do not."""
    if not any(OVERALL in run.table for run in runs):
        return []
    found = []
    for run in runs:
        if OVERALL not in run.table:
            have = ", ".join(split for split in run.benchmark.splits if split in run.table) or "nothing"
            found.append(Notice("note", f"{run.label}: only {have} was run, so it has no overall value."))
    return found


def _left_out(comparisons: Sequence[Comparison]) -> list[Notice]:
    first = next((c.split for c in comparisons), None)  # that of the pooled examples, if there are some
    unlike = [c for c in comparisons if c.left_out and c.split == first]
    if not unlike:
        return []
    most = max(unlike, key=lambda c: c.left_out)
    return [
        Notice(
            "note",
            f"{len(unlike)} comparisons use only the examples that both sides have; at most {most.left_out:,} "
            f"are left out ({most.first.label} and {most.second.label}).",
        )
    ]
