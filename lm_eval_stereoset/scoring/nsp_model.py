"""A next-sentence model on disk and in memory: the one definition of its folder, input and forward pass.

A folder in the transformers format (config.json, model.safetensors, tokenizer) whose config.json has an entry
"stereoset_nsp" with the fields of `NSPSettings`; models with a head keep it beside, in nsp_head.safetensors:

decoder   mean of the last hidden states over the real tokens, then three linear layers in sequence
          (hidden -> 300 -> 300 -> 2) without activation
encoder   last hidden state of the first token, linear + tanh, linear to 2 (BERT's next-sentence head)
seq2seq   no head: the decoder's logits of the tokens of "0" and "1"

Use:  model = load_nsp_model(folder); p = model.is_next_probability([("A first sentence.", "A second one.")])
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import nn

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import read_json, replacing_folder
from lm_eval_stereoset.scoring.architecture import untied
from lm_eval_stereoset.scoring.checkpoint import (
    check_folder,
    check_safetensors,
    decoder_start_token,
    one_line,
    refuse_mismatched,
    without_load_report,
)

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

CONFIG_KEY = "stereoset_nsp"
HEAD_FILE = "nsp_head.safetensors"
FAMILIES = ("decoder", "encoder", "seq2seq")
PAIRS = ("concatenate", "space", "tokenizer")
HEAD_WIDTH = 300  # of the paper's decoder head


@dataclass(frozen=True)
class NSPSettings:
    """What a reader must know to feed the model and to read it; saved as config.json's "stereoset_nsp"."""

    family: str  # one of FAMILIES
    pair: str = "tokenizer"
    # concatenate: ids of A, ids of B, nothing between; space: ids of A, ids of " " + B;
    # tokenizer: the tokenizer's own layout of a pair, with its special tokens and token types
    prefix: str = ""  # text in front of A (T5)
    max_length: int = 256
    # tokens of a pair in training, special ones included; the longer sentence is shortened first. Scoring takes whole
    # pairs, as long as the model has positions
    is_next_class: int = 1
    labels: tuple[str, str] = ("0", "1")  # the answers of a text-to-text model, by class
    label_step: int = 1
    # decoding step at which a text-to-text model answers; 2: after its own most probable first token, as the
    # authors' program reads their checkpoints

    def __post_init__(self) -> None:
        _one_of("family", self.family, FAMILIES)
        _one_of("pair", self.pair, PAIRS)
        _one_of("label_step", self.label_step, (1, 2))
        _one_of("is_next_class", self.is_next_class, (0, 1))
        if type(self.max_length) is not int or self.max_length < 4:
            raise UserError(f"max_length must be a whole number of at least 4, is {self.max_length!r}")
        if not isinstance(self.prefix, str):
            raise UserError(f"prefix must be a text, is {self.prefix!r:.60}")
        labels = self.labels if isinstance(self.labels, tuple) else ()
        if len(labels) != 2 or not all(isinstance(label, str) and label for label in labels):
            raise UserError(f"labels must be two texts, are {self.labels!r:.60}")


class NSPOutput(NamedTuple):
    logits: torch.Tensor  # (n, 2) float32, by class
    log_normaliser: torch.Tensor  # (n,): log-sum-exp over all the model could answer (its whole vocabulary)
    predicted: torch.Tensor  # (n,): the class answered; -1 if a text-to-text model says something else


class NSPModel(nn.Module):
    """Core model, head (or none), tokenizer and settings; one forward pass for training and scoring."""

    def __init__(
        self,
        core: "PreTrainedModel",
        head: nn.Module | None,
        tokenizer: "PreTrainedTokenizerBase",
        settings: NSPSettings,
    ):
        super().__init__()
        self.core, self.head, self.tokenizer, self.settings = core, head, tokenizer, settings
        if settings.family == "seq2seq":
            self.label_ids = [label_token(tokenizer, label) for label in settings.labels]
            if self.label_ids[0] == self.label_ids[1]:
                raise UserError(
                    f"the tokenizer gives {settings.labels!r} the same token: no answer to tell apart"
                )
        elif getattr(core, "pooler", None) is not None:
            core.pooler = None  # our head takes its place; unused weights would also stall several processes

    @property
    def config(self) -> Any:
        return self.core.config

    @property
    def device(self) -> torch.device:
        return next(self.core.parameters()).device

    def encode(self, pairs: Sequence[tuple[str, str]]) -> list[dict[str, list[int]]]:
        """For training: as `encode_up_to`, with the length that training is set to."""
        return self.encode_up_to(pairs, self.settings.max_length)

    def encode_up_to(self, pairs: Sequence[tuple[str, str]], limit: int | None) -> list[dict[str, list[int]]]:
        """Token ids of each pair (A, B), not padded; at most `limit` of them (None: all), cut longest first."""
        settings, tokenizer = self.settings, self.tokenizer
        first = [settings.prefix + a for a, _ in pairs]
        second = [(" " + b if settings.pair == "space" else b) for _, b in pairs]
        if not pairs:
            return []
        if settings.pair == "tokenizer":
            # verbose=False: tokenizers warn of lengths that their models can well take
            columns = tokenizer(
                first,
                second,
                truncation=limit is not None and "longest_first",
                max_length=limit,
                verbose=False,
            )
            keys = [key for key in ("input_ids", "token_type_ids") if key in columns]
            return [{key: columns[key][i] for key in keys} for i in range(len(pairs))]
        ids = [
            tokenizer(texts, add_special_tokens=False, verbose=False)["input_ids"]
            for texts in (first, second)
        ]
        return [{"input_ids": joined(a, b, limit)} for a, b in zip(*ids, strict=True)]

    def collate(self, encoded: Sequence[Mapping[str, list[int]]]) -> dict[str, torch.Tensor]:
        """Right-padded to the longest of the batch; only `attention_mask` tells what is real."""
        width = max(len(one["input_ids"]) for one in encoded)
        pad = {"input_ids": pad_id(self.tokenizer), "token_type_ids": 0}
        batch = {
            key: torch.tensor([list(one[key]) + [pad[key]] * (width - len(one[key])) for one in encoded])
            for key in ("input_ids", "token_type_ids")
            if key in encoded[0]
        }
        lengths = torch.tensor([len(one["input_ids"]) for one in encoded])
        batch["attention_mask"] = (torch.arange(width)[None, :] < lengths[:, None]).long()
        return batch

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        token_type_ids: torch.Tensor | None = None,
    ) -> NSPOutput:
        inputs = {"input_ids": input_ids, "attention_mask": attention_mask}
        if self.settings.family == "seq2seq":
            vocabulary = self._label_step_logits(inputs).float()
            logits = vocabulary[:, self.label_ids]
            answer = vocabulary.argmax(dim=-1)
            no, yes = self.label_ids
            predicted = torch.where(answer == yes, 1, torch.where(answer == no, 0, -1))
            return NSPOutput(logits, vocabulary.logsumexp(dim=-1), predicted)
        if self.settings.family == "encoder" and token_type_ids is not None:
            inputs["token_type_ids"] = token_type_ids
        if self.settings.family == "decoder":
            inputs["use_cache"] = False
        hidden = self.core(**inputs).last_hidden_state
        pooled = hidden[:, 0] if self.settings.family == "encoder" else mean_over_real(hidden, attention_mask)
        assert self.head is not None  # only the seq2seq family, done above, answers with its vocabulary
        logits = self.head(pooled.to(next(self.head.parameters()).dtype)).float()
        return NSPOutput(logits, logits.logsumexp(dim=-1), logits.argmax(dim=-1))

    def _label_step_logits(self, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
        """(n, vocabulary) logits at the step that holds the answer; the encoder runs once.

        At step 1 the decoder has seen its start token only, so there is no teacher to force anything and the
        training pass itself gives the accuracy of free generation.
        """
        start = decoder_start_token(self.core.config)
        said = torch.full((len(inputs["input_ids"]), 1), start, device=inputs["input_ids"].device)
        encoder = self.core.get_encoder()(**inputs)
        cache = None
        for _ in range(self.settings.label_step):
            output = self.core(
                encoder_outputs=encoder,
                attention_mask=inputs["attention_mask"],
                decoder_input_ids=said,  # each step's own token; those before are in the cache, as in generation
                past_key_values=cache,
                use_cache=self.settings.label_step > 1,
            )
            cache, logits = output.past_key_values, output.logits[:, -1]
            said = logits.argmax(dim=-1, keepdim=True)
        return logits

    @torch.inference_mode()
    def is_next_probability(self, pairs: Sequence[tuple[str, str]], batch_size: int = 32) -> list[float]:
        """P(B follows A) of every pair, in the order given; the model is put into evaluation mode."""
        self.eval()
        encoded = self.encode(pairs)
        order = sorted(range(len(pairs)), key=lambda i: -len(encoded[i]["input_ids"]))
        scores = [float("nan")] * len(pairs)
        for begin in range(0, len(order), batch_size):
            chunk = order[begin : begin + batch_size]
            batch = {k: v.to(self.device) for k, v in self.collate([encoded[i] for i in chunk]).items()}
            probability = self(**batch).logits.double().softmax(dim=-1)[:, self.settings.is_next_class]
            for i, value in zip(chunk, probability.tolist(), strict=True):
                scores[i] = value
        return scores

    def save(self, folder: Path | str, also: Callable[[Path], None] | None = None) -> None:
        """Writes the whole folder beside its place, then renames it: it is there complete or not at all.

        `also(folder)` may put more files into it before that.
        """
        from safetensors.torch import save_file

        folder = Path(folder)
        setattr(self.core.config, CONFIG_KEY, asdict(self.settings) | {"labels": list(self.settings.labels)})
        if (
            self.tokenizer.is_fast
        ):  # the last call's cutting would be saved with it, and would cut other users' texts
            self.tokenizer.backend_tokenizer.no_truncation()
            self.tokenizer.backend_tokenizer.no_padding()
        with replacing_folder(folder) as temporary:
            self.core.save_pretrained(temporary)
            self.tokenizer.save_pretrained(temporary)
            if self.head is not None:
                state = {
                    key: value.detach().cpu().contiguous() for key, value in self.head.state_dict().items()
                }
                save_file(state, temporary / HEAD_FILE, metadata={"format": "pt"})
            if also is not None:
                also(temporary)


def mean_over_real(hidden: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
    """(n, tokens, d) to (n, d); padding has no share, so a score never depends on its neighbours."""
    mask = attention_mask.unsqueeze(-1).to(hidden.dtype)
    return (hidden * mask).sum(dim=1) / mask.sum(dim=1)


def new_head(family: str, hidden: int) -> nn.Module | None:
    if family == "decoder":
        sizes = (hidden, HEAD_WIDTH, HEAD_WIDTH, 2)
        return nn.Sequential(*(nn.Linear(sizes[i], sizes[i + 1]) for i in range(3)))
    if family == "encoder":
        return nn.Sequential(nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, 2))
    return None


def hidden_size(config: Any) -> int:
    """Width of the last hidden state; configs of models with several parts keep it in their text part."""
    return config.get_text_config().hidden_size


def label_token(tokenizer: "PreTrainedTokenizerBase", label: str) -> int:
    """The token that stands for a label: its last piece (sentencepiece may split off a leading '▁')."""
    ids = tokenizer(label, add_special_tokens=False)["input_ids"]
    if not ids:
        raise UserError(f"the tokenizer makes no token of the label {label!r}; are its files complete?")
    return ids[-1]


def pad_id(tokenizer: "PreTrainedTokenizerBase") -> int:
    """Any id will do where there is none: the mask hides it."""
    return 0 if tokenizer.pad_token_id is None else tokenizer.pad_token_id


def joined(a: list[int], b: list[int], max_length: int | None) -> list[int]:
    """a + b, the longer one cut at its end until both fit; two long ones share the room."""
    if max_length is not None and len(a) + len(b) > max_length:
        half = max_length // 2
        if len(a) <= max_length - half:
            b = b[: max_length - len(a)]
        elif len(b) <= half:
            a = a[: max_length - len(b)]
        else:
            a, b = a[: max_length - half], b[:half]
    return a + b


def read_settings(folder: Path | str) -> NSPSettings | None:
    """The settings of a local folder with a next-sentence model, or None if it is something else."""
    path = Path(folder) / "config.json"
    if not path.is_file():
        return None
    config = read_json(path)
    if not isinstance(config, dict):
        raise UserError(f"{path}: must be a JSON object")
    saved = config.get(CONFIG_KEY)
    return None if saved is None else parse_settings(saved, str(path))


def parse_settings(saved: Any, where: str) -> NSPSettings:
    """`saved`: the entry "stereoset_nsp" of a config."""
    known = {field.name for field in fields(NSPSettings)}
    if not isinstance(saved, dict) or "family" not in saved:
        raise UserError(f'{where}: "{CONFIG_KEY}" must be an object with at least "family"')
    if unknown := sorted(set(saved) - known):
        raise UserError(f'{where}: "{CONFIG_KEY}" has the unknown entry {", ".join(unknown)}')
    labels = saved.get("labels", ("0", "1"))
    try:
        return NSPSettings(**saved | {"labels": tuple(labels) if isinstance(labels, list) else labels})
    except UserError as error:
        raise UserError(f'{where}: "{CONFIG_KEY}": {error}') from None


def load_nsp_model(
    folder: Path | str, dtype: Any = "auto", device: Any = None, trust_remote_code: bool = False
) -> NSPModel:
    """A saved model, in evaluation mode. Weights come from safetensors only."""
    from transformers import AutoTokenizer

    folder = Path(folder)
    check_folder(folder)
    settings = read_settings(folder)
    if settings is None:
        raise UserError(
            f'{folder}: not a next-sentence model (its config.json has no "{CONFIG_KEY}"); '
            "`stereoset nsp train` or `convert` makes one"
        )
    core = _load_core(folder, settings.family, dtype, trust_remote_code)
    tokenizer = one_line(
        str(folder),
        lambda: AutoTokenizer.from_pretrained(str(folder), trust_remote_code=trust_remote_code),
    )
    head = new_head(settings.family, hidden_size(core.config))
    if head is not None:
        fit_head(head, _read_head(folder / HEAD_FILE), str(folder / HEAD_FILE))
        head.to(core.dtype)
    model = NSPModel(core, head, tokenizer, settings)
    return (model if device is None else model.to(device)).eval()


def _load_core(folder: Path, family: str, dtype: Any, trust_remote_code: bool) -> Any:
    from transformers import AutoModel, AutoModelForSeq2SeqLM

    loader = AutoModelForSeq2SeqLM if family == "seq2seq" else AutoModel
    options = {"trust_remote_code": trust_remote_code, "use_safetensors": True, "dtype": dtype}
    options |= {"output_loading_info": True, "ignore_mismatched_sizes": True}
    with without_load_report():
        core, info = one_line(str(folder), lambda: loader.from_pretrained(str(folder), **options))
    refuse_mismatched(info, str(folder))
    lost = sorted(key for key in untied(core, info["missing_keys"]) if not key.startswith("pooler."))
    if lost:
        raise UserError(
            f"{folder}: lacks {len(lost)} weights of the model ({lost[0]} …), they would be random; is it complete?"
        )
    return core


def _read_head(path: Path) -> dict[str, torch.Tensor]:
    from safetensors.torch import load_file

    if not path.is_file():
        raise UserError(f"{path}: no such file; the folder lacks its next-sentence head")
    check_safetensors(path)
    return load_file(path)


def fit_head(head: nn.Module, state: Mapping[str, torch.Tensor], where: str) -> None:
    """Loads a head's weights, or says in one line what does not fit."""
    wanted = {key: tuple(value.shape) for key, value in head.state_dict().items()}
    found = {key: tuple(value.shape) for key, value in state.items()}
    if wanted != found:
        key = next(key for key in sorted(wanted.keys() | found.keys()) if wanted.get(key) != found.get(key))
        raise UserError(
            f"{where}: this head does not fit the model: {key} is {found.get(key, 'missing')}, "
            f"the model needs {wanted.get(key, 'none of that name')}"
        )
    head.load_state_dict(dict(state))


def _one_of(name: str, value: Any, allowed: Sequence[Any]) -> None:
    if value not in allowed or isinstance(value, bool):
        raise UserError(f"{name} must be one of {', '.join(map(str, allowed))}, is {value!r}")
