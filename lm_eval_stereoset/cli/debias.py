"""stereoset debias fit|save|sweep: projections that take a bias out of a model.

stereoset debias fit bert-base-uncased --level layer11 --settings 0,1,1,0,1 -o debias
stereoset run --model stereoset-hf --model_args pretrained=bert-base-uncased,debias=debias --tasks genderswap_dev
stereoset debias sweep bert-base-uncased -o sweep.json
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.interventions.levels import LEVEL, LEVELS, NUMBERS, POOLER_DIRECTIONS

SETTINGS = "; ".join(f"{level}: {','.join(NUMBERS[level])}" for level in LEVELS)
EPILOG = f"""\
levels and their settings, each number 0 or 1 (docs/debias.md):
{chr(10).join(f"  {level:<8} {','.join(NUMBERS[level])}" for level in LEVELS)}
  n: 0 takes the direction out for good, 1 as much as its share of variance; c: 0 is one direction, 1 is two"""
BENCHMARK = "genderswap"  # what a sweep evaluates, and whose test split the usual pairs are from
PAIRS_SPLIT = "test"


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="stereoset debias",
        description="Projections: the directions in which sentences differ that differ in gender only (or in what your "
        "own pairs differ) are taken out of a model's hidden states.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    text = "find the directions and write them to a folder, for debias=DIR and --debias DIR"
    fit = verbs.add_parser("fit", help=text, description=text)
    _model(fit)
    fit.add_argument("--level", required=True, choices=LEVELS, help="the innermost place that is projected")
    fit.add_argument(
        "--settings", required=True, metavar="N,…", help=f"how each place is projected ({SETTINGS})"
    )
    _pairs(fit)
    fit.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="folder to write")
    text = (
        "multiply projections into a model's weights: a checkpoint that needs no hooks, where that is exact"
    )
    save = verbs.add_parser("save", help=text, description=text)
    _model(save)
    save.add_argument("projections", type=Path, metavar="DIR", help="the folder that `fit` has written")
    save.add_argument(
        "-o", "--output", type=Path, required=True, metavar="CHECKPOINT", help="folder to write"
    )
    text = "S and D of a model under every setting: JSON, a table and a picture; goes on where it was interrupted"
    sweep = verbs.add_parser("sweep", help=text, description=text)
    _model(sweep)
    sweep.add_argument(
        "--split", default="dev", help="what is evaluated (default: dev; the pairs are from test)"
    )
    sweep.add_argument("--limit", type=int, metavar="N", help="only the first N examples, for a try")
    sweep.add_argument(
        "--nli", metavar="NLI_MODEL",
        help="also accuracy, parity and eta of a classifier with three NLI labels under the same settings",
    )  # fmt: skip
    sweep.add_argument(
        "--nli-limit", type=int, metavar="N", help="only N sentence pairs of the NLI test, for a try"
    )
    sweep.add_argument(
        "--snli", nargs="?", const="", metavar="DATA",
        help="with --nli, also its accuracy on SNLI's test set, to see which settings cost it its skill "
        "(DATA: 'sample' or a folder; default: the hub's)",
    )  # fmt: skip
    sweep.add_argument("--snli-limit", type=int, metavar="N", help="only the first N pairs of SNLI")
    _pairs(sweep)
    sweep.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="SWEEP.json",
        help="file to write; .md, .png and .svg beside",
    )
    return parser


def _model(verb: argparse.ArgumentParser) -> None:
    add = verb.add_argument
    add("pretrained", metavar="MODEL", help="a model's name on the hub, or a folder")
    add("--revision", default="main", help="branch, tag or commit on the hub")
    add("--subfolder", help="where the model lies within its folder or repository")
    add("--tokenizer", help="another tokenizer than the model's")
    add("--dtype", default="auto", help="float32, bfloat16, float16; auto: the checkpoint's")
    add("--device", help="cpu, cuda, cuda:1, mps; default: the best there is")
    add("--trust-remote-code", action="store_true", help="let the model bring its own code")
    add("--quiet", action="store_true", help="no progress bars")


def _pairs(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--pairs", type=Path, metavar="FILE.csv",
        help="pairs of sentences, a header and two columns (default: contexts of gender-swapped StereoSet, test split)",
    )  # fmt: skip
    verb.add_argument(
        "--data", help="where the default pairs are from: 'sample', or a folder with test/en.jsonl"
    )
    verb.add_argument(
        "--pooler-direction", choices=POOLER_DIRECTIONS, default=LEVEL,
        help="what the pooler's output loses: the direction of the level (default), or its own",
    )  # fmt: skip


def main(argv: Sequence[str]) -> int:
    args = make_parser().parse_args(argv)
    if args.verb == "sweep":
        from lm_eval_stereoset.cli.debias_sweep import sweep

        return sweep(args)
    return {"fit": fit, "save": save}[args.verb](args)


def load_model(args: argparse.Namespace, name: str | None = None) -> tuple[Any, Any]:
    """The model, or the other one that is named, loaded in the same way."""
    from lm_eval_stereoset.scoring import load

    if name is not None:
        return load(name, dtype=args.dtype, device=args.device, trust_remote_code=args.trust_remote_code)
    return load(
        args.pretrained,
        tokenizer=args.tokenizer,
        revision=args.revision,
        dtype=args.dtype,
        device=args.device,
        trust_remote_code=args.trust_remote_code,
        subfolder=args.subfolder,
    )


def chosen_pairs(args: argparse.Namespace) -> tuple[list[tuple[str, str]], dict[str, Any]]:
    """The pairs to fit on, and where they are from."""
    from lm_eval_stereoset.benchmarks import find
    from lm_eval_stereoset.data import store
    from lm_eval_stereoset.files import sha256_of
    from lm_eval_stereoset.interventions.pairs import read_pairs

    if args.pairs is not None:
        if args.data:
            raise UserError("--data says where the default pairs are from; leave it out with --pairs")
        pairs = read_pairs(args.pairs)
        return pairs, {"source": args.pairs.name, "sha256": sha256_of(args.pairs), "count": len(pairs)}
    declared = find(BENCHMARK)
    dataset = store.load(declared, PAIRS_SPLIT, "en", args.data)
    assert declared.pairs is not None
    pairs = declared.pairs(dataset.examples)
    source = f"{dataset.provenance.data} {dataset.provenance.version}, {PAIRS_SPLIT}/en, contexts"
    return pairs, {"source": source, "sha256": dataset.provenance.sha256, "count": len(pairs)}


def fit(args: argparse.Namespace) -> int:
    from lm_eval_stereoset.interventions import fitting, places, stored
    from lm_eval_stereoset.interventions.levels import SENT, parse_setting
    from lm_eval_stereoset.scoring.identity import tokenizer_of, versions

    stored.refuse_other_folder(args.output)
    given, named = args.settings.count(",") + 1, len(NUMBERS[args.level])
    parse_setting(args.level, args.settings, pooled=given != named - 1)  # before the model is loaded
    pairs, about_pairs = chosen_pairs(args)
    model, tokenizer = load_model(args)
    found = places.places_of(model)
    places.needed(found, args.level, model)
    setting = parse_setting(args.level, args.settings, pooled=SENT in found)
    wanted = {level: found[level] for level in found if level in setting.choices}
    directions = fitting.fit(model, tokenizer, wanted, pairs, shown=not args.quiet)
    about = {
        "fitted_on": {
            "model": args.pretrained,
            "weights": stored.base_weights(model),
            "tokenizer": tokenizer_of(tokenizer),
            "dtype": str(model.dtype) if hasattr(model, "dtype") else "float32",
        },
        "pairs": about_pairs,
        "shares_of_variance": {
            one.place.module: one.ratios.tolist() for level in directions for one in directions[level]
        },
        "packages": versions(),
    }
    made = fitting.intervention(directions, setting, about, args.pooler_direction)
    stored.save(made, args.output)
    print(f"{made.name}, fitted on {len(pairs)} pairs ({about_pairs['source']})")
    print("\n".join(shares(directions)))
    print(f"wrote {args.output}")
    return 0


def shares(directions: Any) -> list[str]:
    """What each place's directions explain of the pairs' differences."""
    rows = []
    for found in directions.values():
        for one in found:
            mean = one.ratios.mean(dim=0).tolist()
            per_head = f" (mean of {one.place.blocks} heads)" if one.place.blocks > 1 else ""
            found_here = " + ".join(f"{100 * share:.1f} %" for share in mean)
            rows.append((one.place.module, f"{found_here} of the variance{per_head}"))
    width = max(len(name) for name, _ in rows)
    return [f"  {name:<{width}}  {text}" for name, text in rows]


def save(args: argparse.Namespace) -> int:
    from lm_eval_stereoset.interventions import saving

    model, tokenizer = load_model(args)
    saving.refuse_output(args.output, args.pretrained, args.projections)
    notes = saving.save_checkpoint(model, tokenizer, args.projections, args.output, args.pretrained)
    for note in notes:
        print(f"not in the checkpoint: {note}")
    print(f"wrote {args.output}")
    return 0
