"""Natural language inference: a classifier of three labels, trained as next-sentence models are (train.py).

accelerate launch -m nsp_finetune nli --base bert-base-uncased --data snli_1.0 --output DIR
stereoset run --model stereoset-hf --model_args pretrained=DIR --tasks nli_fairness,snli_accuracy
"""

from nsp_finetune import nli_data
from nsp_finetune.card import accuracy_rows, base_name, settings_rows
from nsp_finetune.job import Finished, Job
from nsp_finetune.nli_model import NLIModel, load_classifier, new_classifier, save_classifier
from nsp_finetune.nli_settings import UNUSED
from nsp_finetune.prepare import SPLITS


def _card(model: NLIModel, done: Finished) -> str:
    names: dict[int, str] = model.core.config.id2label
    labels = ", ".join(f"{number}: {name}" for number, name in sorted(names.items()))
    return f"""---
library_name: transformers
pipeline_tag: text-classification
tags:
- natural-language-inference
- stereoset
language:
- en
---
# Natural language inference on {base_name(done.settings.start_from)}

A classifier of pairs (premise, hypothesis) with the labels {labels}. To see how good and how fair it is:

    stereoset run --model stereoset-hf --model_args pretrained={done.folder.name} --tasks nli_fairness,snli_accuracy

## Accuracy on held-out pairs

| test pairs | accuracy | 95 % interval | pairs | premises |
|---|---|---|---|---|
{accuracy_rows(done.accuracy)}

Guessing gives 33 %. The interval takes into account that pairs of one premise are not independent.

![learning curve](learning_curve.png)

## Data

{base_name(str(done.data))}; {done.seen:,} pairs were seen in training. Rows without a gold label were left out.

| split | pairs | left out |
|---|---|---|
{_data_rows(done)}

## Settings

Pairs were cut to {model.settings.max_length} tokens in training, the longer text first.

| setting | value |
|---|---|
{settings_rows(done.settings, UNUSED)}
"""


def _data_rows(done: Finished) -> str:
    counts = {
        split: (len(nli_data.gold_rows(done.data, split)), nli_data.left_out(done.data, split))
        for split in SPLITS
    }
    return "\n".join(f"| {split} | {pairs:,} | {out:,} |" for split, (pairs, out) in counts.items())


NLI = Job(
    name="nli",
    title="natural language inference",
    chance=100 / 3,
    clusters="premises",
    check=nli_data.check,
    inputs=nli_data.inputs,
    new_model=new_classifier,
    load_model=load_classifier,
    save_model=save_classifier,
    tokens=nli_data.tokens,
    beforehand=nli_data.beforehand,
    card=_card,
)
