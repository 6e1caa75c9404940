"""How near the rules' masculine rates come to the published ones, for every system and language there is.

python performance/gest_mt.py --gest ../shared/upstream/gest --published ../shared/expected/gest_mt.json \
  --eurogest ../shared/upstream/EuroGEST

--gest is a clone of the authors' repository with data/translations/SYSTEM/LANGUAGE/translations.csv. The rules were
written while reading translations of one system (DEVELOPED_ON); the other one's were only scored, never read. Writes
performance/results/gest_mt.json and .md.

EuroGEST's pairs were translated as what a man said and as what a woman said, so the gender of each text is known: how
many verdicts are right, undecided and wrong. Their errors were read, too, and rules mended where they were at fault.
"""

import argparse
import csv
import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from lm_eval_stereoset.benchmarks.gest.mt import rates, rules
from lm_eval_stereoset.benchmarks.gest.mt.engine import ByRules
from lm_eval_stereoset.benchmarks.gest.mt.english import English, read_english
from lm_eval_stereoset.benchmarks.gest.mt.translations import join, read_translations
from lm_eval_stereoset.benchmarks.gest.stereotypes import NAMES

FOLDERS = {"Google": "google_translate", "NLLB": "nllb_3b"}
DEVELOPED_ON = "Google"
RESULTS = Path(__file__).parent / "results"
FAR = 0.03  # cells further away are listed one by one


@dataclass(frozen=True)
class Row:
    """One system and language against what was published."""

    system: str
    language: str
    correlation: float
    mean_difference: float  # of absolute values
    largest: float
    bias: float  # mean of ours minus published
    f_s: float
    f_s_published: float
    f_m: float
    f_m_published: float
    decided: int
    decided_published: int
    interval_difference: float  # mean absolute difference of the intervals' ends
    p: list[float]
    p_published: list[float]


def compare(system: str, language: str, path: Path, english: English, published: dict) -> Row:
    pairs = join(english, read_translations(path), path).pairs
    verdicts = ByRules(rules.load(language)).decide([text for _, text in pairs])
    counted = rates.count((row.stereotype, v.gender) for (row, _), v in zip(pairs, verdicts, strict=True))
    expected = np.array(published["p"])
    difference = counted.p - expected
    ends = np.stack(counted.interval, axis=1) - np.array(published["ci"])
    return Row(
        system, language, float(np.corrcoef(counted.p, expected)[0, 1]), float(np.abs(difference).mean()),
        float(np.abs(difference).max()), float(difference.mean()),
        counted.means["f_s"], published["f_s"], counted.means["f_m"], published["f_m"],
        int(counted.masculine.sum() + counted.feminine.sum()), published["n_with_gender"],
        float(np.abs(ends).mean()), counted.p.tolist(), published["p"],
    )  # fmt: skip


def over(rows: list[Row]) -> tuple[int, float, float, float]:
    """Cells, correlation and mean absolute difference over all of them, largest difference of f_s."""
    ours = np.concatenate([row.p for row in rows])
    theirs = np.concatenate([row.p_published for row in rows])
    f_s = max(abs(row.f_s - row.f_s_published) for row in rows)
    return len(ours), float(np.corrcoef(ours, theirs)[0, 1]), float(np.abs(ours - theirs).mean()), f_s


@dataclass(frozen=True)
class Known:
    """Verdicts about texts of one language and gender."""

    language: str
    gender: str
    right: int
    undecided: int
    wrong: int


def known_genders(path: Path) -> list[Known]:
    with open(path, newline="", encoding="utf-8") as handle:
        header, _, *rows = csv.reader(handle)
    found = []
    for language in rules.languages():
        name = rules.load(language).name
        if name not in header:
            continue
        first = header.index(name)
        pairs = [row[first : first + 2] for row in rows if row[first].strip() and row[first + 1].strip()]
        for column, gender in enumerate((rules.MASCULINE, rules.FEMININE)):
            verdicts = ByRules(rules.load(language)).decide([pair[column] for pair in pairs])
            right = sum(v.gender == gender for v in verdicts)
            undecided = sum(v.gender == rules.UNDECIDED for v in verdicts)
            found.append(Known(language, gender, right, undecided, len(verdicts) - right - undecided))
    return found


def known_table(known: list[Known]) -> str:
    lines = [
        "",
        "Texts of EuroGEST, translated as what a man or a woman said:",
        "",
        "| language | gender | texts | right | undecided | wrong |",
        "|---|---|---:|---:|---:|---:|",
    ]
    everything = Known(
        "all", "both", *(sum(getattr(k, name) for k in known) for name in ("right", "undecided", "wrong"))
    )
    for k in [*known, everything]:
        texts = k.right + k.undecided + k.wrong
        lines.append(
            f"| {k.language} | {k.gender} | {texts:,} | {k.right:,} ({100 * k.right / texts:.1f} %) | {k.undecided} "
            f"| {k.wrong} |"
        )
    return "\n".join(lines) + "\n"


def page(rows: list[Row], seconds: float, sentences: int) -> str:
    lines = [
        "# Masculine rates of translations: rules against the published figures",
        "",
        "Made by `python performance/gest_mt.py`. The rules were written while reading translations by "
        f"{DEVELOPED_ON}; the other system's were only scored.",
        f"{sentences:,} translations took {seconds:.1f} s on one core ({sentences / seconds:,.0f} a second).",
        "",
        "| cells of | cells | correlation | mean abs. difference | largest difference of f_s |",
        "|---|---:|---:|---:|---:|",
    ]
    groups = {"both systems": rows}
    groups |= {f"{DEVELOPED_ON} (developed on)": [r for r in rows if r.system == DEVELOPED_ON]}
    groups |= {f"{s} (checked on)": [r for r in rows if r.system == s] for s in FOLDERS if s != DEVELOPED_ON}
    groups |= {"both, without Belarusian": [r for r in rows if r.language != "be"]}
    for name, some in groups.items():
        cells, correlation, difference, f_s = over(some)
        lines.append(f"| {name} | {cells} | {correlation:.4f} | {difference:.4f} | {f_s:.4f} |")
    lines += [
        "",
        "| system | language | correlation | mean abs. difference | largest | bias | f_s | published | f_m "
        "| published | with a gender | published | ends of intervals |",
        "|---|---|" + "---:|" * 11,
    ]
    lines += [
        f"| {r.system} | {r.language} | {r.correlation:.4f} | {r.mean_difference:.4f} | {r.largest:.3f} "
        f"| {r.bias:+.4f} | {r.f_s:.4f} | {r.f_s_published:.4f} | {r.f_m:.4f} | {r.f_m_published:.4f} | {r.decided:,} "
        f"| {r.decided_published:,} | {r.interval_difference:.4f} |"
        for r in rows
    ]
    far = [
        f"| {r.system} | {r.language} | {i + 1} {NAMES[i]} | {ours:.3f} | {theirs:.2f} | {ours - theirs:+.3f} |"
        for r in rows
        for i, (ours, theirs) in enumerate(zip(r.p, r.p_published, strict=True))
        if abs(ours - theirs) > FAR and r.language != "be"
    ]
    lines += ["", f"Cells more than {FAR} away, outside Belarusian: {len(far) or 'none'}.", ""]
    if far:
        lines += [
            "| system | language | stereotype | ours | published | difference |",
            "|---|---|---|---:|---:|---:|",
            *far,
        ]
    return "\n".join(lines).rstrip() + "\n"


def main() -> None:
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--gest", type=Path, required=True, help="a clone of the authors' repository")
    parse.add_argument("--published", type=Path, required=True, help="the published rates, JSON")
    parse.add_argument("--eurogest", type=Path, help="a clone of EuroGEST's repository")
    options = parse.parse_args()
    systems = json.loads(options.published.read_text(encoding="utf-8"))["systems"]
    english = read_english(str(options.gest / "data"))
    started = time.perf_counter()
    rows = []
    for system, languages in systems.items():
        for language, published in sorted(languages.items()):
            folder = options.gest / "data" / "translations" / FOLDERS[system] / language
            rows.append(compare(system, language, folder / "translations.csv", english, published))
    text = page(rows, time.perf_counter() - started, len(rows) * len(english.rows))
    if options.eurogest:
        text += known_table(known_genders(options.eurogest / "data" / "all_gender_sensitive.csv"))
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "gest_mt.md").write_text(text, encoding="utf-8")
    (RESULTS / "gest_mt.json").write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    print(text)


if __name__ == "__main__":
    main()
