"""How many pairs of the inter-sentence test are longer than a model is trained on: said before the training."""

from collections.abc import Iterable
from pathlib import Path

from lm_eval_stereoset.benchmarks.stereoset.declared import BENCHMARK
from lm_eval_stereoset.benchmarks.stereoset.example import read_examples
from lm_eval_stereoset.data.store import file_in, folder_of
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring.batching import max_positions
from lm_eval_stereoset.scoring.nsp_model import NSPModel


def inter_data(language: str) -> tuple[str, Path] | None:
    """StereoSet's inter-sentence pairs in the language if they are here, else the bundled sample's, else None."""
    for name, folder in ((BENCHMARK.title, folder_of(BENCHMARK)), ("the bundled sample", BENCHMARK.sample)):
        if folder and (path := file_in(folder, "inter", language)).is_file():
            return name, path
    return None


def long_test_pairs(model: NSPModel, languages: Iterable[str]) -> list[str]:
    """A line for each language. Nothing is fetched for it."""
    return [f"inter-sentence test, {language}: {_say(model, language)}" for language in languages]


def _say(model: NSPModel, language: str) -> str:
    limit = model.settings.max_length
    unknown = f"how many pairs are longer than --max-length {limit} is unknown"
    found = inter_data(language)
    if found is None:
        return f"{unknown}, the data are not here (`stereoset data fetch`)"
    name, path = found
    try:
        examples = read_examples(path, "inter")
    except UserError as error:
        return f"{unknown} ({error})"
    pairs = [
        (example.context, candidate.sentence) for example in examples for candidate in example.candidates
    ]
    lengths = [len(one["input_ids"]) for one in model.encode_up_to(pairs, None)]
    longer = sum(length > limit for length in lengths)
    line = f"{longer or 'none'} of {len(lengths)} pairs of {name} longer than --max-length {limit} "
    line += f"(the longest has {max(lengths)} tokens)"
    positions = max_positions(model.core)
    cut = 0 if positions is None else sum(length > positions for length in lengths)
    if cut:
        line += f"; {cut} longer than the model's {positions} positions will be cut there"
    if longer > cut:
        line += "; longer than anything seen in training, they are scored whole"
    return line
