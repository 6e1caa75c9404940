"""What each method computes, in words: results, samples and reports say it as the model itself does."""

from typing import NamedTuple


class Description(NamedTuple):
    """Of one split: the quantity that candidates are compared by, and what its sum of logarithms was divided by."""

    scoring: str
    normaliser: str


NO_NORMALISER = "none"  # a single probability, not a sum over tokens

CASES = {
    "orig": "mean log-likelihood of the candidate alone minus that of the context",
    "b": "mean log-likelihood of the candidate given the context minus that of both together",
    "c": "mean log-likelihood of context and candidate together",
    "d": "mean log-likelihood of the candidate given the context",
    "e": "mean log-likelihood of the candidate given the context minus that of the candidate alone",
    "f": "mean log-likelihood of context and candidate together minus that of the candidate alone",
}


def describe(method: str, split: str, case: str, exact: bool, tokenizer: str) -> Description:
    """`method` as in architecture.methods_of; `case` matters to causal models' inter-sentence test only."""
    scoring, normaliser = {
        ("masked", "intra"): (
            "mean probability of the candidate word's tokens, unmasked from left to right",
            f"tokens of {tokenizer}, of the candidate word only",
        ),
        ("seq2seq", "intra"): (
            "mean probability of the candidate word's tokens, filled in from left to right",
            f"tokens of {tokenizer}, of the candidate word only",
        ),
        ("causal", "intra"): ("mean log-likelihood of the sentence", f"tokens of {tokenizer}"),
        ("masked", "inter"): (
            "mean pseudo-log-likelihood of the candidate given the context",
            f"tokens of {tokenizer}",
        ),
        ("seq2seq", "inter"): (
            "mean log-likelihood of the candidate and the final </s> given the context",
            f"tokens of {tokenizer}",
        ),
        ("causal", "inter"): (f"{CASES[case]} (case {case})", f"tokens of {tokenizer}"),
        ("nsp", "inter"): ("probability that the candidate follows the context", NO_NORMALISER),
    }[method, split]
    return Description(scoring + (", as in the authors' program" if exact else ""), normaliser)


def is_difference(scoring: object) -> bool:
    """Whether a description is that of a difference of log-likelihoods (cases orig, b, e, f)."""
    return isinstance(scoring, str) and " minus that of " in scoring
