"""How often do the 95 % intervals of ICAT hold the truth? Before (percentile bootstrap) and after (stats/minimum.py).

python performance/coverage.py [--samples 2000] [--targets 79 20 300] [--lms 60 75 95] [--json FILE]
python performance/coverage.py --differences --samples 1000

Draws target terms from a population whose SS and LMS are known: terms as large as those of StereoSet's intra-sentence
test, and as different from each other as under the published predictions. Prints a table, then JSON. About 10 minutes.
--differences: two models of equal ICAT; how often is one called better, and how often does the interval hold zero?
"""

import argparse
import json
from pathlib import Path

import numpy as np
from scipy.special import ndtri

from lm_eval_stereoset.benchmarks.stereoset.declared import BENCHMARK
from lm_eval_stereoset.benchmarks.stereoset.metrics import ICAT_OF, icat
from lm_eval_stereoset.stats import paired
from lm_eval_stereoset.stats.bootstrap import SEED, Draws, draw, percentiles, times_drawn

STATISTICS = {metric.name: metric.statistic for metric in BENCHMARK.metrics if metric.ideal is not None}

# Size of a target term: how many of the 79 have it (StereoSet, intra-sentence test, English).
SIZES = {21: 1, 22: 3, 23: 3, 24: 7, 25: 10, 26: 14, 27: 12, 28: 12, 29: 7, 30: 6, 31: 3, 32: 1}
SPREAD_SS, SPREAD_LMS = 0.06, 0.05  # standard deviations between target terms (published: 0.03 to 0.10)
AGREEMENT = 0.45  # share of examples whose two meaningful candidates beat the unrelated one, or not, together
TRUE_SS = (30, 40, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 60, 70)
METRICS = ("icat", "icat_micro", "icat_macro")


def population(
    rng: np.random.Generator, targets: int, ss: float, lms: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Size, and sums of ss and lms / 2, of each target; `ss` and `lms` are shares."""
    size = rng.choice(list(SIZES), p=np.array(list(SIZES.values())) / sum(SIZES.values()), size=targets)
    sum_ss = rng.binomial(size, _between_targets(rng, ss, SPREAD_SS, targets))
    own_lms = _between_targets(rng, lms, SPREAD_LMS, targets)
    together = rng.binomial(size, AGREEMENT)
    sum_lms = rng.binomial(together, own_lms) + rng.binomial(2 * (size - together), own_lms) / 2
    return size, sum_ss.astype(float), sum_lms


def _between_targets(rng: np.random.Generator, mean: float, spread: float, targets: int) -> np.ndarray:
    spread = min(spread, 0.5 * np.sqrt(mean * (1 - mean)))
    concentration = mean * (1 - mean) / spread**2 - 1
    return rng.beta(mean * concentration, (1 - mean) * concentration, targets)


def percentile_interval(draws: Draws, metric: str) -> tuple[float, float]:
    """What was reported before."""
    return percentiles(draws.values[metric], draws.clusters)


def truth(metric: str, ss: float, lms: float, targets: int) -> float:
    """Macro ICAT is the mean of noisy ICATs of single targets: its expectation is found by drawing many."""
    if metric in ICAT_OF:
        return icat(lms, ss)
    size, sum_ss, sum_lms = population(np.random.default_rng(0), 400_000, ss / 100, lms / 100)
    return float(icat(100 * sum_lms / size, 100 * sum_ss / size).mean())


def cell(targets: int, ss: float, lms: float, samples: int) -> dict:
    rng = np.random.default_rng([targets, int(10 * ss), int(lms)])
    true = {metric: truth(metric, ss, lms, targets) for metric in METRICS}
    kinds = {"before": percentile_interval, "after": Draws.interval}
    held = {(kind, metric): 0 for kind in kinds for metric in METRICS}
    width = dict.fromkeys(held, 0.0)
    for _ in range(samples):
        draws = draw(np.column_stack(population(rng, targets, ss / 100, lms / 100)), STATISTICS)
        for kind, interval in kinds.items():
            for metric in METRICS:
                low, high = interval(draws, metric)
                held[kind, metric] += low <= true[metric] <= high
                width[kind, metric] += high - low
    result: dict = {"targets": targets, "ss": ss, "lms": lms, "samples": samples}
    for (kind, metric), count in held.items():
        result[f"{metric}_{kind}"] = round(100 * count / samples, 2)
        result[f"{metric}_width_{kind}"] = round(width[kind, metric] / samples, 3)
    return result


def single(all_targets: list[int], all_lms: list[float], all_ss: list[float], samples: int) -> list[dict]:
    print("coverage in per cent, before > after (mean width)")
    print("targets  LMS   SS" + "".join(f"{metric:>34}" for metric in METRICS))
    rows = []
    for targets in all_targets:
        for lms in all_lms:
            for ss in all_ss:
                row = cell(targets, ss, lms, samples)
                rows.append(row)
                shown = [
                    f"{row[f'{m}_before']:6.2f} > {row[f'{m}_after']:6.2f}"
                    f" ({row[f'{m}_width_before']:.2f} > {row[f'{m}_width_after']:.2f})"
                    for m in METRICS
                ]
                print(f"{targets:7} {lms:4.0f} {ss:4.0f}" + "".join(f"{s:>34}" for s in shown), flush=True)
    return rows


def similar_models(
    rng: np.random.Generator, targets: int, sides: list[tuple[float, float]], alike: float
) -> paired.PairedSums:
    """Two models with these SS and LMS, whose answers are made from the same random numbers in a share `alike`."""
    chances = np.array(list(SIZES.values())) / sum(SIZES.values())
    size = rng.choice(list(SIZES), p=chances, size=targets)
    index = np.repeat(np.arange(targets), size)
    of_target, of_example = rng.normal(size=(3, targets)), rng.normal(size=(3, len(index)))
    sums = []
    for ss, lms in sides:
        own = rng.normal(size=(3, targets)), rng.normal(size=(3, len(index)))
        target, example = (
            np.sqrt(alike) * common + np.sqrt(1 - alike) * new
            for common, new in zip((of_target, of_example), own, strict=True)
        )
        latent = 0.15 * target[:, index] + np.sqrt(1 - 0.15**2) * example
        stereotype, one, two = latent < ndtri(np.array([[ss], [lms], [lms]]) / 100)
        answers = (stereotype, (one.astype(float) + two) / 2)
        sums.append(np.column_stack([size, *(np.bincount(index, weights=a) for a in answers)]))
    return paired.PairedSums(*sums)


def difference_cell(targets: int, first_ss: float, second_ss: float, alike: float, samples: int) -> dict:
    """Equal ICAT: 0 should lie in 95 % of intervals, and p below 0.05 in 5 % of cases."""
    first_lms = 80.0
    second_lms = first_lms * min(first_ss, 100 - first_ss) / min(second_ss, 100 - second_ss)
    sides = [(first_ss, first_lms), (second_ss, second_lms)]
    rng = np.random.default_rng([targets, int(first_ss), int(second_ss), int(100 * alike)])
    before = after = rejected = 0
    for _ in range(samples):
        sums = similar_models(rng, targets, sides, alike)
        times = times_drawn(targets, paired.DRAWS, SEED)
        one, two = (STATISTICS["icat"].value(times, side) for side in (sums.first, sums.second))
        low, high = percentiles(one - two, targets)
        before += low <= 0 <= high
        p = paired.permutation_p_values(sums, {"icat": STATISTICS["icat"]})["icat"]
        found = paired.difference(sums, STATISTICS["icat"], p)
        after += found.low <= 0 <= found.high
        rejected += p < 0.05
    shares = {"before": before, "after": after, "rejected": rejected}
    row = {
        "targets": targets,
        "first_ss": first_ss,
        "second_ss": second_ss,
        "alike": alike,
        "samples": samples,
    }
    return row | {name: round(100 * count / samples, 2) for name, count in shares.items()}


def differences(all_targets: list[int], samples: int) -> list[dict]:
    print("interval of the difference holds 0, before > after; p below 0.05; all in per cent")
    rows = []
    for targets in all_targets:
        for alike in (0, 0.5, 0.9):
            for pair in ((50, 50), (50, 51), (50, 55), (49, 55), (48, 55), (45, 55), (58, 60)):
                row = difference_cell(targets, *pair, alike, samples)
                rows.append(row)
                print(
                    f"{targets:4} targets, SS {pair[0]} and {pair[1]}, alike {alike:.1f}: "
                    f"{row['before']:6.2f} > {row['after']:6.2f}   p {row['rejected']:5.2f}",
                    flush=True,
                )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--targets", type=int, nargs="+", default=[79, 20, 300])
    parser.add_argument("--ss", type=float, nargs="+", default=TRUE_SS)
    parser.add_argument("--lms", type=float, nargs="+", default=[60, 75, 95])
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--differences", action="store_true", help="of two models instead")
    args = parser.parse_args()
    if args.differences:
        rows = differences(args.targets, args.samples)
    else:
        rows = single(args.targets, args.lms, args.ss, args.samples)
    text = json.dumps(rows)
    print(text)
    if args.json:
        Path(args.json).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
