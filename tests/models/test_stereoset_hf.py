"""The harness model: scores from documents, all families end to end, several processes, other tasks, bad input."""

import json
import math

import numpy as np
import pytest
from harness_samples import requests, scores_of_samples, written_samples
from lm_eval.api.instance import Instance

from lm_eval_stereoset.benchmarks.stereoset.declared import BENCHMARK as STEREOSET
from lm_eval_stereoset.data import store
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.harness.model import StereoSetHF
from lm_eval_stereoset.scoring import load, score

FAMILIES = ("masked", "causal", "seq2seq", "nsp")


def tasks_for(family: str, language: str) -> str:
    return f"stereoset_inter_{language}" if "nsp" in family else f"stereoset_{language}"


@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize("family", [*FAMILIES, "untied", "untied nsp"])
def test_every_family_runs_end_to_end_and_logs_the_scores_of_score(
    checkpoints, evaluate, fetched, family, language
):
    found = evaluate(checkpoints[family], [tasks_for(family, language)], batch_size="auto", log_samples=True)
    (samples,) = found["samples"].values()
    logged = scores_of_samples(samples)
    splits = ("inter",) if "nsp" in family else ("intra", "inter")
    examples = [e for s in splits for e in store.load(STEREOSET, s, language, fetched).examples]
    examples = [e for e in examples if e.candidates[0].id in logged]
    assert len(examples) == 40
    wanted = score(*load(checkpoints[family]), examples)
    for example, triple in zip(examples, wanted, strict=True):
        for candidate, one in zip(example.candidates, triple, strict=True):
            assert logged[candidate.id] == pytest.approx(one.log_score / one.tokens, rel=1e-5)
    (result,) = found["results"].values()
    assert 0 <= result["ss,none"] <= 100


def test_the_results_record_how_was_scored(checkpoints, evaluate):
    about = {
        family: evaluate(checkpoints[family], [tasks_for(family, "en")], {"exact": True}, limit=2)["config"]
        for family in FAMILIES
    }
    assert about["masked"]["stereoset"]["scoring"] == {
        "fill": "masked",
        "follow": "nsp",
        "whole": "masked",
        "compare": "masked",
    }
    assert about["causal"]["stereoset"].pop("matrix_products") in ("onednn", "torch")
    assert about["causal"]["stereoset"] | {"packages": None, "identity": None} == {
        "scoring": dict.fromkeys(("fill", "follow", "whole", "compare", "judge"), "causal"),
        "case": "d",
        "exact": True,
        "architecture": "GPT2LMHeadModel",
        "packages": None,
        "identity": None,
    }
    assert about["nsp"]["stereoset"]["scoring"] == {"follow": "nsp"}
    assert set(about["seq2seq"]["stereoset"]["packages"]) >= {"transformers", "torch", "lm-eval-stereoset"}


def test_inter_by_pseudo_likelihood_is_said_in_log_and_results(checkpoints, evaluate, caplog):
    found = evaluate(checkpoints["masked"], ["stereoset_inter_en"], {"scoring": "masked"}, limit=2)
    assert "pseudo-log-likelihood" in caplog.text
    (part,) = found["configs"]["stereoset_inter_en"]["metadata"]["provenance"]["data"]
    assert "pseudo-log-likelihood of the candidate given the context" in part["scoring"]


@pytest.mark.parametrize("size", [1, 7, "auto"])
def test_scores_do_not_depend_on_the_batch_size(checkpoints, fetched, size):
    examples = store.load(STEREOSET, "intra", "tr", fetched).examples[:30]
    answers = StereoSetHF(str(checkpoints["masked"]), batch_size=size, device="cpu").loglikelihood(
        requests(examples)
    )
    wanted = [s for triple in score(*load(checkpoints["masked"]), examples) for s in triple]
    assert [a[1] for a in answers] == [s.tokens for s in wanted]
    assert all(type(a[1]) is int for a in answers)
    assert [a[0] for a in answers] == pytest.approx([s.log_score for s in wanted], rel=1e-5)


def test_a_part_of_the_requests_in_any_order_gets_the_same_answers(checkpoints, fetched):
    model = StereoSetHF(str(checkpoints["masked"]), device="cpu", batch_size="auto")
    whole = requests(store.load(STEREOSET, "inter", "en", fetched).examples[:20])
    answers = dict(zip(map(id, whole), model.loglikelihood(whole), strict=True))
    part = [*whole[::-4], whole[0], whole[0]]  # the harness repeats requests to even out processes
    found = model.loglikelihood(part)
    assert [a[0] for a in found] == pytest.approx([answers[id(r)][0] for r in part], rel=1e-6)


def test_two_processes_share_the_work_and_give_the_golden_scores(checkpoints, command, shared, tmp_path):
    said = {}
    for processes in (1, 2):
        said[processes] = command(
            *(
                "run",
                "--model",
                "stereoset-hf",
                "--model_args",
                f"pretrained={checkpoints['masked']},exact=true",
            ),
            *("--tasks", "stereoset_en", "--limit", "101", "--batch_size", "auto", "--log_samples"),
            *("--output_path", tmp_path / str(processes), "--use_cache", tmp_path / f"cache{processes}"),
            processes=processes,
        )
    assert "scores of 0 examples are in the cache, 101 are not" in said[1]
    for share in (51, 50):
        assert f"scores of 0 examples are in the cache, {share} are not" in said[2]
    one, two = (written_samples(tmp_path / str(n)) for n in (1, 2))
    assert [s["doc_id"] for s in sorted(two, key=lambda s: s["doc_id"])] == list(range(101))
    first, second = scores_of_samples(one), scores_of_samples(two)
    assert first.keys() == second.keys()
    golden = {}
    for name in ("intrasentence__BertLM", "intersentence__BertNextSentence"):
        golden |= json.loads((shared / "golden" / "scores" / f"tiny-bert__{name}__en.json").read_text())
    for id_, value in second.items():
        assert math.exp(value) == pytest.approx(golden[id_], rel=1e-5)
        assert value == pytest.approx(first[id_], rel=1e-5)
    tables = [next(tmp_path.joinpath(str(n)).rglob("results_*.json")) for n in (1, 2)]
    numbers = [json.loads(t.read_text())["results"]["stereoset_en"] for t in tables]
    for metric, value in numbers[0].items():
        if isinstance(value, float) and not math.isnan(value):
            assert numbers[1][metric] == pytest.approx(value), metric


@pytest.mark.parametrize(("family", "target"), [("masked", "query"), ("causal", "c_attn"), ("seq2seq", "q")])
def test_an_adapter_scores_as_the_model_it_is_merged_into(checkpoints, fetched, tmp_path, family, target):
    import torch
    from peft import LoraConfig, get_peft_model

    examples = [e for s in ("intra", "inter") for e in store.load(STEREOSET, s, "en", fetched).examples[:5]]
    model, tokenizer = load(checkpoints[family])
    plain = score(model, tokenizer, examples)
    torch.manual_seed(0)
    config = LoraConfig(r=4, target_modules=[target], init_lora_weights=False)
    adapted = get_peft_model(model, config)
    adapted.save_pretrained(tmp_path)
    harness = StereoSetHF(str(checkpoints[family]), peft=str(tmp_path), device="cpu", batch_size="auto")
    found = [answer[0] for answer in harness.loglikelihood(requests(examples))]
    wanted = [
        s.log_score for triple in score(adapted.merge_and_unload(), tokenizer, examples) for s in triple
    ]
    assert found == pytest.approx(wanted, rel=1e-4)
    assert found != pytest.approx([s.log_score for triple in plain for s in triple], rel=1e-3)


@pytest.mark.parametrize("family", FAMILIES)
def test_half_precision_runs_and_stays_near(checkpoints, fetched, family):
    examples = store.load(STEREOSET, "inter", "en", fetched).examples[:8]
    found, wanted = (
        [
            a[0] / a[1]
            for a in StereoSetHF(str(checkpoints[family]), dtype=dtype, device="cpu").loglikelihood(
                requests(examples)
            )
        ]
        for dtype in ("bfloat16", "float32")
    )
    assert found == pytest.approx(wanted, rel=0.1, abs=0.1)
    assert found != wanted


def test_mixed_precision_runs_and_stays_near(checkpoints, fetched):
    examples = store.load(STEREOSET, "intra", "en", fetched).examples[:8]
    found, wanted = (
        [
            a[0]
            for a in StereoSetHF(str(checkpoints["masked"]), device="cpu", **mixed).loglikelihood(
                requests(examples)
            )
        ]
        for mixed in ({"mixed_precision_dtype": "bfloat16"}, {})
    )
    assert found == pytest.approx(wanted, rel=0.1, abs=0.1)
    assert found != wanted


# Other tasks

CHOICE = """task: sky
dataset_path: json
dataset_kwargs: {{data_files: {{test: {path}}}}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{{{question}}}}"
doc_to_choice: "{{{{choices}}}}"
doc_to_target: 0
metric_list: [{{metric: acc}}]
"""


@pytest.fixture
def other_task(tmp_path):
    rows = [
        {"question": "The sky is", "choices": ["blue.", "a fast old car."]},
        {"question": "A", "choices": ["b", "c d"]},
    ]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "sky.yaml").write_text(CHOICE.format(path=tmp_path / "rows.jsonl"))
    return str(tmp_path / "tasks")


def test_a_masked_model_takes_any_multiple_choice_task_by_pseudo_likelihood(
    checkpoints, evaluate, other_task
):
    from lm_eval_stereoset.scoring.masked import pseudo_log_likelihoods
    from lm_eval_stereoset.scoring.questions import Settings

    found = evaluate(checkpoints["masked"], ["sky"], more_tasks=[other_task], log_samples=True)
    first = found["samples"]["sky"][0]["filtered_resps"]
    pairs = [("The sky is", " blue."), ("The sky is", " a fast old car.")]
    wanted = pseudo_log_likelihoods(*load(checkpoints["masked"]), pairs, Settings())
    assert [r[0] for r in first] == pytest.approx([w[0] for w in wanted], rel=1e-5)
    assert all(isinstance(r[1], bool) for r in first)
    assert 0 <= found["results"]["sky"]["acc,none"] <= 1


@pytest.mark.parametrize("family", ["causal", "seq2seq"])
def test_on_other_tasks_it_answers_as_hf_does(checkpoints, family):
    from lm_eval.models.huggingface import HFLM

    pairs = [("The sky is", " blue."), ("", "Cats have claws."), ("A", " b c d")]
    asked = [Instance("loglikelihood", {}, pair, 0, ("t", i, 1)) for i, pair in enumerate(pairs)]
    ours = StereoSetHF(str(checkpoints[family]), device="cpu").loglikelihood(asked)
    theirs = HFLM(str(checkpoints[family]), device="cpu").loglikelihood(asked)
    assert [a[1] for a in ours] == [a[1] for a in theirs]
    np.testing.assert_allclose([a[0] for a in ours], [a[0] for a in theirs], rtol=1e-6)


def test_stereoset_and_another_task_in_one_run_keep_their_answers_apart(checkpoints, evaluate, other_task):
    both = evaluate(
        checkpoints["causal"],
        ["stereoset_intra_en", "sky"],
        more_tasks=[other_task],
        limit=2,
        log_samples=True,
    )
    assert all(type(r[1]) is int for s in both["samples"]["stereoset_intra_en"] for r in s["filtered_resps"])
    assert all(type(r[1]) is bool for s in both["samples"]["sky"] for r in s["filtered_resps"])


# Bad input


@pytest.mark.parametrize(
    ("family", "model_args", "message"),
    [
        ("causal", {"scoring": "nsp"}, "has no next-sentence head; fine-tune one"),
        ("causal", {"scoring": "masked"}, "does not go with .*GPT2LMHeadModel"),
        ("causal", {"case": "z"}, "case 'z' is unknown; the cases are orig, b, c, d, e, f"),
        ("causal", {"scoring": "best"}, "scoring 'best' is unknown"),
        ("causal", {"exact": "maybe"}, "exact must be true or false"),
        ("nsp", {"scoring": "causal"}, "next-sentence model, which takes the inter-sentence test only"),
        ("nsp", {"peft": "x"}, "peft: not for next-sentence models"),
    ],
)
def test_settings_that_do_not_fit_are_one_line(checkpoints, family, model_args, message):
    with pytest.raises(UserError, match=message):
        StereoSetHF(str(checkpoints[family]), device="cpu", **model_args)


def test_a_tokenizer_without_mask_token_is_refused_before_anything_runs(checkpoints):
    with pytest.raises(UserError, match="no mask token"):
        StereoSetHF(str(checkpoints["masked"]), tokenizer=str(checkpoints["causal"]), device="cpu")


def test_intra_with_a_next_sentence_model_is_refused(checkpoints, evaluate):
    with pytest.raises(UserError, match="cannot be asked to fill a gap in a sentence"):
        evaluate(checkpoints["nsp"], ["stereoset_en"])


def test_few_shot_examples_are_refused_not_ignored(checkpoints, fetched):
    model = StereoSetHF(str(checkpoints["causal"]), device="cpu")
    (first, *_) = requests(store.load(STEREOSET, "inter", "en", fetched).examples[:1])
    first.arguments = ("Answer well. " + first.arguments[0], first.arguments[1])
    with pytest.raises(UserError, match="--num_fewshot"):
        model.loglikelihood([first])


def test_masked_and_next_sentence_models_refuse_generation(checkpoints):
    for family in ("masked", "nsp"):
        model = StereoSetHF(str(checkpoints[family]), device="cpu")
        with pytest.raises(UserError, match="cannot take tasks of generation"):
            model.generate_until([])


def test_mistakes_on_the_command_line_are_one_line_and_exit_code_2(checkpoints, command):
    said = command(
        *("run", "--model", "stereoset-hf", "--model_args", f"pretrained={checkpoints['causal']},case=z"),
        *("--tasks", "stereoset_intra_en", "--limit", "1"),
        expect=2,
    )
    assert said.strip().endswith("stereoset run: case 'z' is unknown; the cases are orig, b, c, d, e, f")
    assert "Traceback" not in said
