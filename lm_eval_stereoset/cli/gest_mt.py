"""stereoset gest-mt score|run: how masculine a translator makes GEST's speakers, by stereotype.

stereoset gest-mt score translations.csv --language sk -o sk.json
stereoset gest-mt run --to sk --backend hf --model facebook/nllb-200-distilled-600M -o sk.json
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import read_bytes, refuse_overwriting, sha256_of, write_json

if TYPE_CHECKING:
    from lm_eval_stereoset.benchmarks.gest.mt.engine import Decider, Verdict
    from lm_eval_stereoset.benchmarks.gest.mt.english import English
    from lm_eval_stereoset.benchmarks.gest.mt.rules import Language
    from lm_eval_stereoset.benchmarks.gest.mt.translations import Joined

EXPLAINED = ("all", "masculine", "feminine", "undecided")
PARSERS = ("rules", "stanza")
# Two systems' translations into nine languages: 0.83 to 0.95 of those into the language, 0.21 at most of all others.
FEWEST_WITH_MARKS = 0.4
ENOUGH_TO_TELL = 20  # sentences


def make_parser() -> argparse.ArgumentParser:
    from stereoset_translation import backends

    parser = argparse.ArgumentParser(
        prog="stereoset gest-mt",
        description="Machine translation of GEST: how often the speaker becomes a man, by stereotype. For "
        "Belarusian (be), Croatian (hr), Czech (cs), Polish (pl), Russian (ru), Serbian (sr), Slovak (sk), "
        "Slovenian (sl) and Ukrainian (uk).",
    )
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    text = "the masculine rates of a file of translations"
    score = verbs.add_parser("score", help=text, description=text)
    score.add_argument(
        "translations", type=Path, metavar="FILE", help="CSV in UTF-8 with the columns from (English) and to"
    )
    score.add_argument("--language", "-l", required=True, metavar="CODE", help="the language of column to")
    text = "translate GEST, then score the translations; goes on where it stopped"
    run = verbs.add_parser("run", help=text, description=text)
    run.add_argument(
        "--to", "-l", dest="language", required=True, metavar="CODE", help="the language, e.g. sk"
    )
    run.add_argument("--dir", type=Path, help="for translations.csv and the memory (default: gest-mt-CODE)")
    _translator(run, backends)
    for verb in (score, run):
        _scoring(verb)
    return parser


def _scoring(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--output", "-o", type=Path, metavar="FILE", help="write counts and rates as JSON")
    verb.add_argument(
        "--explain", nargs="?", const="all", choices=EXPLAINED, metavar="WHICH",
        help="print each translation with its verdict and the words and rules behind it; WHICH: "
        + ", ".join(EXPLAINED),
    )  # fmt: skip
    verb.add_argument("--rules", type=Path, metavar="FILE", help="your own rules (YAML) instead of ours")
    verb.add_argument(
        "--parser", choices=PARSERS, default="rules", help="what finds the speaker's words (rules)"
    )
    verb.add_argument(
        "--data", metavar="DATA",
        help="GEST's version 1.0 or 1.1, 'sample', or a folder with sentences/en.jsonl (default: whichever of the two "
        "versions of a sentence was translated)",
    )  # fmt: skip


def _translator(run: argparse.ArgumentParser, backends: Any) -> None:
    group = run.add_argument_group("translator")
    group.add_argument("--backend", choices=backends.names(), required=True, help="which translator")
    group.add_argument("--limit", type=backends.count, metavar="N", help="only the first N sentences")
    group.add_argument("--price", type=backends.amount, metavar="X", help="price per million characters")
    group.add_argument("--max-cost", type=backends.amount, metavar="X", help="stop before it may cost more")
    group.add_argument(
        "--memory", type=Path, metavar="FILE", help="the translation memory (default: memory.sqlite in --dir)"
    )
    group.add_argument("--source-code", metavar="CODE", help="the translator's own code for English")
    group.add_argument("--target-code", metavar="CODE", help="its own code for the language (srp_Cyrl)")
    group.add_argument("--concurrency", type=backends.count, metavar="N", help="requests under way at once")
    for name in backends.names():
        backends.module(name).add_options(run.add_argument_group(f"--backend {name}"))


def main(argv: Sequence[str]) -> None:
    args = make_parser().parse_args(argv)
    from lm_eval_stereoset.benchmarks.gest.mt import rules

    folder = args.dir if args.verb == "run" and args.dir else Path(f"gest-mt-{args.language}")
    path = args.translations if args.verb == "score" else folder / "translations.csv"
    _check_output(args, path)
    language = rules.load(args.language, args.rules)
    decider = _decider(args, language)  # before anything is fetched, or paid for
    from lm_eval_stereoset.benchmarks.gest.mt.english import read_english

    if args.verb == "score":
        read_bytes(path)  # a wrong name is told before GEST is fetched
        english, translator = read_english(args.data), None
    else:
        from lm_eval_stereoset.benchmarks.gest.mt.translating import translate_gest

        english = read_english(args.data)
        translator = translate_gest(args, english, path).backend
    _score(args, path, english, language, decider, translator)


def _check_output(args: argparse.Namespace, path: Path) -> None:
    from lm_eval_stereoset.benchmarks.gest.mt.english import FILES

    if args.output is None:
        return
    if args.output.suffix != ".json":
        raise UserError(f"--output {args.output}: the ending must be .json")
    inputs = [path, *([args.rules] if args.rules else [])]
    if args.data:
        inputs += [Path(args.data), *(Path(args.data) / name for name in FILES)]
    if args.verb == "run":
        inputs.append(args.memory or path.with_name("memory.sqlite"))
    refuse_overwriting(args.output, inputs, "--output")


def _decider(args: argparse.Namespace, language: "Language") -> "Decider":
    from lm_eval_stereoset.benchmarks.gest.mt.engine import ByRules

    if args.parser == "rules":
        return ByRules(language)
    if args.rules:
        raise UserError("--rules and --parser stanza do not go together; leave one of them out")
    from lm_eval_stereoset.benchmarks.gest.mt.parsing import load_stanza

    return load_stanza(args.language, dict(language.letters))


def _score(
    args: argparse.Namespace,
    path: Path,
    english: "English",
    language: "Language",
    decider: "Decider",
    translator: str | None,
) -> None:
    from lm_eval_stereoset.benchmarks.gest.mt import rates
    from lm_eval_stereoset.benchmarks.gest.mt.translations import join, read_translations

    joined = join(english, read_translations(path), path)
    texts = [text for _, text in joined.pairs]
    _refuse_other_language(texts, language, path)
    verdicts = decider.decide(texts)
    counted = rates.count(
        (row.stereotype, verdict.gender) for (row, _), verdict in zip(joined.pairs, verdicts, strict=True)
    )
    if args.output:  # before printing: `| head` may end that early
        about = {"benchmark": "gest-mt", "language": args.language, "translator": translator}
        about |= {"translations": {"file": path.name, "sha256": sha256_of(path), "scored": len(joined.pairs)}}
        write_json(args.output, counted.to_dict() | about | _provenance(english, decider))
    if args.explain:
        explain(joined, verdicts, args.explain)
    print(rates.table(counted))
    for note in joined.notes():
        print(f"note: {note}", file=sys.stderr)
    if args.output:
        print(f"written: {args.output}")


def _provenance(english: "English", decider: "Decider") -> dict[str, Any]:
    from lm_eval_stereoset import __version__

    return {"scoring": decider.describe(), "data": list(english.data), "lm_eval_stereoset": __version__}


def explain(joined: "Joined", verdicts: Sequence["Verdict"], which: str) -> None:
    """Three columns with tabs between them: verdict, sentence, the words it rests on and the rules that found them."""
    for (row, _), verdict in zip(joined.pairs, verdicts, strict=True):
        if which in ("all", verdict.gender):
            sentence = " ".join(verdict.sentence.split())
            print(f"{row.stereotype}\t{verdict.gender}\t{sentence}\t{verdict.explanation()}")
    print()


def _refuse_other_language(texts: Sequence[str], language: "Language", path: Path) -> None:
    """Rules for one language find words in its neighbours, too: a number that looks right and means nothing."""
    from lm_eval_stereoset.benchmarks.gest.mt.engine import share_with_marks
    from lm_eval_stereoset.benchmarks.gest.mt.rules import NOTHING

    if language.marks == NOTHING or len(texts) < ENOUGH_TO_TELL:
        return
    if (share := share_with_marks(texts, language)) < FEWEST_WITH_MARKS:
        raise UserError(
            f"{path}: only {100 * share:.0f} % of the translations have a word such as "
            f"{', '.join(sorted(language.marks.words)[:4])}; is the column to in {language.name}?"
        )
