"""What `stereoset score` reads: prediction files, one or several of one model, or samples that were logged."""

import argparse
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.languages import LANGUAGES

if TYPE_CHECKING:
    from lm_eval_stereoset.benchmarks.declaration import Benchmark
    from lm_eval_stereoset.benchmarks.evaluation import Scored

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ScoredFile:
    """What was read, whatever kind of file it was in."""

    benchmark: "Benchmark"
    language: str
    parts: dict[str, "Scored"]
    about: list[dict[str, Any]]  # of each split: which data and normaliser it is from
    origin: dict[str, Any]  # model and identity, where the file says so


def is_samples(files: Sequence[str]) -> bool:
    samples = [file for file in files if file.endswith(".jsonl")]
    if samples and len(samples) < len(files):
        raise UserError("give either one prediction file (.json) or samples (.jsonl), not both")
    return bool(samples)


def read_prediction_file(args: argparse.Namespace) -> ScoredFile:
    read = [read_one_file(file, args) for file in args.predictions]
    return read[0] if len(read) == 1 else together(read, args.predictions)


def together(read: Sequence[ScoredFile], files: Sequence[str]) -> ScoredFile:
    """Several files of one model, each of other splits, such as GEST's templates."""
    first = read[0]
    parts: dict[str, Scored] = {}
    for one, file in zip(read, files, strict=True):
        if (one.benchmark, one.language) != (first.benchmark, first.language) or one.origin != first.origin:
            raise UserError(
                f"{files[0]} and {file} are not of the same benchmark, language and model; give one of them at a time; "
                "for several models there is `stereoset report`"
            )
        if twice := [split for split in one.parts if split in parts]:
            raise UserError(
                f"{file}: a second file with {twice[0]}; give one prediction file at a time, or one of each split; for "
                "several models there is `stereoset report`"
            )
        parts |= one.parts
    in_order = {split: parts[split] for split in first.benchmark.splits if split in parts}
    about = [fields for one in read for fields in one.about]
    return ScoredFile(first.benchmark, first.language, in_order, about, first.origin)


def content_of(file: str, args: argparse.Namespace) -> Any:
    from lm_eval_stereoset.benchmarks import prediction_files

    stem = Path(file).stem
    named = stem if args.template is None or "_template-" in stem else f"{stem}_template-{args.template}"
    return prediction_files.content_of(Path(file), named)


def read_one_file(file: str, args: argparse.Namespace) -> ScoredFile:
    from lm_eval_stereoset.benchmarks import prediction_files

    found = prediction_files.parse(
        content_of(file, args), file, args.language, args.data or args.data_version
    )
    if args.data_version and args.data_version not in found.benchmark.versions:
        raise UserError(f"--data-version {args.data_version}: {found.benchmark.title} has no such data")
    parts = found.parts
    if args.template is not None:
        split = f"template_{args.template}"
        if split not in parts:
            raise UserError(f"{file}: no scores of template {args.template}, only of {', '.join(parts)}")
        parts = {split: parts[split]}
    # Ids and labels are the same in all languages, so the scores would come out, under the wrong name.
    named = Path(file).stem.rpartition("_")[2]
    if not found.head and named in LANGUAGES and named != found.language:
        logger.warning("%s: its name says %s, --language says %s", file, named, found.language)
    about = []
    for split, part in parts.items():
        dataset = found.data[split]
        if unlike := prediction_files.unlike_data(found.head, split, dataset.provenance.sha256):
            logger.warning("%s: %s", file, unlike)
        if len(part.examples) < found.of[split]:
            warn_of_part(file, split, len(part.examples), found.of[split])
        about.append(
            dataset.describe()
            | {"scored": len(part.examples)}
            | prediction_files.scoring_of(found.head, split)
        )
    origin: dict[str, Any] = {key: found.head[key] for key in ("model", "identity") if key in found.head}
    return ScoredFile(found.benchmark, found.language, parts, about, origin)


def warn_of_part(file: str, split: str, scored: int, whole: int) -> None:
    logger.warning(
        "%s: %s covers only %d of %d examples (--limit?): no number to compare with others",
        *(file, split, scored, whole),
    )


def read_samples_files(args: argparse.Namespace) -> ScoredFile:
    from lm_eval_stereoset.harness.samples import read_samples

    read = {file: read_samples(file) for file in args.predictions}
    found = {samples.language for samples in read.values()}
    if len(found) > 1:
        raise UserError(
            f"the samples are of several languages: {', '.join(sorted(found))}; give one at a time"
        )
    language = found.pop()
    if args.language and args.language != language:
        raise UserError(f"the samples are of language {language}, --language says {args.language}")
    named = {samples.benchmark.name: samples.benchmark for samples in read.values()}
    if len(named) > 1:
        raise UserError(f"the samples are of several benchmarks: {', '.join(named)}; give one at a time")
    parts, about = {}, []
    for file, samples in read.items():
        for split, scored in samples.parts.items():
            if split in parts:
                raise UserError(f"{file}: a second file with {split} samples; give one of each split")
            parts[split] = scored
            whole = samples.of.get(split)  # None in older files, which do not say
            if whole is not None and len(scored.examples) < whole:
                warn_of_part(file, split, len(scored.examples), whole)
            about.append(
                {"split": split, "language": language, "data": ", ".join(samples.data)}
                | {"normaliser": samples.normalisers[split], "scoring": samples.scorings[split]}
                | {"examples": whole, "scored": len(scored.examples)}
            )
    (benchmark,) = named.values()
    in_order = {split: parts[split] for split in benchmark.splits if split in parts}
    return ScoredFile(benchmark, language, in_order, about, {})
