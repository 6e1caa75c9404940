"""All golden scores of GEST and EuroGEST, whole, through `stereoset predict --exact`: the largest differences, as a table.

python performance/gest_golden.py --shared ../shared --json performance/results/gest_golden.json

One sentence in sixty is in the tests (tests/benchmarks/test_gest_predict.py).
"""

import argparse
import json
import os
import tempfile
from pathlib import Path

from lm_eval_stereoset.cli import main as stereoset
from lm_eval_stereoset.files import write_json

GEST = {"tiny-bert": ("mlm", (0, 2)), "tiny-gpt2": ("glm", (0,))}
EUROGEST = {"tiny-gpt2": ("de", "it")}


def predict(model: Path, out: Path, *arguments: str) -> list[dict]:
    command = ["predict", str(model), *arguments, "--exact", "--quiet", "--overwrite", "-o", str(out)]
    if stereoset(command):
        raise SystemExit(f"failed: stereoset {' '.join(command)}")
    return json.loads(out.read_text(encoding="utf-8"))["scores"]


def differences(shared: Path, folder: Path) -> list[dict]:
    rows = []
    models, golden = shared / "golden" / "models", shared / "golden" / "scores"
    for name, (kind, templates) in GEST.items():
        for template in templates:
            asked = ("-b", "gest", "--template", str(template), "--data-version", "1.0")
            found = predict(models / name, folder / "out.json", *asked)
            expected = json.loads((golden / f"{name}__gest__{kind}_template-{template}__en.json").read_text())
            worst = max(abs(one["score"] - expected[one["id"]]) for one in found)
            rows.append(
                {"model": name, "what": f"GEST template {template}", "n": len(found), "largest": worst}
            )
    for name, languages in EUROGEST.items():
        for code in languages:
            found = predict(models / name, folder / "out.json", "-b", "eurogest", "-l", code)
            expected = json.loads((golden / f"{name}__eurogest__{code}.json").read_text(encoding="utf-8"))
            if [one["id"] for one in found] != [one["row"] for one in expected]:
                raise SystemExit(f"{name}, {code}: other rows than the golden file's")
            worst = max(
                abs(one[key] / other[key] - 1)
                for one, other in zip(found, expected, strict=True)
                for key in ("p_masculine", "p_feminine")
            )
            rows.append({"model": name, "what": f"EuroGEST {code}", "n": len(found), "largest": worst})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["STEREOSET_DATA"] = folder
        for name, clone in (("gest", "gest"), ("eurogest", "EuroGEST")):
            stereoset(["data", "fetch", name, "--from", str(args.shared / "upstream" / clone)])
        rows = differences(args.shared, Path(folder))
    print(f"{'model':<12}{'what':<20}{'n':>6}  largest difference (GEST: log10; EuroGEST: relative)")
    for row in rows:
        print(f"{row['model']:<12}{row['what']:<20}{row['n']:>6}  {row['largest']:.1e}")
    if args.json:
        write_json(args.json, rows)


if __name__ == "__main__":
    main()
