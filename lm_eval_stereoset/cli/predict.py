"""stereoset predict: every candidate's score in the published prediction format, without the harness's tables.

stereoset predict bert-base-german-cased --language de --split both -o predictions.json
"""

import argparse
import logging
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lm_eval_stereoset.data.format import SPLITS, Example
from lm_eval_stereoset.errors import UserError

if TYPE_CHECKING:
    from lm_eval_stereoset.cli.predict_notes import Notes
    from lm_eval_stereoset.data.store import Dataset
    from lm_eval_stereoset.scoring import Settings

logger = logging.getLogger(__name__)

AT_ONCE = 512  # examples between two notes of progress: what a kill can lose


def parser() -> argparse.ArgumentParser:
    from lm_eval_stereoset.scoring.types import CASES

    parse = argparse.ArgumentParser(
        prog="stereoset predict",
        description="Scores every candidate of StereoSet with a model of any architecture and writes the papers' "
        "quantities (probabilities and their means) to a file that `stereoset score` reads.",
        epilog="An interrupted run goes on where it was when the same command is given again.",
    )
    parse.add_argument("pretrained", help="a model's name on the hub, or a folder")
    parse.add_argument("-o", "--output", type=Path, required=True, metavar="FILE.json", help="file to write")
    parse.add_argument("--overwrite", action="store_true", help="replace FILE.json, whatever it holds")
    parse.add_argument("-l", "--language", required=True, help="en, de, fr, es, tr, or one you have added")
    parse.add_argument(
        "--split", choices=(*SPLITS, "both"), help="default: both, or what a next-sentence model takes"
    )
    parse.add_argument(
        "--data", help="'sample' for the bundled one, or a folder with <split>/<language>.jsonl"
    )
    parse.add_argument(
        "--scoring",
        default="auto",
        help="auto (from the checkpoint's config), masked, causal, seq2seq or nsp",
    )
    parse.add_argument("--case", default="d", help=f"causal inter-sentence score: {', '.join(CASES)}")
    parse.add_argument("--exact", action="store_true", help="the authors' program with its quirks")
    parse.add_argument("--batch-size", type=int, metavar="N", help="at most N inputs a batch")
    parse.add_argument("--batch-tokens", type=int, metavar="N", help="padded tokens of a batch")
    parse.add_argument("--tokenizer", help="another tokenizer than the model's")
    parse.add_argument(
        "--tokenizer-class",
        metavar="CLASS",
        help="the tokenizer's class in transformers, such as BertTokenizerFast, where the checkpoint does not say",
    )
    parse.add_argument("--revision", default="main", help="branch, tag or commit on the hub")
    parse.add_argument("--subfolder", help="where the model lies within its folder or repository")
    parse.add_argument(
        "--gguf-file", metavar="NAME", help="the GGUF file in the folder or repository to load"
    )
    parse.add_argument("--dtype", default="auto", help="float32, bfloat16, float16; auto: the checkpoint's")
    parse.add_argument("--device", help="cpu, cuda, cuda:1, mps; default: the best there is")
    parse.add_argument("--trust-remote-code", action="store_true", help="let the model bring its own code")
    parse.add_argument("--quiet", action="store_true", help="no progress bars")
    return parse


def main(argv: Sequence[str]) -> int:
    args = parser().parse_args(argv)
    if args.output.is_dir():
        raise UserError(f"-o {args.output}: is a folder; name a file")
    from lm_eval_stereoset.cli.predict_notes import Notes
    from lm_eval_stereoset.data import store
    from lm_eval_stereoset.scoring import Settings, load
    from lm_eval_stereoset.scoring.architecture import check_scoring, methods_of

    settings = Settings(args.case, args.exact, args.batch_tokens, args.batch_size)
    check_scoring(args.scoring)
    splits = SPLITS if args.split in (None, "both") else (args.split,)
    data = {split: store.load(split, args.language, args.data) for split in splits}
    refuse_inputs(args, data.values())
    with Notes(args.output) as notes:
        if not args.overwrite:
            refuse_unknown_output(args.output)
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
        )
        methods = methods_of(model, args.scoring)
        data = takeable(data, methods, args.split)
        about = about_run(args, methods, model, tokenizer, data)
        if not args.overwrite and is_finished(args.output, about):
            print(f"{args.output} holds these predictions already; --overwrite scores them again")
            return 0
        for split, dataset in data.items():
            print(f"{split}: {len(dataset.examples)} examples, scored by {methods[split]}")
        predict(args, notes, about, data, (methods, model, tokenizer, settings))
    print(f"wrote {args.output}")
    return 0


def takeable(
    data: Mapping[str, "Dataset"], methods: Mapping[str, str], asked: str | None
) -> dict[str, "Dataset"]:
    """The data of the splits that the model can take; a split that was asked for by name is never left out."""
    left_out = [split for split in data if split not in methods]
    if left_out and asked:
        raise UserError(
            f"--split {asked}: this model cannot take the {left_out[0]}-sentence test, only "
            f"{' and '.join(methods)}-sentence; give --split {next(iter(methods))}"
        )
    for split in left_out:
        print(f"{split}: left out, this model has a next-sentence head only")
    return {split: dataset for split, dataset in data.items() if split in methods}


def predict(
    args: argparse.Namespace,
    notes: "Notes",
    about: Mapping[str, Any],
    data: Mapping[str, "Dataset"],
    scorer: tuple[Mapping[str, str], Any, Any, "Settings"],
) -> None:
    """Scores what the notes do not have, and writes the file."""
    from tqdm import tqdm

    from lm_eval_stereoset.cli.predict_notes import parts_of
    from lm_eval_stereoset.predictions import PUBLISHED_KEYS
    from lm_eval_stereoset.provenance import write_with_note
    from lm_eval_stereoset.scoring import cut_pairs, score_with

    methods, model, tokenizer, settings = scorer
    parts = parts_of({split: dataset.examples for split, dataset in data.items()}, AT_ONCE)
    notes.begin({key: value for key, value in about.items() if key != "model"}, parts)  # its name may change
    content: dict[str, list] = {PUBLISHED_KEYS[split]: [] for split in data}
    for part in tqdm(parts, unit_scale=AT_ONCE, unit=" examples", disable=args.quiet):
        if part.name not in notes.scores:
            notes.add(part, score_with(methods, model, tokenizer, part.examples, settings))
        content[PUBLISHED_KEYS[part.split]] += [
            {"id": candidate.id, "score": score}
            for example, triple in zip(part.examples, notes.scores[part.name], strict=True)
            for candidate, score in zip(example.candidates, triple, strict=True)
        ]
    for split, dataset in data.items():
        rows = [row for part in parts if part.split == split for row in notes.scores[part.name]]
        if refused := tied(dataset.examples, rows):
            notes.finish()
            raise UserError(f"{split}-sentence: {refused}")
        cut_pairs(methods, model, tokenizer, dataset.examples)
    write_with_note(args.output, content, about)
    notes.finish()


def tied(examples: Sequence[Example], rows: Sequence[Sequence[float]]) -> str | None:
    """Scores that are the same for most pairs of candidates do not depend on the text: why they are not written."""
    from lm_eval_stereoset.benchmarks.stereoset.metrics import COLUMNS, mostly_ties, outcomes

    labels = [[candidate.label for candidate in example.candidates] for example in examples]
    table = [[row[names.index(label)] for label in COLUMNS] for names, row in zip(labels, rows, strict=True)]
    results = outcomes(table)
    if not mostly_ties(results):
        return None
    return (
        f"stereotype and anti-stereotype have the very same score in {int(results.tie.sum())} of {len(results)} "
        "examples, so the scores say nothing; nothing is written. Does the tokenizer belong to the model "
        "(--tokenizer, --tokenizer-class), and are the weights complete?"
    )


def about_run(
    args: argparse.Namespace,
    methods: Mapping[str, str],
    model: Any,
    tokenizer: Any,
    data: Mapping[str, "Dataset"],
) -> dict[str, Any]:
    """All that the predictions depend on: recorded beside them, and the same for a run that goes on."""
    from lm_eval_stereoset.identity import identity_of

    settings: dict[str, Any] = {"scoring": dict(methods), "exact": args.exact}
    if methods.get("inter") == "causal":
        settings["case"] = args.case
    place = [name for name in (args.pretrained, args.subfolder, args.gguf_file) if name]
    return {
        "model": "/".join(place),
        "language": args.language,
        "data": [{"split": d.split, "language": d.language} | d.describe() for d in data.values()],
        "identity": identity_of(model, tokenizer, settings).to_dict(),
    }


def refuse_inputs(args: argparse.Namespace, data: Iterable["Dataset"]) -> None:
    """No file that is written may be one that is read: data, checkpoint, tokenizer."""
    from lm_eval_stereoset.data.store import about_file
    from lm_eval_stereoset.files import refuse_overwriting, refuse_special
    from lm_eval_stereoset.provenance import may_be_replaced, note_file

    refuse_special(args.output)
    if not may_be_replaced(note_file(args.output)):
        raise UserError(f"-o {args.output}: {note_file(args.output)} is in the way; name another file")
    inputs = [path for dataset in data for path in (dataset.path, about_file(dataset.path))]
    folders = [Path(name) for name in (args.pretrained, args.tokenizer) if name and Path(name).is_dir()]
    inputs += [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    for written in (args.output, note_file(args.output), args.output.with_name(args.output.name + ".part")):
        refuse_overwriting(written, inputs, "-o")


def refuse_unknown_output(output: Path) -> None:
    """Before the model is loaded: a file without our note is somebody's, and is not replaced unasked."""
    from lm_eval_stereoset.provenance import read_note

    if output.exists() and not read_note(output):
        raise UserError(
            f"-o {output}: exists, and no note beside it says that it is from the same model and data; "
            "name another file, or replace it with --overwrite"
        )


def is_finished(output: Path, about: Mapping[str, Any]) -> bool:
    """Whether the file holds these very predictions; those of another run are not replaced unasked."""
    from lm_eval_stereoset.provenance import read_note

    found = read_note(output) if output.exists() else {}
    unlike = [key for key, value in about.items() if key != "model" and found and found.get(key) != value]
    if unlike:
        raise UserError(
            f"-o {output}: holds predictions of {found.get('model')} with another {', '.join(map(words_for, unlike))}; "
            "name another file, or replace it with --overwrite"
        )
    return bool(found)


def words_for(key: str) -> str:
    return {"identity": "model, setting or package version"}.get(key, key)
