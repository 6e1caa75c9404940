"""Fine-tunes a decoder, encoder or text-to-text model on sentence pairs, on whatever accelerate finds.

accelerate launch -m nsp_finetune train --preset t5 --pairs PAIRS --output DIR
torchrun --nproc-per-node 2 -m nsp_finetune train --base gpt2 --pairs PAIRS --output DIR

DIR is the finished model; DIR.run beside it holds checkpoints, token ids and the tracker's files.
The order of pairs, the batches and their dropout depend on the seed alone, so a run comes out the same on one
process or several, and a resumed run is the uninterrupted one.
"""

import logging
import math
import shutil
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import write_json
from nsp_finetune import checkpoints
from nsp_finetune.batches import Batch, dropout_seed, steps_of_epoch
from nsp_finetune.card import base_name
from nsp_finetune.curve import draw
from nsp_finetune.data import tokenizer_checksum
from nsp_finetune.evaluate import answers, by_language, summarise
from nsp_finetune.job import NSP, Finished, Job
from nsp_finetune.prepare import check_disk
from nsp_finetune.settings import TrainSettings, refuse_other_run
from nsp_finetune.start import (
    check_before,
    finished_before,
    get_accelerator,
    get_model,
    get_optimizer,
    is_first_process,
    run_folder,
)
from nsp_finetune.state import read_state, write_state

if TYPE_CHECKING:
    import torch
    from datasets import Dataset

logger = logging.getLogger(__name__)


class TrainingRun:
    """A run between its first and last step. Checkpoints hold `progress` and `state()`."""

    def __init__(self, settings: TrainSettings, pairs: Path, output: Path, resume: bool, job: Job = NSP):
        import torch

        self.settings, self.pairs, self.output, self.job = settings, pairs, output, job
        self.folder = run_folder(output)
        check_before(settings, pairs, output, self.folder, resume, job)
        self.accelerator = get_accelerator(settings, self.folder, job.name)
        self.plain = get_model(settings, job)
        size = sum(parameter.numel() for parameter in self.plain.parameters())
        check_disk(
            output, 12 * size * (settings.keep_checkpoints + 1) + 8 * size
        )  # float32, Adam's two moments
        if self.accelerator.is_main_process:  # what cannot be saved is found out now, not at the end
            job.save_model(self.plain, self.folder / "trial", None)
            shutil.rmtree(self.folder / "trial")
            for line in job.beforehand(self.plain, pairs):
                self.accelerator.print(line)
        with self.accelerator.main_process_first():
            cache = self.folder / "tokens"
            self.tokens = job.tokens(self.plain, pairs, "train", cache, settings.max_examples)
            self.validation = job.tokens(self.plain, pairs, "validation", cache, settings.eval_examples)
            self.test = job.tokens(self.plain, pairs, "test", cache, settings.test_examples)
        self.lengths = np.asarray(self.tokens["length"])
        step_size = settings.batch_size * settings.accumulation
        self.steps_per_epoch = math.ceil(len(self.tokens) / step_size)
        self.total = self.steps_per_epoch * settings.epochs
        optimizer, self.scheduler = get_optimizer(self.plain, settings, self.total)
        self.model, self.optimizer = self.accelerator.prepare(self.plain, optimizer)
        self.progress: dict[str, Any] = {
            "settings": asdict(settings)
            | {
                "mixed_precision": self.accelerator.mixed_precision,
                "pairs": job.inputs(pairs),
                "tokenizer": tokenizer_checksum(self.plain.tokenizer),
            },
            "step": 0,
            "examples": 0,
            "window": [0.0] * 4,  # sums since the last point of the curve: loss, right, no answer, pairs
            "best": None,
            "waiting": 0,  # validations since the best one
            "stopped": False,
            "history": {"train": [], "validation": []},
        }
        dtype = torch.float32 if self.accelerator.device.type == "mps" else torch.float64
        self.sums = torch.zeros(
            4, dtype=dtype, device=self.accelerator.device
        )  # of this process, as in "window"
        if resume:
            self.resume()

    def resume(self) -> None:
        from accelerate.utils import broadcast_object_list

        found = [
            checkpoints.newest(self.folder / "checkpoints") if self.accelerator.is_main_process else None
        ]
        checkpoint = broadcast_object_list(found)[0]
        if self.accelerator.is_main_process:
            checkpoints.clear_leftovers(self.folder / "checkpoints")
        if checkpoint is None:
            self.accelerator.print("no whole checkpoint yet: starting at the beginning")
            return
        progress = checkpoints.read_progress(checkpoint)
        refuse_other_run(progress["settings"], self.progress["settings"], checkpoint)
        if progress["step"] > self.total:
            raise UserError(f"{checkpoint}: is at step {progress['step']} of a run of {self.total} steps")
        read_state(checkpoint, *self.state())
        self.progress = progress
        self.accelerator.print(f"resumed from {checkpoint}, step {progress['step']} of {self.total}")

    def train(self) -> None:
        from tqdm import tqdm

        step_size = self.settings.batch_size * self.settings.accumulation
        log_steps = max(1, round(self.settings.log_every / step_size))
        every = self.settings.eval_every
        eval_steps = max(1, math.ceil(self.total / 20) if every is None else round(every / step_size))
        save_steps = max(1, math.ceil(self.total * self.settings.checkpoint_every))
        with tqdm(
            total=len(self.tokens) * self.settings.epochs,
            initial=self.progress["examples"],
            unit=" pairs",
            desc="training",
            disable=not self.accelerator.is_local_main_process,
        ) as self.bar:
            while self.progress["step"] < self.total and not self.progress["stopped"]:
                for step, batches in self.epoch():
                    self.optimise(step, batches)
                    self.progress["step"] = step + 1
                    self.look_and_save(step + 1, log_steps, eval_steps, save_steps)
                    if self.progress["stopped"]:
                        break

    def look_and_save(self, done: int, log_steps: int, eval_steps: int, save_steps: int) -> None:
        """What is due after a step: a point of the curve, a validation, a checkpoint; all of them after the last."""
        last = done == self.total
        if last or done % log_steps == 0:
            self.log()
        if last or done % eval_steps == 0:
            self.validate()
        if self.progress["stopped"] and self.collect()[3]:
            self.log()  # what has come since the last point of the curve
        if last or self.progress["stopped"] or done % save_steps == 0:
            self.save()

    def epoch(self) -> Iterator[tuple[int, list[Batch]]]:
        """(number of the step, its batches on this process with the size of the whole step) from where we are."""
        first = self.progress["step"]
        epoch, done = divmod(first, self.steps_per_epoch)
        place = self.accelerator.process_index, self.accelerator.num_processes
        steps = steps_of_epoch(self.plain, self.tokens, self.lengths, self.settings, epoch, done, place)
        yield from enumerate(steps, start=first)

    def optimise(self, step: int, batches: list[Batch]) -> None:
        """One optimiser step; its loss is the mean over all its pairs, wherever they were computed."""
        import torch

        accelerator = self.accelerator
        self.model.train()
        for index, (number, pairs, batch) in enumerate(batches):
            batch = {key: value.to(accelerator.device) for key, value in batch.items()}
            labels = batch.pop("labels")
            weight = 0.0 if number < 0 else accelerator.num_processes / pairs  # processes are averaged
            torch.manual_seed(dropout_seed(self.settings.seed, step, number))
            with nullcontext() if index + 1 == len(batches) else accelerator.no_sync(self.model):
                output = self.model(**batch)
                loss = (output.log_normaliser - output.logits.gather(1, labels[:, None])[:, 0]).sum()
                accelerator.backward(loss * weight)
            if number >= 0:
                # accuracy from the same pass: nothing of the label is in a text-to-text model's input either
                right, silent = output.predicted == labels, output.predicted < 0
                size = torch.tensor(len(labels), device=labels.device)
                self.sums += torch.stack([loss.detach(), right.sum(), silent.sum(), size])
        self.rates = {f"{group['name']}_lr": group["lr"] for group in self.optimizer.param_groups}
        norm = accelerator.clip_grad_norm_(self.model.parameters(), self.settings.clip)
        # In fp16 an overflow is expected now and then, and the scaler skips the step by itself.
        if accelerator.scaler is None and not math.isfinite(norm):
            raise UserError(self.diverged())
        self.optimizer.step()
        if not accelerator.optimizer_step_was_skipped:  # an overflow in fp16
            self.scheduler.step()
        self.optimizer.zero_grad()
        self.progress["examples"] += batches[0][1]
        self.bar.update(batches[0][1])

    def collect(self) -> list[float]:
        """Adds what the processes have counted to the sums since the last point of the curve."""
        counted = self.accelerator.reduce(self.sums, "sum").tolist()
        self.sums.zero_()
        self.progress["window"] = [a + b for a, b in zip(self.progress["window"], counted, strict=True)]
        return self.progress["window"]

    def log(self) -> None:
        loss, right, silent, pairs = self.collect()
        self.progress["window"] = [0.0] * 4
        if not math.isfinite(loss):
            raise UserError(self.diverged())
        point = {"loss": loss / pairs, "accuracy": right / pairs, "no_answer": silent / pairs, **self.rates}
        self.note("train", point)
        self.bar.set_postfix(loss=f"{point['loss']:.3f}", accuracy=f"{point['accuracy']:.3f}")

    def diverged(self) -> str:
        return (
            f"the training has diverged at step {self.progress['step']}: loss or gradient is not a number any more; "
            "start again in another --output with a lower learning rate or --mixed-precision no"
        )

    def validate(self) -> None:
        """Accuracy on validation pairs; the best weights are kept if the run may stop early."""
        result = summarise(self.evaluate(self.validation, self.model), self.validation)
        self.note("validation", asdict(result))
        if self.accelerator.is_main_process:
            words = result.in_words(self.job.clusters)
            self.bar.write(f"{self.progress['examples']} pairs: validation accuracy {words}")
        if not self.settings.patience:
            return
        if self.progress["best"] is None or result.accuracy > self.progress["best"]:
            self.progress["best"], self.progress["waiting"] = result.accuracy, 0
            if self.accelerator.is_main_process:
                self.job.save_model(self.plain, self.folder / "best", None)
        else:
            self.progress["waiting"] += 1
            self.progress["stopped"] = self.progress["waiting"] >= self.settings.patience

    def note(self, name: str, point: dict[str, Any]) -> None:
        self.progress["history"][name].append({"examples": self.progress["examples"], **point})
        tracked = {f"{name}/{key}": value for key, value in point.items() if math.isfinite(value)}
        self.track(lambda: self.accelerator.log(tracked, step=self.progress["examples"]))

    def track(self, action: Callable[[], None]) -> None:
        """A tracker that cannot write, on a full disk for instance, does not end the run."""
        try:
            action()
        except OSError as error:
            reason = error.strerror or error
            logger.warning("the tracker cannot write (%s): its curves lack what comes now", reason)

    def evaluate(self, tokens: "Dataset", model: Any) -> "torch.Tensor":
        accelerator = self.accelerator
        model.eval()
        mine = answers(
            model,
            self.plain.collate,
            tokens,
            self.settings.batch_size,
            accelerator.device,
            accelerator.process_index,
            accelerator.num_processes,
            accelerator.is_local_main_process,
        )
        return accelerator.reduce(mine, "sum")

    def save(self) -> None:
        if not math.isfinite(self.collect()[0]):
            raise UserError(self.diverged())  # rather than push good checkpoints out
        checkpoints.save(
            self.accelerator,
            self.folder / "checkpoints",
            self.progress,
            self.settings.keep_checkpoints,
            lambda folder: write_state(folder, *self.state()),
        )

    def state(self) -> tuple[Any, ...]:
        """All that changes from step to step, besides `progress`."""
        return self.plain, self.optimizer, self.scheduler, self.accelerator.scaler

    def finish(self) -> dict[str, Any]:
        """Test accuracy, then the model folder with card and curve."""
        if self.settings.patience:  # the last validation, if no other, has saved its weights there
            self.accelerator.wait_for_everyone()
            self.plain = self.job.load_model(self.folder / "best", self.accelerator.device)
            self.model = self.plain
        result = by_language(self.evaluate(self.test, self.model), self.test)
        accuracy = {name: asdict(value) for name, value in result.items()}
        self.accelerator.print(f"test accuracy {result['all'].in_words(self.job.clusters)}")
        if self.accelerator.is_main_process:
            self.job.save_model(self.plain, self.output, lambda folder: self.describe(folder, accuracy))
        self.track(self.accelerator.end_training)
        return accuracy

    def describe(self, folder: Path, accuracy: dict[str, Any]) -> None:
        progress, settings = self.progress, self.settings
        draw(
            progress["history"],
            folder / "learning_curve.png",
            f"{self.job.title}, {base_name(settings.start_from)}",
            self.job.chance,
        )
        done = Finished(settings, self.pairs, accuracy, progress["examples"], self.output)
        card = self.job.card(self.plain, done)
        (folder / "README.md").write_text(card, encoding="utf-8")
        write_json(folder / "training.json", {"test": accuracy, **progress})


def train(
    settings: TrainSettings, pairs: Path, output: Path, resume: bool = False, job: Job = NSP
) -> dict[str, Any]:
    """Test accuracy by language (and "all")."""
    if resume and (accuracy := finished_before(settings, output)) is not None:
        if is_first_process():
            print(f"{output}: this run has come to its end already; nothing to do")
        return accuracy
    run = TrainingRun(settings, pairs, output, resume, job)
    run.train()
    return run.finish()
