"""From the arguments of the command to Runs: folders of the harness, prediction files, scores, samples."""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from lm_eval_stereoset import benchmarks
from lm_eval_stereoset.benchmarks import prediction_files
from lm_eval_stereoset.benchmarks.declaration import OVERALL, Benchmark
from lm_eval_stereoset.benchmarks.evaluation import evaluate, pooled_table
from lm_eval_stereoset.benchmarks.prediction_files import FileName
from lm_eval_stereoset.data import store
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import read_json, refuse_special
from lm_eval_stereoset.harness.closing import model_name
from lm_eval_stereoset.harness.docs import FIRST_BENCHMARK
from lm_eval_stereoset.harness.samples import read_samples
from lm_eval_stereoset.languages import LANGUAGES
from lm_eval_stereoset.report import checked, harness_runs, results_files
from lm_eval_stereoset.report.extras import OtherFiles, other_files
from lm_eval_stereoset.report.model_run import Run
from lm_eval_stereoset.report.names import Argument, parse_argument, parse_file_name, tell_apart

WAY_OUT = "give it: NAME:LANGUAGE=PATH, such as MyModel:de="


def load(
    arguments: Sequence[str], data: str | None = None, progress: Callable[..., Iterable] = list
) -> list[Run]:
    """All runs of all arguments, each with a model's name that is unique in its benchmark and language."""
    pieces = [piece for text in arguments for piece in _pieces(parse_argument(text))]
    runs = _joined([run for piece in progress(pieces) for run in _load_piece(piece, data)])
    tell_apart(runs)
    return runs


def _pieces(argument: Argument) -> Iterator[Argument | tuple[Argument, list[Path]]]:
    """A folder becomes the prediction files and the results files in it; a file stays a file."""
    path = argument.path
    try:
        os.stat(path)
    except PermissionError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error
    except (OSError, ValueError) as error:  # also names that no file can have
        raise UserError(f"{str(path)[:200]}: no such file or folder") from error
    refuse_special(path)
    if not os.path.isdir(path):
        yield argument
        return
    results = results_files.find(path)
    predictions = _find_predictions(path)
    if not results and not predictions:
        raise UserError(
            f"{path}: a folder without results: neither results_*.json of the harness "
            "(written by --output_path) nor prediction files"
        )
    if results:
        yield argument, results
    for found in predictions:
        yield argument._replace(path=found)


def _find_predictions(folder: Path) -> list[Path]:
    """Prediction files are recognised by how they start: with a head, or with a key of a published format."""
    formats = [benchmark.predictions for benchmark in benchmarks.registered() if benchmark.predictions]
    keys = ["benchmark", *(key for one in formats for key in one.keys)]
    starts = [f'"{key}"'.encode() for key in keys]
    found = sorted(path for path in folder.glob("*.json") if os.path.isfile(path))
    likely = [
        path
        for path in found
        if any(start in results_files.first_bytes(path, 200) for start in starts) or _is_other(path)
    ]
    named = [
        one.parse_name for one in formats if one.parse_text
    ]  # files of text say by their name what they are
    texts = sorted(path for path in folder.glob("*.txt") if any(parse(path.stem) for parse in named))
    return [*(path for path in likely if not _is_about(path)), *filter(os.path.isfile, texts)]


def _is_other(path: Path) -> bool:
    """Files of another command's numbers: opened only if they begin like one."""
    start = results_files.first_bytes(path, 40).lstrip(b"{ \r\n\t")
    likely = [other for other in other_files() if start.startswith(other.key)]
    return bool(likely) and any(other.recognises(read_json(path)) for other in likely)


def _is_about(path: Path) -> bool:
    """The note beside a table of `stereoset score` names its benchmark, too."""
    return path.name.endswith(".about.json")


def files_read(arguments: Sequence[str], data: str | None) -> list[Path]:
    """Every file that `load` may read for these arguments, so that no output takes its place.

    Of a folder all results, samples, predictions and notes; also the data.
    """
    folders = [Path(data).expanduser() if data and data != "sample" else store.data_folder()]
    files = []
    for path in (parse_argument(text).path for text in arguments):
        if os.path.isdir(path):
            folders.append(path)
        else:
            files += [path, store.about_file(path)] if path.suffix == ".json" else [path]
    for folder in folders:
        files += results_files.below(folder, ".json", ".jsonl") if os.path.isdir(folder) else []
    return files


def _load_piece(piece: Argument | tuple[Argument, list[Path]], data: str | None) -> list[Run]:
    if not isinstance(piece, Argument):
        argument, paths = piece
        return _named(harness_runs.read(paths), argument)
    path = piece.path
    if path.suffix == ".jsonl":
        return [_samples_run(piece)]
    content = prediction_files.content_of(path)
    if results_files.is_results(content):
        return _named(harness_runs.read([path]), piece)
    for other in other_files():
        if other.recognises(content):
            return [_reported_run(piece, other, content)]
    if benchmark := prediction_files.benchmark_in(content):
        return [_predictions_run(piece, benchmark, content, data)]
    note = store.about_file(path)  # which `stereoset score` writes beside a table
    about = checked.mapping(read_json(note), str(note)) if os.path.isfile(note) else {}
    scored = _benchmark_of(about, str(note))
    if isinstance(content, dict) and set(content) & set(scored.views):
        return [_scores_run(piece, scored, content, about)]
    raise UserError(
        f"{path}: neither results of the harness, nor predictions (intrasentence, intersentence, or with a head), "
        "nor JSON from `stereoset score`"
    )


def _benchmark_of(about: dict[str, Any], where: str) -> Benchmark:
    return benchmarks.find(checked.text(about, "benchmark", where) or FIRST_BENCHMARK)


def _named(runs: list[Run], argument: Argument) -> list[Run]:
    for run in runs:
        if argument.name:
            run.model, run.variant = argument.name, None
            if run.apart:
                run.model = f"{argument.name} ({run.apart})"
        if argument.language and argument.language != run.language:
            raise UserError(f"{argument.path}: is of language {run.language}, not {argument.language}")
    return runs


def _predictions_run(argument: Argument, benchmark: Benchmark, content: Any, data: str | None) -> Run:
    path = argument.path
    name, head = parse_file_name(path, benchmark), prediction_files.head_of(content)
    language = argument.language or head.get("language") or name.language
    if not isinstance(language, str):
        raise UserError(f"{path}: its name does not say which language it is of; {WAY_OUT}{path}")

    found = prediction_files.parse(content, str(path), language, data, _load_once)
    named = model_name(str(head["model"])) if isinstance(head.get("model"), str) else name.model
    run = Run(benchmark, argument.name or named, language, str(path), evaluate(found.parts), found.parts)
    run.variant = None if argument.name or head else name.variant
    run.scoring = None if head else name.variant
    run.from_predictions, run.identity = True, head.get("identity")
    if not head and name.language in LANGUAGES and name.language != language:
        # Ids are the same in all languages, so the scores would come out all the same.
        run.notes.append(f"the file's name says {name.language}, it was given as {language}")
    run.data = {split: dataset.describe() for split, dataset in found.data.items()}
    unlike = [prediction_files.unlike_data(head, split, d["sha256"]) for split, d in run.data.items()]
    run.unlike_data = [text for text in unlike if text]
    run.notes += run.unlike_data
    run.complete = found.of
    run.scorers = {} if head else _of_parts(name, found.parts)
    for split in found.parts:
        _remember(run, split, prediction_files.scoring_of(head, split))
    return run


def _joined(runs: Sequence[Run]) -> list[Run]:
    """Prediction files that each hold other splits of one model in one language are one result."""
    groups: dict[tuple[str, ...], list[Run]] = {}
    for place, run in enumerate(runs):
        apart = "" if run.from_predictions else f"alone {place}"
        key = (run.benchmark.name, run.model, run.language, str(run.variant), json.dumps(run.identity), apart)
        groups.setdefault(key, []).append(run)
    return [one for group in groups.values() for one in _together(group)]


def _together(group: list[Run]) -> list[Run]:
    splits = [split for run in group for split in run.parts or {}]
    if len(group) == 1 or len(set(splits)) < len(
        splits
    ):  # the latter are told apart, or refused, as they are
        return group
    first, *others = group
    parts = {split: scored for run in group for split, scored in (run.parts or {}).items()}
    table = {split: groups for run in group for split, groups in run.table.items()}
    first.parts = {split: parts[split] for split in first.benchmark.splits if split in parts}
    first.table = {split: table[split] for split in first.parts} | pooled_table(first.parts)
    for run in others:
        for known in ("scorers", "normalisers", "quantities", "data", "complete"):
            getattr(first, known).update(getattr(run, known))
        first.unlike_data += run.unlike_data
        first.notes += [note for note in run.notes if note not in first.notes]
    return [first]


def _reported_run(argument: Argument, other: OtherFiles, content: dict[str, Any]) -> Run:
    path, benchmark = argument.path, other.benchmark
    found = other.read(content, str(path))
    (split,) = benchmark.splits
    table = checked.table(benchmark, {split: {OVERALL: dict(found.values)}}, str(path))
    named = parse_file_name(path, benchmark).model
    run = Run(benchmark, argument.name or found.model or named, found.language, str(path), table)
    run.quantities = {split: found.quantity} if found.quantity else {}
    return _named([run], argument)[0]


def _of_parts(name: FileName, parts: Iterable[str]) -> dict[str, str]:
    return {split: scorer for split, scorer in name.scorers.items() if split in parts}


def _remember(run: Run, split: str, said: Mapping[str, Any]) -> None:
    """How a split was scored, where that is known."""
    for key, known in (("normaliser", run.normalisers), ("scoring", run.quantities)):
        if said.get(key):
            known[split] = said[key]


def _load_once(
    benchmark: Benchmark, split: str, language: str, data: str | None, options: Mapping[str, Any]
) -> store.Dataset:
    """The texts are shared by all models."""
    chosen = tuple(sorted(store.checked_options(benchmark, options).items()))
    return _dataset(benchmark.name, split, language, data, chosen, store.data_folder())


@lru_cache(maxsize=256)
def _dataset(
    benchmark: str,
    split: str,
    language: str,
    data: str | None,
    options: tuple[tuple[str, int], ...],
    folder: Path,
) -> store.Dataset:
    """`folder` only tells data folders apart."""
    return store.load(benchmarks.find(benchmark), split, language, data, dict(options))


def _samples_run(argument: Argument) -> Run:
    samples = read_samples(argument.path)
    name = argument.name or model_name(argument.path.stem.removeprefix("samples_"))
    table = evaluate(samples.parts)
    run = Run(samples.benchmark, name, samples.language, str(argument.path), table, samples.parts)
    run.normalisers, run.quantities = dict(samples.normalisers), dict(samples.scorings)
    if any(name.startswith("sample ") for name in samples.data):
        run.data = {split: {"data": "sample"} for split in samples.parts}
    run.complete = samples.of
    if samples.of.keys() != samples.parts.keys():
        run.notes.append("samples without their results file: whether they are complete is not known")
    return _named([run], Argument(argument.path, None, argument.language))[0]


def _scores_run(
    argument: Argument, benchmark: Benchmark, content: dict[str, Any], about: dict[str, Any]
) -> Run:
    path, where = argument.path, str(store.about_file(argument.path))
    name = parse_file_name(path, benchmark)
    language = argument.language or checked.text(about, "language", where) or name.language
    if language is None:
        raise UserError(f"{path}: does not say which language it is of; {WAY_OUT}{path}")
    named = checked.text(about, "model", where)
    model = argument.name or (model_name(named) if named else name.model)
    table = {split: content[split] for split in benchmark.views if split in content}
    run = Run(benchmark, model, language, str(path), checked.table(benchmark, table, str(path)))
    run.variant = None if argument.name else name.variant
    run.scoring, run.scorers = name.variant, _of_parts(name, table)
    normaliser = checked.text(about, "normaliser", where)
    run.normalisers = {OVERALL: normaliser} if normaliser else {}
    for fields in checked.provenance(benchmark, about, where):
        run.data[fields["split"]] = fields
        if "examples" in fields:
            run.complete[fields["split"]] = fields["examples"]
    if normaliser is None:
        for split, fields in run.data.items():
            _remember(run, split, fields)
    run.notes.append(
        "scores only: no examples and no paired tests (give the predictions themselves to see them)"
    )
    return run
