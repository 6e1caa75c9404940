"""Where two texts differ, in tokens: what the families' *_compare.py modules have in common.

    "I was born", he said.     [CLS] " i was born " , he  said . [SEP]
    "I was born", she said.    [CLS] " i was born " , she said . [SEP]
                                                      ---

How much of the texts is compared depends on what a family can do: masked models read the tokens at which the texts
differ, left-to-right models everything from the first such token on, encoder-decoders the stretch from the first such
token to the last.

A tokenizer may cut the two texts into different numbers of tokens, or give one of them nothing of its own:

    rád                        [CLS] rád     jsem [SEP]
    ráda                       [CLS] rád ##a jsem [SEP]      between "rád" and "jsem" the first text has no token

The stretch then starts one token earlier in both texts (rád against rád ##a), or where that is no token of the text,
ends one later. Texts of exactly the same tokens differ nowhere: both get the score of the whole text, a tie by right.
"""

from collections.abc import Sequence

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring.questions import Candidate, Question, Tokenizer
from lm_eval_stereoset.scoring.text import Tokenised

Pair = tuple[Candidate, Candidate]
Stretch = tuple[int, int]  # first and one past the last token


def pair_of(question: Question) -> Pair:
    if len(question.candidates) != 2:
        raise ValueError(f"example {question.id}: {len(question.candidates)} candidates, two can be compared")
    first, second = question.candidates
    if (first.prompt is None) != (second.prompt is None):
        raise ValueError(f"example {question.id}: one of its candidates has a prompt, the other has none")
    return first, second


def common_beginning(a: Sequence[int], b: Sequence[int]) -> int:
    """How many first tokens two texts share."""
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def differing(a: Sequence[int], b: Sequence[int]) -> list[int]:
    """Positions at which two texts have different tokens, as far as the shorter one goes."""
    return [i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y]


def stretches(a: Tokenised, b: Tokenised, name: str) -> tuple[Stretch, Stretch]:
    """The stretch from the first to the last token in which two texts differ; see above for what is left empty."""
    inside_a, inside_b = text_tokens(a, name), text_tokens(b, name)
    if list(a.ids) == list(b.ids):
        return inside_a, inside_b
    begin = common_beginning(a.ids, b.ids)
    after = min(common_beginning(a.ids[::-1], b.ids[::-1]), min(len(a.ids), len(b.ids)) - begin)
    end_a, end_b = len(a.ids) - after, len(b.ids) - after
    if begin in (end_a, end_b):
        if begin > inside_a[0]:
            begin -= 1
        else:
            end_a, end_b = end_a + 1, end_b + 1
    return (begin, end_a), (begin, end_b)


def text_tokens(text: Tokenised, name: str) -> Stretch:
    """All tokens of a text but the special ones around it."""
    own = [i for i, start in enumerate(text.starts.tolist()) if start >= 0]
    if not own:
        raise UserError(f"{name}: the tokenizer leaves nothing of {text.text!r}")
    return own[0], own[-1] + 1


def remarks(family: str, tokenizer: Tokenizer, questions: Sequence[Question], exact: bool) -> list[str]:
    """What must be said of how the tokenizer cuts the pairs, a line each; mostly nothing."""
    prompted = [q for q in questions if family == "causal" and pair_of(q)[0].prompt is not None]
    others = [q for q in questions if family != "causal" or pair_of(q)[0].prompt is None]
    return [*_about_prompts(tokenizer, prompted, exact), *_about_texts(family, tokenizer, others, exact)]


def _about_texts(family: str, tokenizer: Tokenizer, questions: Sequence[Question], exact: bool) -> list[str]:
    sentences = [candidate.sentence for q in questions for candidate in pair_of(q)]
    encoded = _encode(tokenizer, sentences)
    pairs = list(zip(encoded[::2], encoded[1::2], strict=True))
    found = []
    same = sum(
        a == b and q.candidates[0].sentence != q.candidates[1].sentence
        for q, (a, b) in zip(questions, pairs, strict=True)
    )
    if same:
        found.append(
            f"{same} of {len(pairs)} pairs: the tokenizer gives both texts the same tokens, so they tie"
        )
    uneven = sum(len(a) != len(b) for a, b in pairs)
    if uneven and family == "masked":
        how = (
            "position by position, as far as the shorter one goes, as in the authors' program"
            if exact
            else "by the pseudo-log-likelihood of the stretch in which they differ"
        )
        found.append(
            f"{uneven} of {len(pairs)} pairs: the two texts have different numbers of tokens; they are compared {how}"
        )
    return found


def _about_prompts(tokenizer: Tokenizer, questions: Sequence[Question], exact: bool) -> list[str]:
    words = [prompt[1] for q in questions for c in pair_of(q) if (prompt := c.prompt) is not None]
    different = list(dict.fromkeys(words))
    counts = dict(zip(different, map(len, _encode(tokenizer, different)), strict=True))
    several = sum(any(counts[c.prompt[1]] > 1 for c in pair_of(q) if c.prompt) for q in questions)
    if not several:
        return []
    shown = ", ".join(f"{word!r} {n}" for word, n in counts.items())
    how = (
        "by its last token alone, as in the authors' program"
        if exact
        else "by the probability of all its tokens"
    )
    return [
        f"{several} of {len(questions)} pairs: the word behind the prompt has several tokens ({shown}); it is "
        f"compared {how}"
    ]


def _encode(tokenizer: Tokenizer, texts: Sequence[str]) -> list[list[int]]:
    if not texts:
        return []
    return tokenizer(list(texts), add_special_tokens=False, verbose=False)["input_ids"]
