"""What `stereoset run --help` says before lm_eval's own flags: tasks, kinds of models, model_args, data, our flags."""

import argparse

# --model: what it is for. The harness has more; these are the ones that our documentation speaks of.
MODEL_TYPES = {
    "hf": "the harness's own: left-to-right models (GPT-2, Llama, Qwen, Mistral …) and T5",
    "stereoset-hf": "ours: masked, left-to-right, encoder-decoder and next-sentence models and classifiers, each "
    "scored as the papers do; faster, and never with a random head",
}
OTHER_MODELS = (
    "vllm, local-completions …",
    "any model of lm_eval that returns log-likelihoods",
)
CHAT_MODELS = (
    "local-chat-completions …",
    "and other chat services, which answer in words: for tasks with chat in their names, with --apply_chat_template",
)
# --model_args of both, which they hand to transformers.
COMMON_MODEL_ARGS = {
    "pretrained": "a model's name on the hub, or a folder (needed)",
    "dtype": "float32, bfloat16, float16 or auto (default: the checkpoint's)",
    "revision": "branch, tag or commit on the hub",
    "subfolder": "where the model lies within its folder or repository",
    "gguf_file": "the GGUF file in the folder or repository to load",
    "tokenizer": "another tokenizer than the model's: a name or a folder",
    "peft": "an adapter to put on the model",
    "trust_remote_code": "True lets the model bring its own code",
}
# --model_args that only stereoset-hf takes; tests/cli/test_cli_help.py compares them with its signature.
OWN_MODEL_ARGS = {
    "scoring": "auto (by the checkpoint's config), masked, causal, seq2seq, nsp or classifier",
    "labels": "a classifier's classes in their order, where its config does not say: entailment/neutral/contradiction",
    "case": "left-to-right models, a sentence after a context: orig, b, c, d, e or f (default: d)",
    "exact": "True: the papers' program with its quirks",
    "batch_tokens": "padded tokens of a batch (default: 512 on a CPU, 16384 on a GPU)",
    "debias": "a folder of projections to apply, made by `stereoset debias fit`",
    "tokenizer_class": "the tokenizer's class in transformers, where the checkpoint does not say",
}
DATA = {
    "(nothing)": "the benchmark's own data, fetched on first use; `stereoset ls` shows what is here",
    "--metadata data=sample": "the sample that comes with the package: no network, too small to compare models",
    "--metadata data=DIR": "your files, laid out as DIR/SPLIT/LANGUAGE.jsonl (`stereoset data check FILE` validates one)",
    "--metadata phrases=33": "nli_fairness: how many verb phrases (default: 33)",
    "--metadata orders=6": "chat tasks: in how many orders the options are shown, 1, 3 (default) or 6",
}
EXAMPLES = """\
  stereoset run --model hf --model_args pretrained=dbmdz/german-gpt2 --tasks stereoset_de
  stereoset run --model stereoset-hf --model_args pretrained=bert-base-cased,dtype=float32 --tasks stereoset_en \\
      --output_path results --log_samples
  stereoset run --model hf --model_args pretrained=gpt2 --tasks stereoset --metadata data=sample --limit 10"""

FULL_TABLE = "--full-table"


def make_parser() -> argparse.ArgumentParser:
    """Our own flags only; all others are lm_eval's."""
    from lm_eval_stereoset.cli.overview import benchmarks_text, table

    both = [(f"{name}=", text) for name, text in COMMON_MODEL_ARGS.items()]
    own = [(f"{name}=", text) for name, text in OWN_MODEL_ARGS.items()]
    parts = {
        "tasks (--tasks a,b; XX is a language; `stereoset ls` lists all of them)": benchmarks_text().splitlines(),
        "model types (--model)": table([*MODEL_TYPES.items(), OTHER_MODELS, CHAT_MODELS]),
        "model_args (--model_args name=value,name=value)": table(both),
        "more model_args of stereoset-hf": table(own),
        "data": table(DATA.items()),
        "batch size": table([("--batch_size", "default: 16 for hf; stereoset-hf fills batches by tokens")]),
    }
    blocks = [f"{title}:\n" + "\n".join(lines) for title, lines in parts.items()]
    parser = argparse.ArgumentParser(
        prog="stereoset run",
        usage="stereoset run --model MODEL --model_args ARGS --tasks TASKS [options]",
        description="Evaluates a model and ends with one row per task: the benchmark's main metrics with standard "
        "errors, how many\nexamples were used, how they were scored, and which data they are.\n\n"
        + "\n\n".join(blocks),
        epilog=f"examples:\n{EXAMPLES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    own_flags = parser.add_argument_group("options of stereoset run")
    own_flags.add_argument(
        FULL_TABLE, action="store_true", help="also print the harness's table with every metric of every task"
    )
    return parser
