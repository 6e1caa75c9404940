"""The mark of a request that was never answered: a text that no model says, so that it survives logs and files.

A service may be down for a minute; what it failed to answer must not be taken for something that the model has said.
"""

MARK = "\ue0f0 no answer: "  # a private-use character first
LONGEST_REASON = 300


def failure(reason: str) -> str:
    return MARK + " ".join(reason.split())[:LONGEST_REASON]


def is_failure(answer: object) -> bool:
    return isinstance(answer, str) and answer.startswith(MARK)


def reason_of(answer: str) -> str:
    return answer.removeprefix(MARK)
