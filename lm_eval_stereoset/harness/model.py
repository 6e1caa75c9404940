"""`stereoset-hf`: the harness's Hugging Face model, scoring our benchmarks as the papers do, for every architecture.

stereoset run --model stereoset-hf --model_args pretrained=bert-base-german-cased --tasks stereoset_de --batch_size auto

More model_args than the harness's `hf`: scoring=auto|masked|causal|seq2seq|nsp|classifier, case=orig|b|c|d|e|f,
exact=true, batch_tokens=N, labels=A/B/C (of a classifier's classes), debias=DIR (projections made by
`stereoset debias fit`). On tasks that are not ours it answers as `hf`
does; masked models, which `hf` cannot run, answer with pseudo-log-likelihoods.
"""

import dataclasses
import logging
from typing import Any

import torch
from lm_eval.api.instance import Instance
from lm_eval.api.model import hash_args
from lm_eval.api.registry import register_model
from lm_eval.models.huggingface import HFLM
from lm_eval.models.utils_hf import get_dtype

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.harness.answers import encode
from lm_eval_stereoset.harness.bends import replaced
from lm_eval_stereoset.harness.cache import AnswerStore, ScoreCache
from lm_eval_stereoset.harness.docs import benchmark_of, example_of_doc, is_ours
from lm_eval_stereoset.interventions.stored import attach, folded
from lm_eval_stereoset.scoring import Scores, Settings, cut_pairs, refuse_kind, score_with, tell_about_pairs
from lm_eval_stereoset.scoring.architecture import (
    auto_class,
    check_scoring,
    family_of,
    is_classifier,
    methods_of,
    refuse_prompt_learning,
)
from lm_eval_stereoset.scoring.checkpoint import check_config, check_folder, one_line
from lm_eval_stereoset.scoring.classifier import name_classes
from lm_eval_stereoset.scoring.cpu_linear import library_of
from lm_eval_stereoset.scoring.describe import Description, describe
from lm_eval_stereoset.scoring.identity import Identity, identity_of, versions
from lm_eval_stereoset.scoring.loading import (
    best_device,
    check_dtype,
    keep_untied,
    load_checked,
    local_folder,
    named_by_place,
    refuse_labels,
    refuse_language_model_scoring,
    refuse_other_tokenizer,
    refuse_unconverted,
    tokenizer_loader,
)
from lm_eval_stereoset.scoring.nsp_folder import load_nsp_model
from lm_eval_stereoset.scoring.nsp_model import NSPModel
from lm_eval_stereoset.scoring.nsp_settings import CONFIG_KEY
from lm_eval_stereoset.scoring.progress import Progress
from lm_eval_stereoset.scoring.questions import Question, requests_of

logger = logging.getLogger(__name__)

# Examples scored before their scores are put into the cache: what a kill can lose. It is the same without a cache, so
# that both form the same batches and their scores agree to the last bit.
AT_ONCE = 512

# HFLM's attributes that change an answer besides weights and tokenizer; some matter to other tasks only.
ANSWER_SETTINGS = (
    "backend", "add_bos_token", "custom_prefix_token_id", "mixed_precision_dtype", "softmax_dtype", "truncation",
    "max_length", "think_end_token", "enable_thinking", "chat_template_args",
)  # fmt: skip


@register_model("stereoset-hf")
class StereoSetHF(HFLM):
    def __init__(
        self,
        pretrained: Any,
        scoring: str = "auto",
        case: str = "d",
        exact: bool = False,
        batch_tokens: int | None = None,
        max_batch_size: int | None = None,
        device: str | None = None,
        tp_plan: Any = None,
        tokenizer_class: str | None = None,
        prefix_token_id: int | None = None,
        debias: str | None = None,
        labels: str | None = None,
        **options: Any,
    ) -> None:
        check_scoring(scoring)
        if not isinstance(exact, bool):
            raise UserError(f"exact must be true or false, is {exact!r}")
        check_dtype(options.get("dtype"))
        self.scoring = scoring
        self.settings = Settings(
            case=str(case), exact=exact, batch_tokens=batch_tokens, prefix_token_id=prefix_token_id
        )
        self.tokenizer_class = tokenizer_class
        tokenizer_loader(tokenizer_class)
        self.cut = 0  # pairs that a next-sentence head could not read whole
        self.nsp: NSPModel | None = None
        self.score_cache: ScoreCache | None = None
        self._identity: Identity | None = None
        if max_batch_size is not None:
            options["max_batch_size"] = max_batch_size
        if not device or (device.startswith("cuda") and not torch.cuda.is_available()):
            device = best_device()  # the harness asks for cuda:0 unless told otherwise
        if not isinstance(pretrained, str):
            keep_untied(pretrained)
        super().__init__(
            pretrained, device=device, tp_plan=tp_plan, prefix_token_id=prefix_token_id, **options
        )
        if hasattr(self, "accelerator") and tp_plan is None:
            # HFLM counts processes only when there are several GPUs; without this each CPU process does everything
            self._rank = self.accelerator.process_index
            self._world_size = self.accelerator.num_processes
        size = max_batch_size if self.batch_size_per_gpu == "auto" else self.batch_size_per_gpu
        self.settings = dataclasses.replace(self.settings, batch_size=size)
        if self.nsp is not None:
            self.nsp.to(self.device)
        refuse_labels(labels, self.nsp is None and is_classifier(self.config))
        if labels is not None:
            name_classes(self.model.config, labels)  # not `self.config`, which is another object
        self.methods = methods_of(self.scored_model, scoring)
        if prefix_token_id is not None and "causal" not in self.methods.values():
            raise UserError("prefix_token_id is for causal models; leave it out")
        self._say_methods()
        # On the model for as long as it lives: weights_of sees it, so that it is part of the identity of an answer.
        self.debias = attach(str(debias), self.scored_model, self.methods) if debias is not None else None

    @property
    def scored_model(self) -> Any:
        return self.nsp or self.model

    @property
    def is_masked(self) -> bool:
        return self.nsp is None and family_of(self.config) == "masked"

    def _say_methods(self) -> None:
        if self.is_masked and self.tokenizer.mask_token_id is None:
            raise UserError(
                f"the tokenizer {self.tokenizer.name_or_path} has no mask token, which masked models need; "
                "give another with tokenizer=…"
            )
        families = dict.fromkeys(self.methods.values())  # one, or two for BERT with its next-sentence head
        logger.info("texts are scored by the methods for %s models", " and ".join(families))
        if self.methods.get("follow") == "masked":
            logger.warning(
                "no next-sentence head is used: sentences that follow a context are scored by their "
                "pseudo-log-likelihood given the context"
            )

    # Loading: HFLM calls these four in this order.

    def _get_config(self, pretrained: str, **options: Any) -> None:
        parent = super()._get_config
        check_folder(pretrained, options.get("subfolder"))
        refuse_unconverted(pretrained, self.scoring)
        one_line(pretrained, lambda: parent(pretrained, **options))
        check_config(self.config, pretrained)

    def _get_backend(self, config: Any, backend: str = "default", trust_remote_code: bool = False) -> None:
        if getattr(config, CONFIG_KEY, None) is not None:
            self.backend = "causal"
            return
        self.AUTO_MODEL_CLASS = auto_class(config, self.scoring)
        self.backend = "seq2seq" if family_of(config) == "seq2seq" else "causal"

    def _create_tokenizer(self, pretrained: Any, tokenizer: Any, **options: Any) -> None:
        parent, name = super()._create_tokenizer, tokenizer or pretrained
        check_folder(name, options.get("subfolder"))
        if getattr(self.config, CONFIG_KEY, None) is not None:
            refuse_other_tokenizer(tokenizer, self.tokenizer_class)
        if self.tokenizer_class is not None:
            if not isinstance(name, str):
                raise UserError("tokenizer_class: the tokenizer is given as an object already; leave it out")
            named = tokenizer_loader(self.tokenizer_class)
            kept = {key: options[key] for key in ("revision", "trust_remote_code", "subfolder", "add_bos_token")
                    if options.get(key) is not None}  # fmt: skip
            tokenizer = one_line(name, lambda: named.from_pretrained(name, **kept))
        one_line(str(name), lambda: parent(pretrained, tokenizer, **options))
        if not tokenizer or self.tokenizer_class:
            named_by_place(self.tokenizer, options.get("subfolder"))

    def _create_model(self, pretrained: str, **options: Any) -> None:
        if getattr(self.config, CONFIG_KEY, None) is not None:
            self._create_nsp_model(pretrained, options)
            return
        check_folder(options.get("peft"))
        parent, original = super()._create_model, self.AUTO_MODEL_CLASS.from_pretrained

        def from_pretrained(name: str, **more: Any) -> Any:
            return load_checked(original, name, self.scoring, **more)

        # HFLM (0.4.13) loads weights, quantised ones and those under an adapter too, with this one function.
        with replaced(self.AUTO_MODEL_CLASS, "from_pretrained", from_pretrained):
            one_line(options.get("peft") or pretrained, lambda: parent(pretrained, **options))
        refuse_prompt_learning(self._model)

    def _create_nsp_model(self, pretrained: str, options: dict[str, Any]) -> None:
        refuse_language_model_scoring(self.scoring, pretrained)
        unused = [key for key in ("peft", "delta", "autogptq", "gptqmodel", "gguf_file") if options.get(key)]
        if unused:
            raise UserError(f"{', '.join(unused)}: not for next-sentence models; leave it out")
        folder = local_folder(pretrained, options.get("revision") or "main") / (
            options.get("subfolder") or ""
        )
        dtype = get_dtype(options.get("dtype") or "auto")
        self.nsp = load_nsp_model(folder, dtype, trust_remote_code=bool(options.get("trust_remote_code")))
        keep_untied(self.nsp.core)
        self._model = self.nsp.core  # what HFLM's own methods look at

    # Answering

    def loglikelihood(self, requests: list[Instance], disable_tqdm: bool = False) -> list[tuple]:
        exact = self.settings.exact
        questions = {i: question_of_request(request, exact) for i, request in enumerate(requests)}
        ours = {i: question for i, question in questions.items() if question is not None}
        others = [i for i, question in questions.items() if question is None]
        answers: dict[int, tuple] = {}
        cut = 0
        if ours:
            asked = list(dict.fromkeys(ours.values()))
            scores = self._scores(asked, disable_tqdm)
            cut = cut_pairs(self.methods, self.scored_model, self.tokenizer, asked)
            tell_about_pairs(self.methods, self.tokenizer, asked, self.settings.exact)
            for i, question in ours.items():
                score = scores[question][requests[i].idx]
                answers[i] = encode(score.log_score, score.tokens)
        self.cut = self._over_processes(cut)
        if others:
            found = self._other_answers([requests[i] for i in others], disable_tqdm)
            answers.update(zip(others, found, strict=True))
        return [answers[i] for i in range(len(requests))]

    def _over_processes(self, count: int) -> int:
        """The sum over all processes; each of them asks, whatever its share of the requests is."""
        if not hasattr(self, "accelerator"):
            return count
        return int(self.accelerator.reduce(torch.tensor(count, device=self.device), reduction="sum"))

    def _scores(self, questions: list[Question], disable_tqdm: bool) -> dict[Question, Scores]:
        cache = self.score_cache
        known = {q: stored for q in questions if (stored := cache.scores_of(q))} if cache else {}
        waiting = [question for question in questions if question not in known]
        if cache:
            logger.info("scores of %d examples are in the cache, %d are not", len(known), len(waiting))
        with Progress(len(waiting), shown=not disable_tqdm and self.rank == 0) as progress:
            settings = dataclasses.replace(self.settings, progress=progress)
            for start in range(0, len(waiting), AT_ONCE):
                part = waiting[start : start + AT_ONCE]
                with self._autocast():
                    found = score_with(self.methods, self.scored_model, self.tokenizer, part, settings)
                new = dict(zip(part, found, strict=True))
                known.update(new)
                if cache:
                    cache.put_scores(new)
        return known

    def _autocast(self) -> torch.autocast:
        dtype = self.mixed_precision_dtype
        return torch.autocast(self.device.type, dtype=dtype, enabled=dtype is not None)

    def _other_answers(self, requests: list[Instance], disable_tqdm: bool) -> list[tuple[float, bool]]:
        """Requests of tasks that are not ours, from the cache where it has them."""
        if self.score_cache is None:
            return self._other_loglikelihoods(requests, disable_tqdm)
        store = self.score_cache.store
        keys = [hash_args("loglikelihood", request.args) for request in requests]
        known = {key: found for key in dict.fromkeys(keys) if (found := store.get(key)) is not None}
        waiting = {key: request for key, request in zip(keys, requests, strict=True) if key not in known}
        if waiting:
            found = self._other_loglikelihoods(list(waiting.values()), disable_tqdm)
            new = dict(zip(waiting, found, strict=True))
            store.update(new)
            known |= new
        return [known[key] for key in keys]

    def _other_loglikelihoods(self, requests: list[Instance], disable_tqdm: bool) -> list[tuple[float, bool]]:
        if "judge" in self.methods and "whole" not in self.methods:
            raise UserError(
                "this model is a classifier: it takes tasks that ask for a label of two texts (nli_fairness, "
                "snli_accuracy) and no others"
            )
        if self.nsp is not None or "whole" not in self.methods:
            raise UserError(
                "this model has a next-sentence head only: it takes tasks that ask for the next sentence (StereoSet's "
                "inter-sentence ones) and no others"
            )
        if not self.is_masked:
            return super().loglikelihood(requests, disable_tqdm=disable_tqdm)
        from lm_eval_stereoset.scoring.masked import pseudo_log_likelihoods

        pairs = [request.args for request in requests]
        shown = not disable_tqdm and self.rank == 0
        with Progress(len(pairs), shown) as progress, progress.part(len(pairs)), self._autocast():
            settings = dataclasses.replace(self.settings, progress=progress)
            found = pseudo_log_likelihoods(self.model, self.tokenizer, pairs, settings, truncate=True)
        return [(total, greedy) for total, _, greedy in found]

    def loglikelihood_rolling(self, requests: list[Instance], disable_tqdm: bool = False) -> list[float]:
        self._refuse_unless_left_to_right("perplexity of whole documents")
        return super().loglikelihood_rolling(requests, disable_tqdm=disable_tqdm)

    def generate_until(self, requests: list[Instance], disable_tqdm: bool = False) -> list[str]:
        self._refuse_unless_left_to_right("generation")
        return super().generate_until(requests, disable_tqdm=disable_tqdm)

    def _refuse_unless_left_to_right(self, what: str) -> None:
        if self.is_masked or "whole" not in self.methods:
            raise UserError(f"{type(self.scored_model).__name__} cannot take tasks of {what}; choose others")

    # What results and caches must know

    def set_cache_hook(self, cache_hook: Any) -> None:
        store = cache_hook.dbdict
        if isinstance(store, AnswerStore):
            self.score_cache = ScoreCache(store)
        elif store is not None:
            raise UserError(
                "lm_eval's own cache knows an answer by the texts of a request only, which is not enough for "
                "stereoset-hf; use --use_cache with `stereoset run`, or leave it out (in Python: call "
                "lm_eval.simple_evaluate inside `with lm_eval_stereoset.harness.identified.identified():`)"
            )
        super().set_cache_hook(cache_hook)

    def identity(self) -> Identity:
        """All that an answer depends on besides the request; hashed once, the weights stay as they are."""
        if self._identity is None:
            settings = {name: getattr(self, name, None) for name in ANSWER_SETTINGS}
            self._identity = identity_of(
                self.scored_model, self.tokenizer, settings | self.describe_scoring()
            )
        return self._identity

    def describe_scoring(self) -> dict[str, Any]:
        settings = {"scoring": dict(self.methods), "exact": self.settings.exact}
        if self.methods.get("follow") == "causal":
            settings["case"] = self.settings.case
        if self.settings.prefix_token_id is not None:
            settings["prefix_token_id"] = self.settings.prefix_token_id
        if self.debias is not None:
            settings["debias"] = self.debias.identity
        return settings | {"architecture": type(self.scored_model).__name__}

    def describe_kind(self, kind: str) -> Description:
        """What the tasks record about the scores of questions of this kind."""
        refuse_kind(kind, self.methods)
        settings = self.settings
        return describe(self.methods[kind], kind, settings.case, settings.exact, self.tokenizer.name_or_path)

    def get_model_info(self) -> dict[str, Any]:
        about = self.describe_scoring() | {"packages": versions(), "identity": self.identity().to_dict()}
        about["matrix_products"] = library_of(self.device)
        if self.cut:
            about["pairs cut to the model's positions"] = self.cut
        if debias := self.debias.describe() if self.debias else folded(self.scored_model):
            about["debias"] = debias
        return super().get_model_info() | {"stereoset": about}


def question_of_request(request: Instance, exact: bool = False) -> Question | None:
    """The question that a request asks; None for tasks that are not ours.

    It is answered from its document. A request that says more than the document (few-shot examples, a chat template, a
    description) would be answered without it, so it is refused.
    """
    doc = request.doc
    if not is_ours(doc):
        return None
    example = example_of_doc(doc, f"document {doc.get('id')}")
    expected = requests_of(example.question)[request.idx]
    question = (benchmark_of(doc).as_published(example) if exact else example).question
    if [text.strip() for text in request.args] != [text.strip() for text in expected]:
        raise UserError(
            f"example {question.id}: stereoset-hf scores {benchmark_of(doc).title} without instructions, few-shot "
            "examples or chat template; leave --num_fewshot, --system_instruction and --apply_chat_template out, or "
            "use --model hf"
        )
    return question
