"""stereoset predict: the score of every candidate of a benchmark in a file, without the harness.

stereoset predict bert-base-german-cased --language de --split both -o predictions.json
"""

import argparse
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lm_eval_stereoset.cli.predict_choices import (
    TEMPLATES,
    as_published,
    choose_version,
    chosen_splits,
    kind_of,
    only_language,
    options_in,
    split_of_template,
    takeable,
)
from lm_eval_stereoset.errors import UserError

if TYPE_CHECKING:
    from lm_eval_stereoset.benchmarks.prediction_files import ScoredRows
    from lm_eval_stereoset.cli.predict_notes import Notes
    from lm_eval_stereoset.data.store import Dataset
    from lm_eval_stereoset.scoring import Settings

logger = logging.getLogger(__name__)

AT_ONCE = 512  # examples between two notes of progress: what a kill can lose
# Of a head, what a run may go on with though it differs: the places of checkpoint and data, which may be moved
# (identity and checksums do not), and how matrices were multiplied, which only the last bits of a score depend on.
MAY_DIFFER = ("model", "scoring", "data_folder", "matrix_products")


class Scorer(NamedTuple):
    """A loaded model and how it is asked."""

    methods: Mapping[str, str]  # {kind of question: family}
    model: Any
    tokenizer: Any
    settings: "Settings"
    debias: Mapping[str, Any] | None = None  # the projections on the model


def make_parser() -> argparse.ArgumentParser:
    from lm_eval_stereoset.benchmarks import names
    from lm_eval_stereoset.scoring.questions import CASES

    parser = argparse.ArgumentParser(
        prog="stereoset predict",
        description="Scores every candidate of a benchmark with a model of any architecture and writes the papers' "
        "quantities (probabilities and their means) to a file that `stereoset score` and `stereoset report` read.",
        epilog="An interrupted run goes on where it was when the same command is given again.",
    )
    add = parser.add_argument
    add("pretrained", metavar="MODEL", help="a model's name on the hub, or a folder")
    add("-o", "--output", type=Path, required=True, metavar="FILE.json", help="file to write")
    add("--overwrite", action="store_true", help="replace FILE.json, whatever it holds")
    add("-b", "--benchmark", default="stereoset", choices=names(), help="default: stereoset")
    add("-l", "--language", help="en, de, …, or one you have added; needed where a benchmark has several")
    add("--split", help="one of the benchmark's, or both; default: both, or what a next-sentence model takes")
    add(
        "--template",
        choices=(*TEMPLATES, "all"),
        help="GEST only: one of its templates; default: all that the model takes",
    )
    add("--data", help="'sample' for the bundled one, or a folder with <split>/<language>.jsonl")
    add(
        "--data-version",
        metavar="V",
        help="of the published data, where there are several: GEST 1.1 (default) or 1.0",
    )
    add(
        "--metadata",
        metavar="NAME=N",
        action="append",
        default=[],
        help="an option of the benchmark's data, as in `stereoset run`: phrases=33 (nli)",
    )
    add("--limit", type=int, metavar="N", help="only the first N examples of each split, for a try")
    add(
        "--scoring",
        default="auto",
        help="auto (from the checkpoint's config), masked, causal, seq2seq, nsp or classifier",
    )
    add(
        "--labels",
        metavar="A/B/C",
        help="a classifier's classes in their order, where its config does not say",
    )
    add("--case", default="d", help=f"causal models, sentence after a context: {', '.join(CASES)}")
    add("--exact", action="store_true", help="the authors' program with its quirks")
    add("--batch-size", type=int, metavar="N", help="at most N inputs per batch")
    add("--batch-tokens", type=int, metavar="N", help="padded tokens of a batch")
    add("--tokenizer", help="another tokenizer than the model's")
    add(
        "--tokenizer-class",
        metavar="CLASS",
        help="the tokenizer's class in transformers, such as BertTokenizerFast, where the checkpoint does not say",
    )
    add(
        "--debias",
        type=Path,
        metavar="DIR",
        help="a folder with projections to apply (`stereoset debias fit` makes it)",
    )
    add("--revision", default="main", help="branch, tag or commit on the hub")
    add("--subfolder", help="where the model lies within its folder or repository")
    add("--gguf-file", metavar="NAME", help="the GGUF file in the folder or repository to load")
    add("--dtype", default="auto", help="float32, bfloat16, float16; auto: the checkpoint's")
    add("--device", help="cpu, cuda, cuda:1, mps; default: the best there is")
    add("--trust-remote-code", action="store_true", help="let the model bring its own code")
    add("--quiet", action="store_true", help="no progress bars")
    return parser


def main(argv: Sequence[str]) -> int:
    args = make_parser().parse_args(argv)
    if args.output.is_dir():
        raise UserError(f"-o {args.output}: is a folder; name a file")
    from lm_eval_stereoset.benchmarks import find
    from lm_eval_stereoset.cli.predict_notes import Notes
    from lm_eval_stereoset.data import store
    from lm_eval_stereoset.scoring import Settings
    from lm_eval_stereoset.scoring.architecture import check_scoring

    settings = Settings(args.case, args.exact, args.batch_tokens, args.batch_size)
    check_scoring(args.scoring)
    if args.limit is not None and args.limit < 1:
        raise UserError(f"--limit {args.limit}: must be a number of examples")
    benchmark = find(args.benchmark)
    args.language = args.language or only_language(benchmark.languages)
    if benchmark.words:
        raise UserError(
            f"-b {benchmark.name}: this command gives candidates a score, and no text is asked for; answers in words "
            f"come from: stereoset run --tasks {benchmark.task_name(None, args.language)}"
        )
    choose_version(args, benchmark)
    args.split = split_of_template(args, benchmark)
    splits = chosen_splits(args.split, benchmark.splits)
    args.options = store.checked_options(benchmark, options_in(args.metadata))
    named = args.data or args.data_version
    data = {split: store.load(benchmark, split, args.language, named, args.options) for split in splits}
    refuse_inputs(args, data.values())
    with Notes(args.output) as notes:
        if not args.overwrite:
            refuse_unknown_output(args.output)
        scorer = load_scorer(args, settings)
        data = takeable(benchmark, data, scorer.methods, args.split)
        if args.exact:
            data = {split: as_published(benchmark, dataset) for split, dataset in data.items()}
        head = head_of_run(args, scorer, data)
        if not args.overwrite and is_finished(args.output, head):
            print(f"{args.output} holds these predictions already; --overwrite scores them again")
            return 0
        for split, dataset in data.items():
            count = min(len(dataset.examples), args.limit or len(dataset.examples))
            print(f"{split}: {count} examples, scored by {scorer.methods[kind_of(dataset)]}")
        predict(args, notes, head, data, scorer)
    print(f"wrote {args.output}")
    return 0


def load_scorer(args: argparse.Namespace, settings: "Settings") -> Scorer:
    from lm_eval_stereoset.scoring import load
    from lm_eval_stereoset.scoring.architecture import methods_of

    model, tokenizer = load(
        args.pretrained,
        args.scoring,
        tokenizer=args.tokenizer,
        tokenizer_class=args.tokenizer_class,
        revision=args.revision,
        dtype=args.dtype,
        device=args.device,
        trust_remote_code=args.trust_remote_code,
        subfolder=args.subfolder,
        gguf_file=args.gguf_file,
        labels=args.labels,
    )
    methods = methods_of(model, args.scoring)
    return Scorer(methods, model, tokenizer, settings, debiased(args.debias, model, methods))


def debiased(folder: Path | None, model: Any, methods: Mapping[str, str]) -> dict[str, Any] | None:
    """Puts projections on the model, and says which; also what a checkpoint says was folded into it."""
    from lm_eval_stereoset.interventions import stored

    if folder is None:
        return stored.folded(model)
    return stored.attach(folder, model, methods).describe()


def predict(
    args: argparse.Namespace,
    notes: "Notes",
    head: Mapping[str, Any],
    data: Mapping[str, "Dataset"],
    scorer: Scorer,
) -> None:
    """Scores what the notes do not have, and writes the file."""
    from lm_eval_stereoset.benchmarks import find
    from lm_eval_stereoset.benchmarks.prediction_files import ScoredRows, write
    from lm_eval_stereoset.cli.predict_notes import parts_of
    from lm_eval_stereoset.scoring import cut_pairs, score_with, tell_about_pairs
    from lm_eval_stereoset.scoring.progress import Progress

    methods, model, tokenizer, settings, _ = scorer
    examples = {split: dataset.examples[: args.limit] for split, dataset in data.items()}
    parts = parts_of(examples, AT_ONCE)
    notes.begin({key: value for key, value in head.items() if key not in MAY_DIFFER}, parts)
    with Progress(sum(map(len, examples.values())), shown=not args.quiet) as progress:
        settings = replace(settings, progress=progress)
        for part in parts:
            if part.name in notes.scores:
                progress.skip(len(part.examples))
                continue
            questions = [example.question for example in part.examples]
            notes.add(part, score_with(methods, model, tokenizer, questions, settings))
    found = {
        split: ScoredRows(here, [row for p in parts if p.split == split for row in notes.scores[p.name]])
        for split, here in examples.items()
    }
    for split, scored in found.items():
        if refused := useless(find(args.benchmark), scored):
            notes.finish()
            raise UserError(f"{split}: {refused}")
        questions = [example.question for example in scored.examples]
        cut_pairs(methods, model, tokenizer, questions)
        tell_about_pairs(methods, tokenizer, questions, settings.exact)
    write(args.output, find(args.benchmark), head, found)
    notes.finish()


def useless(benchmark: Any, scored: "ScoredRows") -> str | None:
    """Scores that are the same for most candidates do not depend on the text: why they are not written."""
    found = benchmark.complaint(scored.scored(benchmark).columns)
    if found is None:
        return None
    return (
        f"{found}; nothing is written. Does the tokenizer belong to the model (--tokenizer, --tokenizer-class), and "
        "are the weights complete?"
    )


def head_of_run(args: argparse.Namespace, scorer: Scorer, data: Mapping[str, "Dataset"]) -> dict[str, Any]:
    """All that the predictions depend on: the head of the file, and the same for a run that goes on."""
    from lm_eval_stereoset.benchmarks import find
    from lm_eval_stereoset.scoring.cpu_linear import library_of
    from lm_eval_stereoset.scoring.describe import describe
    from lm_eval_stereoset.scoring.identity import identity_of

    methods, model, tokenizer, _, debias = scorer
    settings: dict[str, Any] = {"scoring": dict(methods), "exact": args.exact}
    if methods.get("follow") == "causal":
        settings["case"] = args.case
    place = [name for name in (args.pretrained, args.subfolder, args.gguf_file) if name]
    kinds = {split: kind_of(dataset) for split, dataset in data.items()}
    head = {
        "benchmark": args.benchmark,
        "language": args.language,
        "model": "/".join(place),
        "data": [dataset.describe() for dataset in data.values()],
        "scoring": {
            split: find(args.benchmark)
            .said(describe(methods[kind], kind, args.case, args.exact, tokenizer.name_or_path))
            ._asdict()
            for split, kind in kinds.items()
        },
        "identity": identity_of(model, tokenizer, settings).to_dict(),
        "matrix_products": library_of(model.device),
    }
    if args.data and args.data not in ("sample", args.benchmark):
        head["data_folder"] = str(Path(args.data).expanduser().resolve())
    if debias:
        head |= {"model": f"{head['model']} [{debias['name']}]", "debias": debias}
    if args.data_version:
        head["data_version"] = args.data_version
    head |= {"options": args.options} if args.options else {}
    return head | ({"limit": args.limit} if args.limit else {})


def refuse_inputs(args: argparse.Namespace, data: Iterable["Dataset"]) -> None:
    """No file that is written may be one that is read: data, checkpoint, tokenizer."""
    from lm_eval_stereoset.data.store import about_file
    from lm_eval_stereoset.files import refuse_overwriting, refuse_special

    refuse_special(args.output)
    inputs = [path for dataset in data for path in (dataset.path, about_file(dataset.path))]
    folders = [
        Path(name) for name in (args.pretrained, args.tokenizer, args.debias) if name and Path(name).is_dir()
    ]
    inputs += [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    for written in (args.output, args.output.with_name(args.output.name + ".part")):
        refuse_overwriting(written, inputs, "-o")


def refuse_unknown_output(output: Path) -> None:
    """Before the model is loaded: a file that does not say what it is from is not replaced unasked."""
    if output.exists() and not _head_in(output):
        raise UserError(
            f"-o {output}: exists, and does not say that it is from the same model and data; "
            "name another file, or replace it with --overwrite"
        )


def is_finished(output: Path, head: Mapping[str, Any]) -> bool:
    """Whether the file holds these very predictions; those of another run are not replaced unasked."""
    found = _head_in(output) if output.exists() else {}
    keys = [key for key in dict.fromkeys([*head, *found]) if key not in MAY_DIFFER]
    unlike = [key for key in keys if found and found.get(key) != head.get(key)]
    if unlike:
        raise UserError(
            f"-o {output}: holds predictions of {found.get('model')} with another {', '.join(map(words_for, unlike))}; "
            "name another file, or replace it with --overwrite"
        )
    return bool(found)


def _head_in(output: Path) -> dict[str, Any]:
    from lm_eval_stereoset.benchmarks.prediction_files import head_of
    from lm_eval_stereoset.files import read_json

    try:
        return head_of(read_json(output))
    except UserError:  # not JSON: somebody's other file
        return {}


def words_for(key: str) -> str:
    return {"identity": "model, setting or package version"}.get(key, key)
