"""Local translation models: real Marian, M2M100 and NLLB architectures with tiny weights made here."""

import json
import shutil

import pytest
import sentencepiece
from stereoset_translation.backends import Refused
from stereoset_translation.backends.hf import TranslationModel, set_languages
from stereoset_translation.codes import NLLB, spellings
from stereoset_translation.folder import Folder
from stereoset_translation.plan import make
from translation_examples import english_examples

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring.questions import BLANK

LANGUAGES = ("eng_Latn", "ita_Latn", "deu_Latn", "zho_Hant", "zho_Hans")
SIZES = {
    "d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2,
    "decoder_attention_heads": 2, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "max_position_embeddings": 64,
    "dropout": 0.0,
}  # fmt: skip


@pytest.fixture(scope="module")
def pieces(tmp_path_factory):
    """A small SentencePiece model over the test's English."""
    folder = tmp_path_factory.mktemp("pieces")
    corpus = folder / "corpus.txt"
    corpus.write_text("\n".join(make(english_examples()).unique * 3), encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(corpus), model_prefix=str(folder / "sp"), vocab_size=90, hard_vocab_limit=False,
        user_defined_symbols=[BLANK], minloglevel=2,
    )  # fmt: skip
    return folder / "sp.model"


@pytest.fixture(scope="module")
def vocabulary(pieces, tmp_path_factory):
    processor = sentencepiece.SentencePieceProcessor(model_file=str(pieces))
    names = [processor.id_to_piece(i) for i in range(processor.get_piece_size())]
    ordered = ["<s>", "<pad>", "</s>", "<unk>", *(n for n in names if n not in ("<s>", "</s>", "<unk>"))]
    path = tmp_path_factory.mktemp("vocabulary") / "vocab.json"
    path.write_text(json.dumps({name: i for i, name in enumerate(ordered)}), encoding="utf-8")
    return path


def save_marian(folder, pieces, vocabulary, extra=(), **options):
    import torch
    from transformers import MarianConfig, MarianMTModel, MarianTokenizer

    entries = json.loads(vocabulary.read_text(encoding="utf-8"))
    for token in extra:
        entries[token] = len(entries)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "words.json").write_text(json.dumps(entries), encoding="utf-8")
    tokenizer = MarianTokenizer(str(pieces), str(pieces), vocab=str(folder / "words.json"), **options)
    torch.manual_seed(3)
    config = MarianConfig(
        vocab_size=len(entries), pad_token_id=entries["<pad>"], eos_token_id=entries["</s>"],
        decoder_start_token_id=entries["<pad>"], forced_eos_token_id=None, **SIZES,
    )  # fmt: skip
    model = MarianMTModel(config)
    tokenizer.save_pretrained(folder)
    return model, tokenizer


@pytest.fixture(scope="module")
def random_marian(pieces, vocabulary, tmp_path_factory):
    folder = tmp_path_factory.mktemp("marian-random")
    model, _ = save_marian(folder, pieces, vocabulary, source_lang="eng", target_lang="ita")
    model.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def trained_marian(pieces, vocabulary, tmp_path_factory):
    """Learns to copy a few texts, so that BLANK really goes through the model."""
    import torch

    folder = tmp_path_factory.mktemp("marian-trained")
    model, tokenizer = save_marian(folder, pieces, vocabulary, source_lang="eng", target_lang="ita")
    texts = make({s: e[:3] for s, e in english_examples().items()}).unique
    batch = tokenizer(texts, padding=True, return_tensors="pt")
    labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
    model.train()
    for _ in range(800):
        loss = model(**batch, labels=labels).loss
        if loss < 0.01:
            break
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    model.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def nllb(pieces, vocabulary, tmp_path_factory):
    """The M2M100 architecture with NLLB's tokenizer, as the NLLB checkpoints have it."""
    import torch
    from transformers import M2M100Config, M2M100ForConditionalGeneration, NllbTokenizer

    folder = tmp_path_factory.mktemp("nllb")
    letters = sorted({c for text in make(english_examples()).unique for c in text if c != " "})
    entries = {name: i for i, name in enumerate(["<s>", "<pad>", "</s>", "<unk>", "▁", *letters])}
    tokenizer = NllbTokenizer(vocab=entries, merges=[], extra_special_tokens=list(LANGUAGES))
    torch.manual_seed(4)
    config = M2M100Config(
        vocab_size=len(tokenizer), pad_token_id=1, bos_token_id=0, eos_token_id=2,
        decoder_start_token_id=2, **SIZES,
    )  # fmt: skip
    M2M100ForConditionalGeneration(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def m2m100(pieces, vocabulary, tmp_path_factory):
    import torch
    from transformers import M2M100Config, M2M100ForConditionalGeneration, M2M100Tokenizer

    folder = tmp_path_factory.mktemp("m2m100")
    tokenizer = M2M100Tokenizer(
        vocab_file=str(vocabulary), spm_file=str(pieces), src_lang="en", tgt_lang="it"
    )
    torch.manual_seed(5)
    config = M2M100Config(
        vocab_size=300, pad_token_id=1, bos_token_id=0, eos_token_id=2,
        decoder_start_token_id=2, **SIZES,
    )  # fmt: skip
    M2M100ForConditionalGeneration(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def work_of(english, tmp_path):
    return ("--to", "it", "--data", english, "--dir", tmp_path / "it")


def test_trained_model_end_to_end_keeps_every_blank(trained_marian, translate, english, tmp_path):
    code, out, _ = translate(
        "all", *work_of(english, tmp_path), "--backend", "hf", "--model", trained_marian,
        "--limit", 3, "--beams", 1, "--batch-size", 5,
    )  # fmt: skip
    assert code == 0
    assert "BLANK was lost" not in out
    raw = Folder(tmp_path / "it" / "raw", "it").read()
    sources = english_examples()
    copied = [
        e.context == s.context for split in raw for e, s in zip(raw[split], sources[split], strict=False)
    ]
    assert all(copied)  # what it has learnt: a copy, BLANK at its place
    assert [c.word for c in raw["intra"][1].candidates] == [c.word for c in sources["intra"][1].candidates]
    assert "left for a person: 6 examples" in out  # and the check finds all of it still English


def test_lost_blank_goes_to_review_never_into_data(random_marian, translate, english, tmp_path):
    work = work_of(english, tmp_path)
    code, out, _ = translate(
        "all", *work, "--backend", "hf", "--model", random_marian, "--limit", 2, "--beams", 1
    )
    assert code == 0
    assert "BLANK was lost in 2 texts" in out
    code, _, err = translate("build", *work)
    assert code == 2
    assert "may not get into a data set" in err
    assert not (tmp_path / "data").exists()
    code, out, _ = translate("review", *work)
    sheet = (tmp_path / "it" / "review.csv").read_text(encoding="utf-8-sig")
    assert sheet.count("BLANK is missing in the context") == 2


def test_lost_blank_is_asked_again_with_other_placeholders(random_marian):
    backend = TranslationModel(str(random_marian), "en", "it")
    asked = []

    def generate(texts):
        """Translates BLANK away, keeps underscores only in the first text, capitals in all."""
        asked.append(list(texts))
        away = [t.replace(BLANK, "vuoto") for t in texts]
        return [t if "first" in t else t.replace("____", "") for t in away]

    backend._generate = generate
    answers = backend.translate(["first BLANK", "second BLANK and BLANK", "no gap"])
    assert answers == ["first BLANK", "second BLANK and BLANK", "no gap"]
    assert asked == [
        ["first BLANK", "second BLANK and BLANK", "no gap"],
        ["first ____", "second ____ and ____"],
        ["second XXX and XXX"],
    ]


@pytest.mark.parametrize("quoted", ['"BLANK"', "«BLANK»", "« BLANK »", "„BLANK“", "BLANK"])
def test_quotes_put_around_a_blank_to_save_it_do_not_get_into_the_answer(random_marian, quoted):
    backend = TranslationModel(str(random_marian), "en", "it")
    backend._generate = lambda texts: [f"era {quoted}, sì" if '"BLANK"' in t else "era vuoto" for t in texts]
    assert backend.translate(["it was BLANK, yes"]) == ["era BLANK, sì"]


@pytest.mark.parametrize(
    ("language", "code"), [("it", "ita_Latn"), ("de", "deu_Latn"), ("zho_Hant", "zho_Hant")]
)
def test_nllb_starts_its_answer_with_the_language_asked_for(nllb, language, code):
    backend = TranslationModel(str(nllb), "en", language, beams=1)
    seen = {}
    with backend:
        generate = backend._model.generate

        def spy(**options):
            seen.update(options, output=generate(**options))
            return seen["output"]

        backend._model.generate = spy
        tokenizer = backend._tokenizer
        answers = backend.translate(["The sailor was calm.", "Soup"])
        expected = tokenizer.convert_tokens_to_ids(code)
        assert seen["forced_bos_token_id"] == expected
        assert (seen["output"][:, 1] == expected).all()  # position 0 is the decoder's start
        # The source begins with the code of English, in every row of the batch.
        english = tokenizer.convert_tokens_to_ids("eng_Latn")
        assert (seen["input_ids"] == english).sum(dim=1).tolist() == [1, 1]
    assert len(answers) == 2
    assert not any(name in answer for answer in answers for name in LANGUAGES)


def test_m2m100_knows_its_own_codes(m2m100):
    backend = TranslationModel(str(m2m100), "en", "it", beams=1)
    with backend:
        assert backend._forced_bos == backend._tokenizer.get_lang_id("it")
        assert backend._tokenizer.src_lang == "en"
        (answer,) = backend.translate(["The sailor was calm."])
        assert "__it__" not in answer


def test_unknown_language_of_a_model_is_one_line(nllb):
    with pytest.raises(UserError, match=r"does not know the language 'sv'.*ita_Latn"), TranslationModel(
        str(nllb), "en", "sv"
    ):  # fmt: skip
        pass


def test_marian_of_another_language_pair_is_refused(random_marian):
    with pytest.raises(UserError, match="translates into 'ita', not 'fr'"), TranslationModel(
        str(random_marian), "en", "fr"
    ):  # fmt: skip
        pass


def test_marian_with_many_targets_gets_the_language_in_front(pieces, vocabulary, tmp_path):
    _, tokenizer = save_marian(tmp_path / "many", pieces, vocabulary, extra=(">>ita<<", ">>fra<<"))
    assert set_languages(tokenizer, "en", "it", "many") == (">>ita<< ", None)
    with pytest.raises(UserError, match="does not translate into 'de'"):
        set_languages(tokenizer, "en", "de", "many")


def test_text_longer_than_the_model_reads_is_refused_not_cut(random_marian):
    with TranslationModel(str(random_marian), "en", "it", beams=1) as backend:
        short, long = backend.translate(["calm", "sailor " * 80])
    assert isinstance(short, str)
    assert isinstance(long, Refused)


def test_answers_do_not_depend_on_the_batch(trained_marian):
    texts = make({s: e[:3] for s, e in english_examples().items()}).unique
    with TranslationModel(str(trained_marian), "en", "it", beams=2) as backend:
        together = backend.translate(texts)
        alone = [backend.translate([text])[0] for text in texts]
    assert together == alone


def test_model_trained_again_does_not_get_the_old_answers(random_marian, tmp_path):
    before = TranslationModel(str(random_marian), "en", "it").identity
    assert TranslationModel(str(random_marian), "en", "it").identity == before
    (random_marian / "note.txt").write_text("trained again", encoding="utf-8")
    assert TranslationModel(str(random_marian), "en", "it").identity != before


def test_folder_without_a_model_is_one_line(translate, english, tmp_path):
    (tmp_path / "empty").mkdir()
    code, _, err = translate(
        "run", *work_of(english, tmp_path), "--backend", "hf", "--model", tmp_path / "empty"
    )
    assert code == 2
    assert "cannot be loaded" in err
    assert "Traceback" not in err


def test_codes_of_nllb_are_those_of_its_tokenizer():
    from transformers.models.nllb.tokenization_nllb import FAIRSEQ_LANGUAGE_CODES

    assert set(NLLB.values()) <= set(FAIRSEQ_LANGUAGE_CODES)
    assert spellings("pt_br") == ["pt_br", "pt", "por", "por_Latn"]


@pytest.mark.parametrize(("to", "more"), [("de", ()), ("zh", ("--target-code", "zho_Hant"))])
def test_nllb_runs_from_the_command_line_in_several_languages(nllb, translate, english, tmp_path, to, more):
    code, out, _ = translate(
        "run", "--to", to, "--data", english, "--dir", tmp_path / to, "--backend", "hf", "--model", nllb,
        "--limit", 2, "--beams", 1, *more,
    )  # fmt: skip
    assert code == 0
    assert "18 strings translated" in out
    raw = Folder(tmp_path / to / "raw", to).read()
    assert [len(examples) for examples in raw.values()] == [2, 2]


def cut_weights(folder):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:2000])


def list_as_config(folder):
    (folder / "config.json").write_text("[]", encoding="utf-8")


def no_tokenizer_files(folder):
    for name in ("source.spm", "target.spm", "vocab.json", "tokenizer_config.json"):
        (folder / name).unlink(missing_ok=True)


@pytest.mark.parametrize("damage", [cut_weights, list_as_config, no_tokenizer_files])
def test_a_damaged_model_folder_is_one_line(random_marian, translate, english, tmp_path, damage):
    shutil.copytree(random_marian, tmp_path / "model")
    damage(tmp_path / "model")
    options = ("--to", "it", "--data", english, "--dir", tmp_path / "it", "--backend", "hf")
    code, _, err = translate("run", *options, "--model", tmp_path / "model")
    assert code == 2
    assert "cannot be loaded as a translation model" in err
    assert "Traceback" not in err


def test_a_model_folder_that_is_not_there_is_named(translate, english, tmp_path):
    options = ("--to", "it", "--data", english, "--dir", tmp_path / "it", "--backend", "hf")
    code, _, err = translate("run", *options, "--model", tmp_path / "nowhere")
    assert (code, f"--model {tmp_path / 'nowhere'}: no such folder" in err) == (2, True)
