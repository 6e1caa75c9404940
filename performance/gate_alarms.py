"""How often the default gate "no worse than BASE" fails for equal models, and for one that is truly worse.

python performance/gate_alarms.py --runs 1000

Simulated models on 948 examples of 79 clusters, each cluster easier or harder for both models (tests/decisions).
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "decisions")]

CASES = (("lms", 0.6), ("icat", 0.6), ("icat", 0.5), ("ss", 0.5), ("ss", 0.6))


def main() -> None:
    from test_gate import detectable_difference, failures

    from lm_eval_stereoset.decisions.limits import parse_flag

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--json", type=Path, help="also write the figures there")
    args = parser.parse_args()
    rows = []
    for metric, ss in CASES:
        limit = parse_flag(f"{metric} no worse than base split=inter")
        share = failures(limit, (ss, ss), (0.8, 0.8), args.runs, seed=21)
        rows.append({"case": f"{metric}, both models with SS {100 * ss:g}", "fails": share})
    worse = detectable_difference()
    limit = parse_flag("lms no worse than base split=inter")
    share = failures(limit, (0.6, 0.6), (0.8, 0.8 - worse / 100), args.runs, seed=22)
    rows.append({"case": f"lms, worse by the smallest detectable difference ({worse:.2f})", "fails": share})
    for row in rows:
        error = np.sqrt(row["fails"] * (1 - row["fails"]) / args.runs)
        print(
            f"{row['case']:<60} fails in {100 * row['fails']:5.1f} % of {args.runs} runs (± {100 * error:.1f})"
        )
    if args.json:
        args.json.write_text(json.dumps({"runs": args.runs, "rows": rows}, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
