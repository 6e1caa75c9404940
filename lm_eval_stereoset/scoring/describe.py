"""What each method computes, in words: results, samples and reports say it as the model itself does."""

import re
from typing import NamedTuple


class Description(NamedTuple):
    """Of one kind of question: what candidates are compared by, and what its sum of logarithms was divided by."""

    scoring: str
    normaliser: str


NO_NORMALISER = "none"  # a single probability, not a sum over tokens

ANSWER_IN_WORDS = "log-likelihood of the answer to a question in words"
# Of any model of the harness that gives log-likelihoods.
PLAIN = {
    "fill": "mean log-likelihood of the sentence",
    "follow": "mean log-likelihood of the candidate given the context",
    "whole": "mean log-likelihood of the sentence",
    "compare": "mean log-likelihood from the first differing word on; of the word behind a prompt its log-likelihood",
    "judge": ANSWER_IN_WORDS,
}

CASES = {
    "orig": "mean log-likelihood of the candidate alone minus that of the context",
    "b": "mean log-likelihood of the candidate given the context minus that of both together",
    "c": "mean log-likelihood of context and candidate together",
    "d": "mean log-likelihood of the candidate given the context",
    "e": "mean log-likelihood of the candidate given the context minus that of the candidate alone",
    "f": "mean log-likelihood of context and candidate together minus that of the candidate alone",
}


def describe(family: str, kind: str, case: str, exact: bool, tokenizer: str) -> Description:
    """`family` as in architecture.methods_of; `case` matters to causal models and the kind follow only."""
    scoring, normaliser = {
        ("masked", "fill"): (
            "mean probability of the candidate word's tokens, unmasked from left to right",
            f"tokens of {tokenizer}, of the candidate word only",
        ),
        ("seq2seq", "fill"): (
            "mean probability of the candidate word's tokens, filled in from left to right",
            f"tokens of {tokenizer}, of the candidate word only",
        ),
        ("causal", "fill"): ("mean log-likelihood of the sentence", f"tokens of {tokenizer}"),
        ("masked", "follow"): (
            "mean pseudo-log-likelihood of the candidate given the context",
            f"tokens of {tokenizer}",
        ),
        ("seq2seq", "follow"): (
            "mean log-likelihood of the candidate and the final </s> given the context",
            f"tokens of {tokenizer}",
        ),
        ("causal", "follow"): (f"{CASES[case]} (case {case})", f"tokens of {tokenizer}"),
        ("nsp", "follow"): ("probability that the candidate follows the context", NO_NORMALISER),
        ("masked", "whole"): ("mean pseudo-log-likelihood of the sentence", f"tokens of {tokenizer}"),
        ("seq2seq", "whole"): (
            "mean log-likelihood of the sentence and the final </s>",
            f"tokens of {tokenizer}",
        ),
        ("causal", "whole"): ("mean log-likelihood of the sentence", f"tokens of {tokenizer}"),
        ("masked", "compare"): (
            "mean log-probability of the differing tokens, masked all at once",
            f"tokens of {tokenizer}, of the differing ones only",
        ),
        ("causal", "compare"): (
            "mean log-likelihood from the first differing token on; of the word behind a prompt its log-likelihood",
            f"tokens of {tokenizer}, of those read only",
        ),
        ("seq2seq", "compare"): (
            "mean log-likelihood of the stretch that differs, filled into a gap",
            f"tokens of {tokenizer}, of the stretch only",
        ),
        ("classifier", "judge"): (
            "probability of the label, by the model's classification head",
            NO_NORMALISER,
        ),
        ("causal", "judge"): (ANSWER_IN_WORDS, NO_NORMALISER),
    }[family, kind]
    published = exact and (family, kind) != ("seq2seq", "compare")  # which has no published program
    return Description(scoring + (", as in the authors' program" if published else ""), normaliser)


def unit_of(normaliser: str) -> str:
    """A normaliser without the tokenizer's name: two models have a tokenizer each, which is no other method."""
    return re.sub(r"^tokens of .+?(?=, of the candidate word only$|$)", "tokens", normaliser, flags=re.DOTALL)


def is_difference(scoring: object) -> bool:
    """Whether a description is that of a difference of log-likelihoods (cases orig, b, e, f)."""
    return isinstance(scoring, str) and " minus that of " in scoring
