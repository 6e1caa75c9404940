"""Reviews, the lines of <language>.reviews.jsonl: what a person decided about an example."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from lm_eval_stereoset.benchmarks.stereoset.example import SPLITS, Example
from lm_eval_stereoset.errors import UserError
from stereoset_translation.lenient import parse_lenient

OPEN = ("", "unsure")
BY_HAND = "edited in the file"


@dataclass(frozen=True)
class Review:
    """One verdict on one example; the last one on an example counts."""

    split: str
    example: str
    verdict: str  # ok, corrected or drop; or one of OPEN, which decides nothing and keeps the comment
    by: str
    at: str  # UTC
    base: str  # fingerprint of the example that the reviewer saw
    before: dict[str, Any] | None
    after: dict[str, Any] | None  # None: dropped
    comment: str = ""


def parse_review(fields: Any, where: str) -> Review:
    texts = ("split", "example", "verdict", "by", "at", "base")
    right = (
        isinstance(fields, dict)
        and {*texts, "before", "after"} <= set(fields) <= {*texts, "before", "after", "comment"}
        and all(isinstance(fields[key], str) for key in texts)
        and isinstance(fields.get("comment", ""), str)
        and fields["split"] in SPLITS
        and all(isinstance(fields[key], dict | None) for key in ("before", "after"))
    )
    if not right:
        raise UserError(f"{where}: not a review; restore the file from a backup")
    for key in ("before", "after"):
        if fields[key] is not None:
            parse_lenient(fields[key], fields["split"], f"{where}, {key}")
    return Review(**fields)


def with_review(example: Example, review: Review | None) -> Example | None:
    if review is None:
        return example
    if review.after is None:
        return None
    return parse_lenient(review.after, review.split, f"review of {review.example}")


def counting(reviews: Sequence[Review]) -> dict[tuple[str, str], Review]:
    """The last verdict on each example, by split and example id."""
    return {(review.split, review.example): review for review in reviews if review.verdict not in OPEN}


def now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
