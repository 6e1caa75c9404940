"""A file of translations: CSV with the columns `from` (English) and `to`. Joined to GEST by the English text."""

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from lm_eval_stereoset.benchmarks.gest.mt.english import English, Row
from lm_eval_stereoset.data.lines import damage, visible
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import atomic_write, read_bytes

COLUMNS = ("from", "to")
LONGEST = 20_000  # characters of a translation; GEST's longest has some 300


@dataclass(frozen=True)
class Translation:
    text: str
    line: int


@dataclass(frozen=True)
class Joined:
    """GEST's rows with their translations, and what did not go together."""

    pairs: tuple[tuple[Row, str], ...]
    untranslated: tuple[Row, ...]
    empty: tuple[int, ...]  # lines of the file
    foreign: tuple[str, ...]  # English texts that are not GEST's
    same_as_english: int

    def notes(self) -> list[str]:
        """What the user should know, a line each."""
        lines = []
        whole = len(self.pairs) + len(self.untranslated)
        if self.untranslated:
            lines.append(
                f"sentences without a translation: {len(self.untranslated):,} of {whole:,}, e.g. "
                f"{self.untranslated[0].texts[0]!r}; the rates are those of the others"
            )
        if self.empty:
            lines.append(f"empty translations: {len(self.empty):,}, e.g. in line {self.empty[0]}")
        if self.same_as_english:
            lines.append(f"translations that are the English text itself: {self.same_as_english:,}")
        if self.foreign:
            lines.append(
                f"texts that are not GEST's, left out: {len(self.foreign):,}, e.g. {self.foreign[0][:60]!r}"
            )
        return lines


def read_translations(path: Path) -> dict[str, list[Translation]]:
    """{English text: its translations}."""
    found: dict[str, list[Translation]] = {}
    try:
        reader = csv.reader(io.StringIO(_text(path), newline=""), strict=True)
        header = [name.strip() for name in next(reader, [])]
        if missing := [name for name in COLUMNS if header.count(name) != 1]:
            raise UserError(
                f"{path}: the first line must name the columns from and to, separated by commas; "
                f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing or there twice"
            )
        places = [header.index(name) for name in COLUMNS]
        for fields in reader:
            if not fields:
                continue
            if len(fields) != len(header):
                raise UserError(
                    f"{path}, line {reader.line_num}: {len(fields)} fields, the first line has {len(header)}; "
                    "texts with commas need quotation marks"
                )
            english, translated = (fields[place].strip() for place in places)
            _check(translated, f"{path}, line {reader.line_num}")
            found.setdefault(english, []).append(Translation(translated, reader.line_num))
    except csv.Error as error:
        raise UserError(f"{path}, line {reader.line_num}: not CSV ({error})") from error
    if not found:
        raise UserError(f"{path}: no translations")
    return found


def _text(path: Path) -> str:
    content = read_bytes(path)
    try:
        return content.decode("utf-8-sig")  # Windows writes a BOM
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UserError(f"{path}, line {line}: not UTF-8; save the table as CSV in UTF-8") from error


def _check(text: str, where: str) -> None:
    if what := damage(text):
        raise UserError(f"{where}: the translation holds {what}")
    if len(text) > LONGEST:
        raise UserError(f"{where}: a translation of {len(text):,} characters; is a quotation mark missing?")


def join(english: English, translations: Mapping[str, list[Translation]], path: Path) -> Joined:
    pairs, untranslated, empty, same = [], [], [], 0
    for row in english.rows:
        text = next((text.strip() for text in row.texts if text.strip() in translations), None)
        if text is None:
            untranslated.append(row)
            continue
        translation = _the_one(text, translations[text], path)
        if not visible(translation.text):
            empty.append(translation.line)
            untranslated.append(row)
            continue
        same += translation.text == text
        pairs.append((row, translation.text))
    ours = {text.strip() for row in english.rows for text in row.texts}
    foreign = tuple(text for text in translations if text not in ours)
    if not pairs:
        raise UserError(
            f"{path}: none of the {len(translations):,} texts in the column from is a sentence of GEST with a "
            f"translation, e.g. {next(iter(translations))[:60]!r}; it must hold GEST's English sentences as they are"
        )
    return Joined(tuple(pairs), tuple(untranslated), tuple(dict.fromkeys(empty)), foreign, same)


def _the_one(english: str, given: list[Translation], path: Path) -> Translation:
    other = next((t for t in given if t.text != given[0].text), None)
    if other is not None:
        raise UserError(
            f"{path}, lines {given[0].line} and {other.line}: two different translations of {english[:60]!r}; "
            "keep one of them"
        )
    return given[0]


def write_translations(path: Path, pairs: Iterable[tuple[str, str]]) -> None:
    with atomic_write(path) as handle:
        writer = csv.writer(handle, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(pairs)
