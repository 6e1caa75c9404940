"""A checkpoint with projections folded into its weights: loads anywhere, as it is."""

from pathlib import Path
from typing import Any

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import replacing_folder
from lm_eval_stereoset.interventions import stored
from lm_eval_stereoset.interventions.folding import fold
from lm_eval_stereoset.interventions.projection import Intervention, base_of
from lm_eval_stereoset.scoring.identity import RANDOM
from lm_eval_stereoset.scoring.nsp_folder import save_nsp_model
from lm_eval_stereoset.scoring.questions import Model, Tokenizer

NOTE = "stereoset_debias"  # entry of the checkpoint's config


def refuse_output(output: Path, *inputs: str | Path) -> None:
    """Neither an input nor anybody's folder is replaced; what `save` wrote before is."""
    if any(Path(one).exists() and output.resolve() == Path(one).resolve() for one in inputs):
        raise UserError(f"-o {output}: is an input; name another folder")
    if not output.exists():
        return
    if output.is_dir() and not any(output.iterdir()):
        return
    config = output / "config.json"
    if not (config.is_file() and f'"{NOTE}"' in config.read_text(encoding="utf-8", errors="replace")):
        raise UserError(
            f"-o {output}: exists, and is not a checkpoint that this command wrote; name another folder"
        )


def save_checkpoint(
    model: Model, tokenizer: Tokenizer, projections: Path, output: Path, source: str
) -> list[str]:
    """Folds, then writes. Returns what the checkpoint cannot carry."""
    found = stored.load(projections)
    if random := sorted(getattr(model, RANDOM, ())):
        raise UserError(
            f"{source}: its checkpoint lacks {random[0]}{f' and {len(random) - 1} more' if len(random) > 1 else ''}, "
            "which would be written as random numbers; take a checkpoint that has all its heads"
        )
    if stored.folded(model):
        raise UserError(
            f"{source}: has projections in its weights already; start from the original checkpoint"
        )
    notes = list(dict.fromkeys(fold(model, found)))
    setattr(base_of(model).config, NOTE, found.describe())
    card = card_of(found, source, notes)
    if hasattr(model, "core"):
        save_nsp_model(model, output, lambda folder: _write_card(folder, card))
        return notes
    setattr(model.config, NOTE, found.describe())
    with replacing_folder(output) as temporary:
        model.save_pretrained(temporary)
        tokenizer.save_pretrained(temporary)
        _write_card(temporary, card)
    return notes


def _write_card(folder: Path, card: str) -> None:
    (folder / "README.md").write_text(card, encoding="utf-8")


def card_of(found: Intervention, source: str, notes: list[str]) -> str:
    pairs: Any = found.about.get("pairs") or {}
    lines = [
        f"# {Path(source).name}, debiased",
        "",
        f"`{source}` with the projections `{found.name}` multiplied into its weights by `stereoset debias save`.",
        f"They were fitted on {pairs.get('count', 'unknown')} pairs of sentences: {pairs.get('source', 'unknown')}.",
        "",
        "| module | positions | directions |",
        "|---|---|---|",
        *(
            f"| {one.module} | {one.positions} | {one.basis.shape[1]} of {one.basis.shape[2]} |"
            for one in found.projections
        ),
        "",
        *(f"Not in these weights: {note}." for note in notes),
        "",
        "Small values of one measure of bias say nothing about others, nor about how the model behaves in use.",
    ]
    return "\n".join(lines) + "\n"
