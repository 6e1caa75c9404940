"""The places where the harness is bent; these tests fail when a version of it has them no more."""

import inspect

import lm_eval
import lm_eval.api.model
import pytest
from lm_eval.api.instance import Instance
from lm_eval.api.model import LM, CachingLM

from lm_eval_stereoset.harness.cache import AnswerStore
from lm_eval_stereoset.harness.identified import IdentifiedCachingLM, identified, identity_of_lm


class Toy(LM):
    """Answers by the length of the texts; counts what it was asked."""

    def __init__(self, shift=0.0):
        super().__init__()
        self.shift, self.asked = shift, 0

    def loglikelihood(self, requests):
        self.asked += len(requests)
        return [(self.shift - len(r.args[1]), len(r.args[1]) % 2 == 0) for r in requests]

    def loglikelihood_rolling(self, requests):
        self.asked += len(requests)
        return [self.shift - len(r.args[0]) - 0.1 for r in requests]

    def generate_until(self, requests):
        self.asked += len(requests)
        return [r.args[0][::-1] for r in requests]


def asked(kind):
    arguments = {
        "loglikelihood": [("a", "bc"), ("", "def")],
        "loglikelihood_rolling": [("one text",), ("another",)],
        "generate_until": [("abc", {"until": ["\n"]}), ("", {"until": []})],
    }[kind]
    return [Instance(kind, {}, one, i) for i, one in enumerate(arguments)]


def wrapped(lm, path, **arguments):
    return IdentifiedCachingLM(lm, str(path), identity_of_lm(lm, "toy", arguments))


@pytest.mark.parametrize("kind", ["loglikelihood", "loglikelihood_rolling", "generate_until"])
def test_answers_of_every_kind_come_back_as_they_were(tmp_path, kind):
    first, second = Toy(), Toy()
    answers = getattr(wrapped(first, tmp_path / "c.db"), kind)(asked(kind))
    again = getattr(wrapped(second, tmp_path / "c.db"), kind)(asked(kind))
    assert again == answers == getattr(Toy(), kind)(asked(kind))
    assert [type(a) for a in again] == [type(a) for a in answers]
    assert (first.asked, second.asked) == (2, 0)


def test_sampled_texts_are_not_kept(tmp_path):
    lm = Toy()
    for _ in range(2):
        request = Instance("generate_until", {}, ("abc", {"do_sample": True}), 0)
        wrapped(lm, tmp_path / "c.db").generate_until([request])
    assert lm.asked == 2


def test_models_of_other_arguments_do_not_share_answers(tmp_path):
    one = wrapped(Toy(), tmp_path / "c.db", model="a").loglikelihood(asked("loglikelihood"))
    two = wrapped(Toy(-5.0), tmp_path / "c.db", model="b").loglikelihood(asked("loglikelihood"))
    assert [a[0] - 5 for a in one] == [a[0] for a in two]
    faster = Toy(-99.0)  # would answer something else
    found = wrapped(faster, tmp_path / "c.db", model="a", batch_size=7, device="cpu")
    assert found.loglikelihood(asked("loglikelihood")) == one


def test_the_harness_looks_its_cache_up_where_it_is_replaced():
    import lm_eval.evaluator

    assert "lm_eval.api.model.CachingLM(" in inspect.getsource(lm_eval.evaluator.simple_evaluate)
    used = inspect.getsource(CachingLM)
    assert list(inspect.signature(CachingLM.__init__).parameters) == ["self", "lm", "cache_db"]
    for operation in (
        "hsh in self.dbdict",
        "self.dbdict[hsh]",
        "self.dbdict[hsh] = r",
        "self.dbdict.commit()",
    ):
        assert operation in used
    assert used.count("self.dbdict") == 5  # with the line that opens it: all that AnswerStore must know


def test_the_command_line_of_the_harness_takes_the_replaced_function():
    from lm_eval._cli import run

    assert "from lm_eval import simple_evaluate" in inspect.getsource(run)


def test_the_harness_gives_its_results_and_the_model_to_the_replaced_function():
    import lm_eval.evaluator

    source = inspect.getsource(lm_eval.evaluator.simple_evaluate)
    assert source.index('results["config"].update(') < source.index("add_tokenizer_info(results, lm)")


def test_everything_is_put_back():
    from lm_eval import evaluator

    def bent():
        return lm_eval.simple_evaluate, lm_eval.api.model.CachingLM, evaluator.add_tokenizer_info

    before = bent()

    def fails():
        with identified():
            assert not set(bent()) & set(before)
            raise KeyError

    with pytest.raises(KeyError):
        fails()
    assert bent() == before
    assert "simple_evaluate" not in vars(lm_eval)


def test_a_model_without_weights_is_recorded_by_its_arguments(tmp_path):
    from lm_eval.tasks import TaskManager

    from lm_eval_stereoset.harness.paths import include_paths

    manager = TaskManager(
        include_path=[str(path) for path in include_paths()],
        include_defaults=False,
        metadata={"data": "sample"},
    )
    with identified():
        results = lm_eval.simple_evaluate(
            model="dummy", model_args="x=1", tasks=["stereoset_intra_en"], task_manager=manager, limit=2,
            bootstrap_iters=0, use_cache=str(tmp_path / "cache"),
        )  # fmt: skip
    identity = results["config"]["stereoset"]["identity"]
    assert identity["settings"] == {"model": "dummy", "model_args": {"x": 1}}
    assert AnswerStore(tmp_path / "cache_rank0.db", "any").connection.execute(
        "SELECT count(*) FROM stereoset_answers"
    ).fetchone() == (6,)
