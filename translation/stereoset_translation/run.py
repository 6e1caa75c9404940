"""Sends what the memory does not hold to the translator and stores each answer as it arrives."""

import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring.questions import BLANK
from stereoset_translation.backends import Backend, Refused
from stereoset_translation.memory import Memory

if TYPE_CHECKING:
    from tqdm import tqdm


@dataclass
class Outcome:
    asked: int = 0
    characters: int = 0
    lost_blank: list[str] = field(default_factory=list)  # texts whose answer has fewer BLANKs
    refused: dict[str, str] = field(default_factory=dict)  # text and why


def translate(
    texts: Sequence[str], backend: Backend, memory: Memory, quiet: bool = False
) -> tuple[dict[str, str], Outcome]:
    """All answers that there are, and what happened. Identical strings are sent once."""
    wanted = list(dict.fromkeys(texts))
    stored = memory.get(wanted)
    missing = [text for text in wanted if text not in stored]
    outcome = Outcome()
    outcome.refused = too_long(missing, backend)
    missing = [text for text in missing if text not in outcome.refused]
    if missing:
        with memory.only_run():
            # Another process may have finished in between; what it has stored is not asked again.
            stored = memory.get(missing)
            missing = [text for text in missing if text not in stored]
            backend.memory = memory
            with backend:
                _send(missing, sum(map(len, wanted)), backend, memory, outcome, quiet)
    answers = memory.get(wanted)
    outcome.lost_blank = [t for t, answer in answers.items() if answer.count(BLANK) < t.count(BLANK)]
    return answers, outcome


def too_long(texts: Sequence[str], backend: Backend) -> dict[str, str]:
    """Texts that the translator cannot take, and why: known before anything is paid for."""
    limit = backend.max_bytes
    if limit is None:
        return {}
    sizes = {text: len(text.encode("utf-8")) for text in texts}
    return {
        t: f"{size} bytes, the translator takes {limit} at most" for t, size in sizes.items() if size > limit
    }


def _send(
    missing: list[str], total: int, backend: Backend, memory: Memory, outcome: Outcome, quiet: bool
) -> None:
    # Long texts of a batch are padded to the longest, so neighbours should have similar lengths.
    order = sorted(missing, key=len, reverse=True) if backend.batch_size > 1 else missing
    batches = [order[i : i + backend.batch_size] for i in range(0, len(order), backend.batch_size)]
    stop = threading.Event()
    started = time.monotonic()

    def work(batch: list[str]) -> list[str | Refused]:
        """Asks and stores in the same thread: nothing can come between answer and memory."""
        if stop.is_set():
            return []
        answers = backend.translate(batch)
        if len(answers) != len(batch):
            raise UserError(f"{backend.identity}: {len(batch)} texts, but {len(answers)} answers")
        answers = [_storable(answer) for answer in answers]
        got = {t: a for t, a in zip(batch, answers, strict=True) if not isinstance(a, Refused)}
        memory.put(got)
        return answers

    with _progress(total, total - sum(map(len, missing)), backend, quiet) as bar, ThreadPoolExecutor(
        backend.concurrency
    ) as pool:  # fmt: skip
        waiting: dict[Future, list[str]] = {}
        remaining = iter(batches)
        try:
            while True:
                # A short queue, so that a stop leaves no more under way than the threads have in hand.
                while len(waiting) < backend.concurrency and (batch := next(remaining, None)) is not None:
                    waiting[pool.submit(work, batch)] = batch
                if not waiting:
                    break
                done, _ = wait(waiting, return_when=FIRST_COMPLETED)
                for future in done:
                    _count(waiting.pop(future), future.result(), outcome, backend, bar)
        except BaseException:
            stop.set()
            for future, batch in waiting.items():
                if not future.cancel() and future.exception() is None:  # waits: its answer gets stored
                    _count(batch, future.result(), outcome, backend, bar)
            raise
        finally:
            if outcome.asked:
                memory.note_speed(outcome.asked, outcome.characters, time.monotonic() - started)


def _storable(answer: str | Refused) -> str | Refused:
    """An answer with half a character in it (a lone surrogate) cannot be written into any file."""
    if isinstance(answer, str):
        try:
            answer.encode("utf-8")
        except UnicodeEncodeError:
            return Refused("its answer holds half a character, a lone surrogate")
    return answer


def _count(batch: list[str], answers: list, outcome: Outcome, backend: Backend, bar: "tqdm") -> None:
    for text, answer in zip(batch, answers, strict=False):
        if isinstance(answer, Refused):
            outcome.refused[text] = str(answer)
        else:
            outcome.asked += 1
            outcome.characters += len(text)
    bar.update(sum(map(len, batch)))
    if backend.price:
        bar.set_postfix_str(f"cost {outcome.characters * backend.price / 1e6:.2f}", refresh=False)


def _progress(total: int, initial: int, backend: Backend, quiet: bool) -> "tqdm":
    from tqdm import tqdm

    # tqdm itself shows characters done, their share and the remaining time.
    return tqdm(
        total=total, initial=initial, unit="char", unit_scale=True, desc=backend.identity.split()[0],
        disable=quiet, file=sys.stderr, mininterval=0.5,
    )  # fmt: skip
