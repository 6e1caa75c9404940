"""The model card: what the model is, what it was made from, how well it does."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nsp_finetune.settings import TrainSettings


def base_name(base: str) -> str:
    """A hub name as it is; of a local file or folder its last part, which says something to others."""
    return Path(base).resolve().name if Path(base).exists() else base


def accuracy_rows(accuracy: dict[str, dict[str, Any]]) -> str:
    return "\n".join(
        f"| {name} | {100 * a['accuracy']:.2f} % | {100 * a['low']:.2f} to {100 * a['high']:.2f} % | {a['pairs']:,} "
        f"| {a['articles']:,} |"
        for name, a in accuracy.items()
    )


def settings_rows(settings: TrainSettings, without: Sequence[str] = ()) -> str:
    return "\n".join(
        f"| {name} | {value!r} |"
        for name, value in vars(settings).items()
        if value is not None and name not in ("base", *without)
    )


def model_card(
    settings: TrainSettings,
    nsp: dict[str, Any],
    statistics: dict[str, Any],
    accuracy: dict[str, dict[str, Any]],
    seen: int,
    folder: Path,
) -> str:
    """Markdown. `nsp`: the entry "stereoset_nsp"; `seen`: training pairs."""
    languages = list(statistics["languages"])
    header = "\n".join(f"- {language}" for language in languages)
    corpora = "\n".join(
        f"| {language} | {base_name(info['corpus'])} | {info.get('splitter', 'NLTK punkt')} | {info['articles']:,} "
        f"| {info['sentences']:,} |"
        for language, info in statistics["languages"].items()
    )
    results = accuracy_rows(accuracy)
    silent = accuracy["all"]["no_answer"]
    remark = (
        f"\nNeither label was generated for {100 * silent:.2f} % of the pairs; they count as wrong.\n"
        if silent
        else ""
    )
    values = settings_rows(settings)
    return f"""---
library_name: transformers
tags:
- next-sentence-prediction
- stereoset
language:
{header}
---
# Next-sentence prediction on {base_name(settings.start_from)}

A {nsp["family"]} model that tells whether a sentence follows another, so that it can take StereoSet's
inter-sentence test:

    stereoset run --model stereoset-hf --model_args pretrained={folder.name} --tasks stereoset_inter_{languages[0]}

## Accuracy on held-out articles

| test pairs | accuracy | 95 % interval | pairs | articles |
|---|---|---|---|---|
{results}
{remark}
Half of the pairs (a little more) are random ones, so chance is about 50 %. The interval takes into account that
pairs of one article are not independent.

![learning curve](learning_curve.png)

## Data

Pairs (sentence, next sentence) and (sentence, random sentence of another article of the language);
{seen:,} of them were seen in training. No article is in two of the training, validation and test sets.

| language | corpus | split into sentences by | articles | sentences |
|---|---|---|---|---|
{corpora}

## Settings

Pairs were cut to {nsp["max_length"]} tokens in training, the longer sentence first.

| setting | value |
|---|---|
{values}
"""
