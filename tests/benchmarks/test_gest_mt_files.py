"""Files of translations as users have them, right and wrong, under `stereoset gest-mt score`."""

import csv
import json

import pytest
from gest_mt_sentences import PLANTED

from lm_eval_stereoset.benchmarks.gest.mt.english import English, Row
from lm_eval_stereoset.benchmarks.gest.mt.translations import join, read_translations
from lm_eval_stereoset.cli import main
from lm_eval_stereoset.errors import UserError


@pytest.fixture
def english(tmp_path):
    """A GEST of our own: 48 sentences, three of each stereotype."""
    path = tmp_path / "gest.csv"
    rows = [(f"I did the thing number {n}.", n % 16 + 1) for n in range(48)]
    with open(path, "w", newline="") as handle:
        csv.writer(handle).writerows([("sentence", "stereotype"), *rows])
    return path


def translated(path, rows, header=("from", "to"), encoding="utf-8"):
    with open(path, "w", newline="", encoding=encoding) as handle:
        csv.writer(handle).writerows([header, *rows])
    return path


@pytest.fixture
def score(english, capsys):
    def type_it(path, *more, language="sk"):
        capsys.readouterr()
        code = main(
            ["gest-mt", "score", str(path), "--language", language, "--data", str(english), *map(str, more)]
        )
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return type_it


def slovak(n: int) -> str:
    """Stereotypes about women get women, those about men get men; every sixteenth sentence shows nothing."""
    if n % 16 == 15:
        return "Každý deň robím vec, pretože som tu."
    return f"Včera som {'urobila' if n % 16 < 7 else 'urobil'} vec číslo {n}."


@pytest.fixture
def good(tmp_path):
    return translated(tmp_path / "sk.csv", [(f"I did the thing number {n}.", slovak(n)) for n in range(48)])


def test_counts_rates_and_means_are_written_and_printed(score, good, tmp_path):
    code, out, err = score(good, "-o", tmp_path / "sk.json")
    assert (code, err) == (0, "")
    values = json.loads((tmp_path / "sk.json").read_text())
    assert values["masculine"] == [0] * 7 + [3] * 8 + [0]
    assert values["feminine"] == [3] * 7 + [0] * 9
    assert values["undecided"] == [0] * 15 + [3]
    assert values["p"][0] == pytest.approx(1.9208 / 6.8416)
    assert values["p"][15] is values["p_m"] is None
    assert {"low", "high", "p_f", "f_s", "f_m"} <= set(values)
    assert values["scoring"]["method"] == "rules"
    assert values["language"] == "sk"
    assert len(values["translations"]["sha256"]) == 64
    assert " 7 beautiful                0         3         0   0.281" in out


def test_explain_prints_sentence_rule_and_verdict(score, good):
    code, out, _ = score(good, "--explain", "undecided")
    lines = [line.split("\t") for line in out.splitlines() if "\t" in line]
    assert code == 0
    assert lines == [["16", "undecided", slovak(15), "no word shows the speaker's gender"]] * 3
    _, out, _ = score(good, "--explain")
    lines = [line.split("\t") for line in out.splitlines() if "\t" in line]
    assert len(lines) == 48
    assert lines[0] == ["1", "feminine", slovak(0), "urobila is feminine (past tense or conditional)"]


def test_more_columns_other_order_bom_and_other_sentences_are_fine(score, tmp_path, good):
    rows = [(slovak(n), "x", f"I did the thing number {n}.") for n in range(48)]
    odd = translated(
        tmp_path / "odd.csv", [*rows, ("Ahoj!", "x", "Hello!")], ("to", "note", "from"), "utf-8-sig"
    )
    code, out, err = score(odd)
    assert code == 0
    assert out == score(good)[1]
    assert err == "note: texts that are not GEST's, left out: 1, e.g. 'Hello!'\n"


def test_what_is_missing_is_counted(score, tmp_path):
    rows = [(f"I did the thing number {n}.", slovak(n) if n else " ") for n in range(40)]
    rows[1] = (rows[1][0], rows[1][0])
    code, _, err = score(translated(tmp_path / "part.csv", rows))
    assert code == 0
    assert err.splitlines() == [
        "note: sentences without a translation: 9 of 48, e.g. 'I did the thing number 0.'; the rates are those of the "
        "others",
        "note: empty translations: 1, e.g. in line 2",
        "note: translations that are the English text itself: 1",
    ]


ONE = "I did the thing number 1."


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("source,target\na,b\n", "must name the columns from and to, separated by commas; from and to are missing"),
        ("from;to\na;b\n", "from and to are missing or there twice"),
        ("from,to,to\na,b,c\n", "to is missing or there twice"),
        ("", "from and to are missing"),
        ("from,to\n", "no translations"),
        ("from,to\nHello,Ahoj\n", "none of the 1 texts in the column from is a sentence of GEST"),
        (f"from,to\n{ONE},\n", "none of the 1 texts in the column from is a sentence of GEST with a translation"),
        (f"from,to\n{ONE},Urobil som to.\n{ONE},Urobila som to.\n", "lines 2 and 3: two different translations of"),
        (f"from,to\n{ONE},Urobil som to, naozaj.\n", "line 2: 3 fields, the first line has 2"),
        (f'from,to\n{ONE},"Urobil som to.\n', "line 2: not CSV"),
        (f"from,to\n{ONE},Urobil som to\ufffd.\n", "line 2: the translation holds U+FFFD"),
        (f"from,to\n{ONE},{'Urobil som to. ' * 2000}\n", "line 2: a translation of 29,999 characters"),
        (f"from,to\n{ONE},Urobil som vec \u010d\u00edslo.\n".encode("cp1250"), "line 2: not UTF-8; save the table"),
        (f"from,to\n{ONE},Urobil som to.\n".encode("utf-16"), "line 1: not UTF-8"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_one_line_that_names_it(score, tmp_path, content, message):
    path = tmp_path / "bad.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    code, out, err = score(path)
    assert (code, out) == (2, "")
    assert err.startswith(f"stereoset gest-mt: {path}")
    assert message in err
    assert err.count("\n") == 1


def test_a_file_in_another_language_is_refused(score, good, tmp_path):
    """Slovenian rules find 'sam' in Croatian, and would make all its speakers men."""
    code, out, err = score(good, language="cs")
    assert (code, out) == (2, "")
    assert "have a word such as" in err
    assert "is the column to in Czech?" in err
    croatian = [sentence for _, _, sentence in PLANTED["hr"]] * 3
    path = translated(tmp_path / "hr.csv", [(f"I did the thing number {n}.", croatian[n]) for n in range(48)])
    assert score(path, language="hr")[0] == 0
    assert score(path, language="sl")[0] == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.csv", "-l", "sk"], "nowhere.csv: no such file"),
        (["sk.csv", "-l", "de"], "--language 'de': there are rules for be, cs, hr, pl, ru, sk, sl, sr, uk"),
        (["sk.csv", "-l", "sk", "-o", "sk.txt"], "--output sk.txt: the ending must be .json"),
        (["sk.csv", "-l", "sk", "--rules", "nowhere.yaml"], "nowhere.yaml: no such file"),
        (["sk.csv", "-l", "sk", "--rules", "sk.csv", "-o", "sk.json"], "sk.csv"),
    ],
)
def test_a_wrong_argument_is_one_line(good, english, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(good.parent)
    assert main(["gest-mt", "score", *arguments, "--data", str(english)]) == 2
    err = capsys.readouterr().err
    assert err.startswith("stereoset gest-mt: ")
    assert message in err
    assert err.count("\n") == 1


def test_a_sentence_is_found_in_either_of_its_versions(tmp_path):
    english = English((Row("0", 1, ("I washed the car.", "I wash the car.")), Row("1", 2, ("I ran.",))), ())
    path = translated(tmp_path / "a.csv", [("I wash the car.", "Umyl som auto."), ("I ran.", "Bežal som.")])
    joined = join(english, read_translations(path), path)
    assert [(row.id, text) for row, text in joined.pairs] == [("0", "Umyl som auto."), ("1", "Bežal som.")]
    assert joined.foreign == ()


def test_the_same_translation_twice_is_no_contradiction(tmp_path):
    path = translated(tmp_path / "a.csv", [("I ran.", "Bežal som.")] * 2 + [("Hi", "a"), ("Hi", "b")])
    joined = join(English((Row("0", 1, ("I ran.",)),), ()), read_translations(path), path)
    assert len(joined.pairs) == 1
    with pytest.raises(UserError, match="two different translations"):
        join(English((Row("0", 1, ("Hi",)),), ()), read_translations(path), path)
