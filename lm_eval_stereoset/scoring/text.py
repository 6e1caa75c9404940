"""From characters to tokens: which tokens of a sentence are a given stretch of its text."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring.types import Tokenizer


@dataclass
class Tokenised:
    """A text with special tokens. `starts`, `ends`: the characters of each token; both -1 if special."""

    text: str
    ids: list[int]
    starts: np.ndarray
    ends: np.ndarray
    words: np.ndarray  # a number per word, -1 for special tokens

    def tokens_in(self, start: int, end: int, name: str) -> tuple[int, int]:
        """First and one past the last token that holds any of the characters start to end.

        White space in front belongs to the word after it: byte-level and sentencepiece vocabularies write it
        into the word's first token, or as a token of its own that nothing else would account for.
        """
        while start > 0 and self.text[start - 1].isspace():
            start -= 1
        zero_width = (self.starts == self.ends) & (self.starts >= start) & (self.starts < end)
        hit = np.flatnonzero((self.starts >= 0) & (((self.starts < end) & (self.ends > start)) | zero_width))
        if not len(hit):
            raise UserError(f"{name}: the tokenizer leaves nothing of {self.text[start:end]!r}")
        return int(hit[0]), int(hit[-1]) + 1

    def cut(self, limit: int, keep_from: int) -> slice:
        """Tokens to drop so that at most `limit` are left: from the start, but special ones and those from
        `keep_from` on stay."""
        first = int(np.flatnonzero(self.starts >= 0)[0])
        return slice(first, min(first + max(0, len(self.ids) - limit), keep_from))


def tokenise(tokenizer: Tokenizer, texts: Sequence[str], words: bool = False) -> list[Tokenised]:
    """All texts in one call, each different one once."""
    different = list(dict.fromkeys(texts))
    if not different:
        return []
    make = _tokenise_fast if tokenizer.is_fast else _tokenise_slow
    done = dict(zip(different, make(tokenizer, different, words), strict=True))
    return [done[text] for text in texts]


def _tokenise_fast(tokenizer: Tokenizer, texts: list[str], words: bool) -> list[Tokenised]:
    encoded = tokenizer(
        texts,
        add_special_tokens=True,
        return_offsets_mapping=True,
        return_special_tokens_mask=True,
        return_attention_mask=False,
    )
    results = []
    for i, (text, ids) in enumerate(zip(texts, encoded["input_ids"], strict=True)):
        special = np.array(encoded["special_tokens_mask"][i], dtype=bool)
        offsets = np.array(encoded["offset_mapping"][i], dtype=np.int64).reshape(-1, 2)
        offsets[special] = -1
        numbers = np.full(len(ids), -1)
        if words:
            numbers[~special] = [
                -2 - j if word is None else word
                for j, word in enumerate(encoded.word_ids(i))
                if not special[j]
            ]
        results.append(Tokenised(text, ids, offsets[:, 0], offsets[:, 1], numbers))
    return results


def _tokenise_slow(tokenizer: Tokenizer, texts: list[str], words: bool) -> list[Tokenised]:
    """For tokenizers in Python (FlauBERT, XLM), which keep no offsets: tokens are found again in the text."""
    results = []
    for text in texts:
        ids = tokenizer(text, add_special_tokens=True)["input_ids"]
        inner = tokenizer(text, add_special_tokens=False)["input_ids"]
        before = next(i for i in range(len(ids) + 1) if ids[i : i + len(inner)] == inner)
        pieces = tokenizer.convert_ids_to_tokens(inner)
        starts, ends = (np.full(len(ids), -1) for _ in range(2))
        numbers = np.full(len(ids), -1)
        here = slice(before, before + len(inner))
        starts[here], ends[here] = _find(text, pieces)
        if words and inner:
            last = [piece.endswith("</w>") for piece in pieces]
            gap = [
                bool(text[a:b].strip() != text[a:b])
                for a, b in zip(ends[here][:-1], starts[here][1:], strict=True)
            ]
            opens = [False] + [closed or space for closed, space in zip(last[:-1], gap, strict=True)]
            numbers[here] = np.cumsum(opens)
        results.append(Tokenised(text, ids, starts, ends, numbers))
    return results


def _find(text: str, pieces: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """The characters of each piece; a piece that is not in the text as such gets those between its neighbours."""
    low = text.lower() if len(text.lower()) == len(text) else text
    spans: list[tuple[int, int] | None] = []
    cursor = 0
    for piece in pieces:
        bare = piece.replace("</w>", "").replace("▁", "").replace("Ġ", "").removeprefix("##")
        found = low.find(bare.lower() if low is not text else bare, cursor) if bare else -1
        near = 0 <= found <= cursor + 8 + len(bare)  # further away it is another occurrence
        spans.append((found, found + len(bare)) if near else None)
        cursor = found + len(bare) if near else cursor
    starts, ends = np.zeros(len(pieces), dtype=np.int64), np.zeros(len(pieces), dtype=np.int64)
    done = 0
    for i, span in enumerate(spans):
        after = next((s[0] for s in spans[i:] if s), len(text))
        starts[i], ends[i] = span or (done, after)
        done = ends[i] if span else done
    return starts, ends
