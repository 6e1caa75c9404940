"""The candidate words of intra-sentence examples, as the papers take them from the sentences."""

import string

from lm_eval_stereoset.scoring.questions import BLANK


def candidate_word(context: str, sentence: str) -> str | None:
    """The token of `sentence` at the place of the token with BLANK in `context`; None if there is none."""
    for position, token in enumerate(context.split(" ")):
        if BLANK in token:
            tokens = sentence.split(" ")
            if position >= len(tokens):
                return None
            return tokens[position].translate(str.maketrans("", "", string.punctuation)) or None
    return None
