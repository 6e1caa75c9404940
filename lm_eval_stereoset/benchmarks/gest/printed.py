"""The numbers of GEST and EuroGEST as `stereoset score` prints them: one row per stereotype."""

import math
from collections.abc import Mapping

from lm_eval_stereoset.benchmarks.gest.stereotypes import ABOUT_WOMEN, NAMES, NUMBERS

MEANS = {
    "g_s": "q_m - q_f; 0 is ideal",
    "g_s_ratio": "mean r of men's stereotypes / of women's; 1 is ideal",
    "q_m": "mean of 8 to 16, stereotypes about men",
    "q_f": "mean of 1 to 7, stereotypes about women",
    "q_fam": "men's stereotypes in sentences about a family",
}


def printed(values: Mapping[str, float]) -> str:
    lines = [
        f"  {name:<10} {_with_interval(values, name):<28} {text}"
        for name, text in MEANS.items()
        if name in values
    ]
    shares = [
        f"{name.upper()} {values[f'share_{name}']:.1f} %" for name in "gpn" if f"share_{name}" in values
    ]
    lines += [f"  conditions {', '.join(shares)}"] if shares else []
    lines += [
        "",
        f"  {'stereotype':<18}{'q [95 %]':<28}{'rank':>5}" + ("   r [95 %]" if "r_1" in values else ""),
    ]
    for i in NUMBERS:
        lines += ["  --"] if i == ABOUT_WOMEN + 1 else []
        rank = values[f"feminine_rank_{i}"]
        line = f"  {i:>2} {NAMES[i - 1]:<15}{_with_interval(values, f'q_{i}'):<28}"
        line += f"{'NaN' if math.isnan(rank) else int(rank):>5}"
        lines.append(line + (f"   {_with_interval(values, f'r_{i}')}" if "r_1" in values else ""))
    return "\n".join([f"  n          {values['n']}", *lines])


def _with_interval(values: Mapping[str, float], name: str) -> str:
    value, low, high = (values[f"{name}{end}"] for end in ("", "_low", "_high"))
    if math.isnan(value):
        return "NaN"
    return f"{value:.4f} [{low:.4f}, {high:.4f}]"
