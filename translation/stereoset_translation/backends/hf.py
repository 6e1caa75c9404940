"""Translation models of transformers: Marian, NLLB, M2M100, mBART; from a local folder or the hub.

BLANK is protected: an answer that lost it is asked again with other placeholders in its place, and only
an answer with all of its BLANKs counts as kept.
"""

import argparse
import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from lm_eval_stereoset.errors import UserError, missing_package
from lm_eval_stereoset.scoring.questions import BLANK
from stereoset_translation.backends import Backend, Refused, count
from stereoset_translation.codes import spellings

PRICE = None
# Tried in turn when BLANK is lost: underscores are how texts print a blank, capitals look like a name.
QUOTED = f'"{BLANK}"'
PLACEHOLDERS = ("____", "XXX", QUOTED, "[1]")
QUOTES = "\"'`´«»‹›“”„‟‘’‚「」『』"  # whatever marks the other language uses, they are ours and go again


BROKEN_FOLDER = (OSError, ValueError, KeyError, RuntimeError, ImportError, TypeError, AttributeError)


def add_options(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--model", metavar="NAME", help="folder or hub name, e.g. facebook/nllb-200-distilled-600M"
    )
    group.add_argument("--revision", metavar="NAME", help="version of a model of the hub")
    group.add_argument("--batch-size", type=count, default=16, metavar="N", help="texts at once (16)")
    group.add_argument("--beams", type=count, default=4, metavar="N", help="beam search width (4)")
    group.add_argument("--device", metavar="NAME", help="cpu, cuda, … (default: cuda if there is one)")


def create(args: argparse.Namespace, source: str, target: str) -> "TranslationModel":
    if not args.model:
        raise UserError("--backend hf needs --model, a folder or a name on the hub")
    if args.model.startswith((".", "/", "~")) and not Path(args.model).is_dir():
        raise UserError(f"--model {args.model}: no such folder")
    return TranslationModel(
        args.model, source, target, revision=args.revision, batch_size=args.batch_size,
        beams=args.beams, device=args.device, price=args.price,
    )  # fmt: skip


class TranslationModel(Backend):
    def __init__(
        self,
        model: str,
        source: str,
        target: str,
        revision: str | None = None,
        batch_size: int = 16,
        beams: int = 4,
        device: str | None = None,
        price: float | None = None,
    ):
        self.name, self.source, self.target, self.revision = model, source, target, revision
        self.batch_size, self.beams, self.device, self.price = batch_size, beams, device, price
        self.identity = f"hf {model} {_version(model, revision)} beams={beams}"
        self._model: Any = None
        self._tokenizer: Any = None
        self._prefix = ""
        self._forced_bos: int | None = None

    def __enter__(self) -> "TranslationModel":
        import torch
        from safetensors import SafetensorError
        from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

        device = self.device or ("cuda" if torch.cuda.is_available() else "cpu")
        try:
            self._tokenizer = AutoTokenizer.from_pretrained(self.name, revision=self.revision)
            model = AutoModelForSeq2SeqLM.from_pretrained(self.name, revision=self.revision)
            self._model = model.eval().to(device)
        # What transformers raises for folders whose files are missing, cut off or of another kind.
        except (*BROKEN_FOLDER, SafetensorError) as error:
            if isinstance(error, ImportError) and find_spec("sentencepiece") is None:
                raise missing_package("sentencepiece", f"--model {self.name}", "translate") from error
            raise UserError(
                f"--model {self.name} cannot be loaded as a translation model: {error}"
            ) from error
        self._prefix, self._forced_bos = set_languages(self._tokenizer, self.source, self.target, self.name)
        return self

    def __exit__(self, *exception: object) -> None:
        self._model = self._tokenizer = None

    def translate(self, texts: Sequence[str]) -> list[str | Refused]:
        answers = self._generate(texts)
        for placeholder in PLACEHOLDERS:
            lost = [i for i, text in enumerate(texts) if _lost(text, answers[i]) and placeholder not in text]
            if not lost:
                break
            again = self._generate([texts[i].replace(BLANK, placeholder) for i in lost])
            for i, answer in zip(lost, again, strict=True):
                if isinstance(answer, Refused):
                    continue
                restored = _unquoted(answer) if placeholder == QUOTED else answer.replace(placeholder, BLANK)
                if not _lost(texts[i], restored):
                    answers[i] = restored
        return answers

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Out of memory, or a tokenizer that is not the model's: for the user to mend."""
        try:
            yield
        except (RuntimeError, IndexError) as error:
            raise UserError(
                f"--model {self.name} failed ({error}); every answer so far is stored: "
                "try a smaller --batch-size, or check that model and tokenizer belong together"
            ) from error

    def _generate(self, texts: Sequence[str]) -> list[str | Refused]:
        import torch

        limit = _longest(self._model.config)
        encoded = [self._tokenizer(self._prefix + text)["input_ids"] for text in texts]
        answers: list[str | Refused] = [
            Refused(f"{len(ids)} tokens, but the model reads {limit} at most") for ids in encoded
        ]
        fits = [i for i, ids in enumerate(encoded) if len(ids) <= limit]
        if not fits:
            return answers
        batch = self._tokenizer(
            [self._prefix + texts[i] for i in fits], padding=True, return_tensors="pt"
        ).to(self._model.device)
        longest = batch["input_ids"].shape[1]
        options = {} if self._forced_bos is None else {"forced_bos_token_id": self._forced_bos}
        with torch.inference_mode(), self._told():
            output = self._model.generate(
                **batch, num_beams=self.beams, do_sample=False, max_length=None,
                max_new_tokens=min(2 * longest + 20, limit - 1), **options,
            )  # fmt: skip
        # Not every tokenizer counts its language codes as special tokens that decoding leaves out.
        rows = [[token for token in row if token != self._forced_bos] for row in output.tolist()]
        decoded = self._tokenizer.batch_decode(rows, skip_special_tokens=True)
        for i, answer in zip(fits, decoded, strict=True):
            answers[i] = answer.strip()
        return answers


def set_languages(tokenizer: Any, source: str, target: str, name: str) -> tuple[str, int | None]:
    """Tells the tokenizer the languages; gives the text to put in front and the forced first token."""
    if hasattr(tokenizer, "supported_language_codes"):  # Marian
        return _marian_prefix(tokenizer, source, target, name), None
    if not hasattr(tokenizer, "src_lang"):
        raise UserError(f"--model {name}: {type(tokenizer).__name__} does not say which languages it knows")
    source_code, _ = _language_token(tokenizer, source, name)
    _, target_id = _language_token(tokenizer, target, name)
    tokenizer.src_lang = source_code
    return "", target_id


def _marian_prefix(tokenizer: Any, source: str, target: str, name: str) -> str:
    if codes := tokenizer.supported_language_codes:  # one model, many target languages
        for code in spellings(target):
            if f">>{code}<<" in codes:
                return f">>{code}<< "
        raise UserError(f"--model {name} does not translate into {target!r}, only {_some(codes)}")
    for wanted, has, what in (
        (source, tokenizer.source_lang, "from"),
        (target, tokenizer.target_lang, "into"),
    ):
        if has and has not in spellings(wanted):
            raise UserError(f"--model {name} translates {what} {has!r}, not {wanted!r}")
    return ""


def _language_token(tokenizer: Any, language: str, name: str) -> tuple[str, int]:
    """The model's own code of a language (it, ita_Latn, it_IT) and the token that stands for it."""
    known = getattr(tokenizer, "lang_code_to_id", None) or {
        token: tokenizer.convert_tokens_to_ids(token)
        for token in tokenizer.all_special_tokens
        if "_" in token
    }
    for code in spellings(language):
        for spelling in (code, f"{code}_{code.upper()}"):
            if spelling in known:
                return spelling, known[spelling]
    raise UserError(
        f"--model {name} does not know the language {language!r}; it has {_some(sorted(known))}; "
        "--target-code names one of them"
    )


def _lost(text: str, answer: str | Refused) -> bool:
    return not isinstance(answer, Refused) and answer.count(BLANK) != text.count(BLANK)


def _unquoted(answer: str) -> str:
    return re.sub(rf"[{QUOTES}]+[ \u00a0\u202f]?{BLANK}[ \u00a0\u202f]?[{QUOTES}]+", BLANK, answer)


def _longest(config: Any) -> int:
    return getattr(config, "max_position_embeddings", None) or 512


def _version(model: str, revision: str | None) -> str:
    """A model that is trained again in the same folder must not get the old one's answers."""
    folder = Path(model)
    if not folder.is_dir():
        return revision or "main"
    files = sorted(file for file in folder.iterdir() if file.is_file())
    state = [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    return hashlib.sha256(repr(state).encode()).hexdigest()[:10]


def _some(codes: Sequence[str]) -> str:
    return ", ".join(list(codes)[:12]) + (" …" if len(codes) > 12 else "")
