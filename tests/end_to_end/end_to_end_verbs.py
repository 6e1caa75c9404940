"""What each verb is typed with in test_every_verb.py, beside what its tests of several steps type there."""

import csv
import json
from collections.abc import Callable
from dataclasses import dataclass

from end_to_end_mistakes import predictions

P = "--data sample"
GATE = f"stereoset gate M:en=p.json {P} --limit"
PUBLISH = f"stereoset publish M:en=p.json {P} --partial"
GEST = "stereoset gest-mt score sk.csv --language sk --data gest.csv"


@dataclass(frozen=True)
class Typed:
    """A command that works, what it shows and which files it leaves."""

    command: str
    says: tuple[str, ...]
    files: tuple[str, ...] = ()
    prepare: Callable | None = None
    code: int = 0

    @property
    def verb(self) -> str:
        return self.command.split()[1]


def two_predictions(folder, models):
    """p.json, and q.json in which every other candidate has a higher score."""
    predictions(folder, models)
    content = json.loads((folder / "p.json").read_text())
    for entries in content.values():
        for entry in entries[::2]:
            entry["score"] += 5
    (folder / "q.json").write_text(json.dumps(content))


def card(folder, models):
    predictions(folder, models)
    (folder / "README.md").write_text("---\nlicense: mit\n---\n# Mine\n")


def gest(folder, models):
    """48 sentences of our own in GEST's layout, and translations whose speaker's gender is plain."""
    texts = [f"I did the thing number {n}." for n in range(48)]
    slovak = [f"Včera som {'urobila' if n % 16 < 7 else 'urobil'} vec číslo {n}." for n in range(48)]
    tables = {
        "gest.csv": [("sentence", "stereotype"), *((text, n % 16 + 1) for n, text in enumerate(texts))],
        "sk.csv": [("from", "to"), *zip(texts, slovak, strict=True)],
    }
    for name, rows in tables.items():
        with open(folder / name, "w", newline="", encoding="utf-8") as handle:
            csv.writer(handle).writerows(rows)


VERBS = [
    Typed("stereoset ls", ("stereoset_intra_en", "genderswap")),
    Typed("stereoset ls stereoset -l de --json", ('"stereoset_de"',)),
    *(
        Typed(f"stereoset completion {shell}", ("stereoset",))
        for shell in ("bash", "zsh", "fish", "powershell")
    ),
    *(
        Typed(f"stereoset score p.json -l en {P} -o scores.{ending}", (), (f"scores.{ending}",), predictions)
        for ending in ("json", "csv", "md")
    ),
    Typed(f"stereoset report M:en=p.json {P} -o r.html", ("wrote r.html",), ("r.html",), predictions),
    Typed(f"stereoset compare M:en=p.json N:en=q.json {P}", ("difference [95 %]",), (), two_predictions),
    Typed(f"stereoset compare M:en=p.json N:en=q.json {P} --json", ('"icat"',), (), two_predictions),
    Typed(
        f"stereoset compare M:en=p.json N:en=q.json {P} --markdown -o d.md", ("wrote",), ("d.md",), two_predictions
    ),
    Typed(f"{GATE} 'ss within 49'", ("1 passed, 0 failed",), (), predictions),
    Typed(f"{GATE} 'ss at least 99' --junit g.xml", ("0 passed, 1 failed",), ("g.xml",), predictions, 1),
    Typed(f"{GATE} 'ss within 49 languages=de'", ("1 not judged",), (), predictions, 2),
    Typed(PUBLISH, ("stereoset: begin", "NOT comparable"), (), predictions),
    Typed(
        f"{PUBLISH} --model-card README.md --eval-results .",
        ("wrote README.md",),
        ("README.md", ".eval_results/stereoset.yaml"),
        card,
    ),
    Typed(f"{PUBLISH} --latex", ("\\begin{table",), (), predictions),
    Typed(f"{GEST} --explain feminine -o rates.json", ("urobila", "written: rates.json"), ("rates.json",), gest),
    Typed("stereoset nsp evaluate {nsp-decoder} --pairs {pairs} --json", ('"accuracy"',)),
    Typed(
        "stereoset chat-plan --model hf --model_args pretrained={gpt2} --tasks stereoset_chat_en --metadata data=sample",
        ("stereoset_chat_en",),
    ),
    Typed(f"stereoset debias sweep {{bert}} {P} --limit 6 -o s.json", ("75 settings",), ("s.json", "s.md", "s.png")),
    Typed("stereoset tasks", ("tasks",)),
    Typed("stereoset data list", ("stereoset data fetch",)),
    Typed(f"stereoset translate plan --to it {P}", ("characters",)),
]  # fmt: skip
IN_SEVERAL_STEPS = {"run", "predict"}  # test_every_verb.py types them for every kind of model
