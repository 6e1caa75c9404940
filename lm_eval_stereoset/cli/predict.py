"""stereoset predict: every candidate's score in the published prediction format, without the harness's tables.

stereoset predict bert-base-german-cased --language de --split both -o predictions.json
"""

import argparse
import json
import logging
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from lm_eval_stereoset.data.format import SPLITS, Example, split_of
from lm_eval_stereoset.errors import UserError

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
    parse.add_argument("--language", required=True, help="en, de, fr, es, tr, or one you have added")
    parse.add_argument("--split", choices=(*SPLITS, "both"), default="both")
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
    parse.add_argument("--revision", default="main", help="branch, tag or commit on the hub")
    parse.add_argument("--dtype", default="auto", help="float32, bfloat16, float16; auto: the checkpoint's")
    parse.add_argument("--device", help="cpu, cuda, cuda:1, mps; default: the best there is")
    parse.add_argument("--trust-remote-code", action="store_true", help="let the model bring its own code")
    parse.add_argument("--quiet", action="store_true", help="no progress bars")
    return parse


def main(argv: Sequence[str]) -> int:
    args = parser().parse_args(argv)
    if args.output.is_dir():
        raise UserError(f"-o {args.output}: is a folder; name a file")
    from tqdm import tqdm

    from lm_eval_stereoset.data import store
    from lm_eval_stereoset.predictions import PUBLISHED_KEYS
    from lm_eval_stereoset.scoring import Settings, load, score_with
    from lm_eval_stereoset.scoring.architecture import check_scoring, methods_of

    settings = Settings(args.case, args.exact, args.batch_tokens, args.batch_size)
    check_scoring(args.scoring)
    splits = SPLITS if args.split == "both" else (args.split,)
    data = {split: store.load(split, args.language, args.data) for split in splits}
    model, tokenizer = load(
        args.pretrained,
        args.scoring,
        tokenizer=args.tokenizer,
        revision=args.revision,
        dtype=args.dtype,
        device=args.device,
        trust_remote_code=args.trust_remote_code,
    )
    methods = methods_of(model, args.scoring)
    for split in splits:
        print(f"{split}: {len(data[split].examples)} examples, scored by {methods.get(split, 'nothing')}")
    checksums = {split: dataset.provenance.sha256 for split, dataset in data.items()}
    notes = Notes(args.output, run_identity(args, checksums, getattr(model.config, "_commit_hash", None)))
    content = {}
    for split in splits:
        examples = data[split].examples
        for start in tqdm(
            range(0, len(examples), AT_ONCE), desc=split, unit_scale=AT_ONCE, disable=args.quiet
        ):
            part = [e for e in examples[start : start + AT_ONCE] if key_of(e) not in notes.scores]
            if part:
                notes.add(part, score_with(methods, model, tokenizer, part, settings))
        content[PUBLISHED_KEYS[split]] = notes.entries(examples)
    notes.finish(content)
    print(f"wrote {args.output}")
    return 0


def run_identity(args: argparse.Namespace, checksums: dict[str, str], commit: str | None) -> dict[str, Any]:
    """What must be the same for an interrupted run to go on. `commit`: that of a model on the hub."""
    from lm_eval_stereoset.scoring.loading import files_of
    from lm_eval_stereoset.versions import versions

    names = ("pretrained", "revision", "tokenizer", "scoring", "case", "exact", "dtype")
    return {name: getattr(args, name) for name in names} | {
        "data": checksums,
        "files": files_of(args.pretrained, args.tokenizer),  # a folder that is still being trained into
        "commit": commit,
        "packages": versions(),
    }


def key_of(example: Example) -> str:
    """Ids are unique in a file; the two splits of someone's own data may both count from 1."""
    return f"{split_of(example)} {example.id}"


class Notes:
    """Scores so far, in FILE.json.part: one line of identity, then one line an example."""

    def __init__(self, output: Path, identity: dict[str, Any]):
        self.output, self.path = output, output.with_name(output.name + ".part")
        self.scores: dict[str, list[float]] = {}
        first = json.dumps(identity, sort_keys=True)
        lines = self.path.read_text(encoding="utf-8").split("\n") if self.path.is_file() else []
        if lines and lines[0] == first:
            for line in lines[1:-1]:  # the last one is empty, or cut off
                with suppress(ValueError, TypeError):  # a damaged line is an example to score again
                    key, scores = json.loads(line)
                    self.scores[key] = [float(score) for score in scores]
            logger.warning("going on with %s: %d examples are done", self.path, len(self.scores))
        self._rewrite(first)

    def _rewrite(self, first: str) -> None:
        from lm_eval_stereoset.files import atomic_write

        with atomic_write(self.path) as handle:
            handle.write(first + "\n")
            handle.writelines(json.dumps(pair) + "\n" for pair in self.scores.items())

    def add(self, examples: Sequence[Example], scores: Sequence[Any]) -> None:
        new = {key_of(e): [s.probability for s in triple] for e, triple in zip(examples, scores, strict=True)}
        self.scores.update(new)
        with open(self.path, "a", encoding="utf-8") as handle:
            handle.writelines(json.dumps(pair) + "\n" for pair in new.items())

    def entries(self, examples: Sequence[Example]) -> list[dict[str, Any]]:
        return [
            {"id": candidate.id, "score": value}
            for example in examples
            for candidate, value in zip(example.candidates, self.scores[key_of(example)], strict=True)
        ]

    def finish(self, content: dict[str, Any]) -> None:
        from lm_eval_stereoset.files import write_json

        write_json(self.output, content)
        self.path.unlink(missing_ok=True)
