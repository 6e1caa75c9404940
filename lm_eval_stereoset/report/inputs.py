"""From the arguments of the command to Runs: folders of the harness, prediction files, scores, samples."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from lm_eval_stereoset.benchmarks.evaluation import Scored, evaluate
from lm_eval_stereoset.benchmarks.prediction_notes import read_note, refuse_wrong_language, unlike_data
from lm_eval_stereoset.benchmarks.stereoset.predictions import PUBLISHED_KEYS, match, read_predictions
from lm_eval_stereoset.data import store
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import read_json, refuse_special
from lm_eval_stereoset.harness.samples import read_samples
from lm_eval_stereoset.languages import LANGUAGES
from lm_eval_stereoset.report import harness, scores, shapes
from lm_eval_stereoset.report.names import Argument, model_name, parse_argument, parse_file_name, tell_apart
from lm_eval_stereoset.report.run import ALL_SPLITS, Run

WAY_OUT = "give it: NAME:LANGUAGE=PATH, such as MyModel:de="


def load(
    arguments: Sequence[str], data: str | None = None, progress: Callable[..., Iterable] = list
) -> list[Run]:
    """All runs of all arguments, each with a model's name that is unique in its language."""
    pieces = [piece for text in arguments for piece in _pieces(parse_argument(text))]
    runs = [run for piece in progress(pieces) for run in _load_piece(piece, data)]
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
    results = harness.find_results(path)
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
    """Prediction files are recognised by how they start."""
    keys = [f'"{key}"'.encode() for key in PUBLISHED_KEYS.values()]
    found = sorted(path for path in folder.glob("*.json") if os.path.isfile(path))
    return [path for path in found if any(key in harness.first_bytes(path, 200) for key in keys)]


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
        files += harness.files_below(folder, ".json", ".jsonl") if os.path.isdir(folder) else []
    return files


def _load_piece(piece: Argument | tuple[Argument, list[Path]], data: str | None) -> list[Run]:
    if not isinstance(piece, Argument):
        argument, paths = piece
        return _named(harness.read_results(paths), argument)
    path = piece.path
    if path.suffix == ".jsonl":
        return [_samples_run(piece)]
    content = read_json(path)
    if harness.is_results(content):
        return _named(harness.read_results([path]), piece)
    if isinstance(content, dict) and set(content) & set(PUBLISHED_KEYS.values()):
        return [_predictions_run(piece, data)]
    if isinstance(content, dict) and set(content) & set(ALL_SPLITS):
        return [_scores_run(piece, content)]
    raise UserError(
        f"{path}: neither results of the harness, nor predictions (intrasentence, intersentence), "
        "nor JSON from `stereoset score`"
    )


def _named(runs: list[Run], argument: Argument) -> list[Run]:
    for run in runs:
        if argument.name:
            run.model, run.variant = argument.name, None
            if run.apart:
                run.model = f"{argument.name} ({run.apart})"
        if argument.language and argument.language != run.language:
            raise UserError(f"{argument.path}: is of language {run.language}, not {argument.language}")
    return runs


def _predictions_run(argument: Argument, data: str | None) -> Run:
    path = argument.path
    name, note = parse_file_name(path), read_note(path)
    language = argument.language or note.get("language") or name.language
    if not isinstance(language, str):
        raise UserError(f"{path}: its name does not say which language it is of; {WAY_OUT}{path}")
    refuse_wrong_language(path, note, language)
    parts: dict[str, Scored] = {}
    about: dict[str, dict[str, Any]] = {}
    for split, found in read_predictions(path).items():
        dataset = _dataset(split, language, data, store.data_folder())
        parts[split] = match(dataset.examples, found, f"{path}, {PUBLISHED_KEYS[split]}")
        about[split] = dataset.describe()
    model = argument.name or (name.model if name.language or not note else model_name(str(note.get("model"))))
    run = Run(model, language, str(path), evaluate(parts), parts)
    run.variant = None if argument.name else name.variant
    run.scoring = name.variant
    if name.language in LANGUAGES and name.language != language:
        # Ids are the same in all languages, so the scores would come out all the same.
        run.notes.append(f"the file's name says {name.language}, it was given as {language}")
    run.data = about
    unlike = [unlike_data(note, split, fields["sha256"]) for split, fields in about.items()]
    run.notes += [text for text in unlike if text]
    run.complete = {split: fields["examples"] for split, fields in about.items()}
    return run


@lru_cache(maxsize=64)
def _dataset(split: str, language: str, data: str | None, folder: Path) -> store.Dataset:
    """Read once, so that the texts are shared by all models; `folder` only tells data folders apart."""
    return store.load(split, language, data)


def _samples_run(argument: Argument) -> Run:
    samples = read_samples(argument.path)
    name = argument.name or model_name(argument.path.stem.removeprefix("samples_"))
    run = Run(name, samples.language, str(argument.path), evaluate(samples.parts), samples.parts)
    run.normaliser = " and ".join(sorted(set(samples.normalisers.values())))
    run.quantity = " and ".join(sorted(set(samples.scorings.values())))
    if any(name.startswith("sample ") for name in samples.data):
        run.data = {split: {"data": "sample"} for split in samples.parts}
    run.complete = samples.of
    if samples.of.keys() != samples.parts.keys():
        run.notes.append("samples without their results file: whether they are complete is not known")
    return _named([run], Argument(argument.path, None, argument.language))[0]


def _scores_run(argument: Argument, content: dict[str, Any]) -> Run:
    path = argument.path
    note = store.about_file(path)  # written beside the scores
    about = shapes.mapping(read_json(note), str(note)) if os.path.isfile(note) else {}
    name = parse_file_name(path)
    language = argument.language or shapes.text(about, "language", str(note)) or name.language
    if language is None:
        raise UserError(f"{path}: does not say which language it is of; {WAY_OUT}{path}")
    named = shapes.text(about, "model", str(note))
    model = argument.name or (model_name(named) if named else name.model)
    table = {split: content[split] for split in ALL_SPLITS if split in content}
    run = Run(model, language, str(path), scores.checked_table(table, str(path)))
    run.variant = None if argument.name else name.variant
    run.scoring, run.normaliser = name.variant, shapes.text(about, "normaliser", str(note))
    for fields in shapes.provenance(about, str(note)):
        run.data[fields["split"]] = fields
        if "examples" in fields:
            run.complete[fields["split"]] = fields["examples"]
    run.notes.append(
        "scores only: no examples and no paired tests (give the predictions themselves to see them)"
    )
    return run
