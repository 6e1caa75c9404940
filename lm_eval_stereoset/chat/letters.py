"""Where a text names one of the letters a, b, c, and where it names one as its answer.

A bare "a" is a word in half of all languages, so a letter counts only if something marks it:

    brackets, quotes, markup   (b)  [B]  b)  **b**  "b"  \\boxed{B}  ⓑ
    a line that it opens       B.   b: …   or that holds nothing else
    a word before or after it  option B, Antwort: b, la réponse est B, B seçeneği, I choose B

Each becomes a word of its own, `letterqqb`. From there on the text is plain words without case and accents, sentences
end with "¶", and everything else is a matter of which words stand near:

    "So the answer is **B**, not (a)!"  ->  so the answer is letterqqb not letterqqa ¶
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from lm_eval_stereoset.chat.plain import END, alternatives, fold, spelled_out, table

# Letters of other scripts that look like a, b, c or stand in their place
_LIKE = str.maketrans("АаБбСсΑαΒβΓγÀàÁá", "AaBbCcAaBbCcAaAa")
X = "[abcABCАаБбСсΑαΒβΓγ]"
_QUOTE = r"(?:\*\*|__|[*`\"“”„‟«»‹›‘’‚'])"
_BOXED = re.compile(
    rf"\\boxed\s*\{{\s*(?:\\text(?:bf)?\s*\{{)?\s*\(?\s*({X})\s*\)?[^{{}}\n]{{0,3}}\}}?\s*\}}"
)
_BRACKETS = re.compile(rf"[(\[{{<⟨]\s*{_QUOTE}?\s*({X})\s*[.:]?\s*{_QUOTE}?\s*[)\]}}>⟩]")
_QUOTED = re.compile(rf"(?<!\w){_QUOTE}\s*({X})\s*[.:)]?\s*{_QUOTE}(?!\w)")
_CLOSED = re.compile(rf"(?<![\w'’.(\[])({X})\s?\)")
_OPENS_LINE = re.compile(rf"^([ \t>*#•_–—-]*)({X})[ \t]*(?:[.:,;/–—-]+(?=\s|$|{X}\b)|$)", re.MULTILINE)
_TURKISH = re.compile(r"(?<!\w)([ABC])['’](?=(?:y?[iıuüea]|n[iıuü]n|d[ıiea]r?|t[ıi]r)\b)")

TOKEN = "letterqq"
_TOKEN = re.compile(rf"{TOKEN}([abc])")
_SENTENCE_END = re.compile(r"[.!?;…]+(?=\s|$)|\n+")
_AFTER_COLON = re.compile(r"([:：])\s*\n+")
_WINDOW = 8  # words before a letter in which something may lead to it
_BETWEEN = 3  # of them, how many may stand between


@dataclass(frozen=True, slots=True)
class Marked:
    letters: tuple[str, ...]  # all that are named, in order
    opening: tuple[str, ...]  # what the text begins with: one letter, or several joined
    answers: tuple[str, ...]  # those that are said to be the answer
    final: str | None  # the last of these, if it is said to be final
    last_line: str | None  # the only thing in the last line
    after_first: str  # the text behind the first letter


def mark_letters(text: str) -> Marked:
    marked = _mark(text)
    words = _without_denied(in_sentences(marked))
    first = re.search(rf"{TOKEN}[abc]", marked)
    answers = [(letter, final) for letter, final in _led(words)]
    finals = [letter for letter, final in answers if final]
    last_is_final = bool(answers) and answers[-1][1]
    return Marked(
        letters=tuple(_TOKEN.findall(words)),
        opening=_opening(words),
        answers=tuple(letter for letter, _ in answers),
        final=finals[-1] if last_is_final else None,
        last_line=_last_line(marked),
        after_first=marked[first.end() :] if first else "",
    )


def _mark(text: str) -> str:
    text = unicodedata.normalize("NFKC", spelled_out(text))
    text = _AFTER_COLON.sub(r"\1 ", text)
    patterns = (_BOXED, _BRACKETS, _QUOTED, _CLOSED, _TURKISH)
    for pattern in patterns:
        text = pattern.sub(_token, text)
    text = _two_bare().sub(lambda found: f" {_name(found[1])} {_name(found[2])} ", text)
    text = _OPENS_LINE.sub(lambda found: f"{found[1]} {_name(found[2])} . ", text)
    for pattern in (
        _ONLY_A,
        _named(),
        _before(),
        _answer(),
        _answer_after_colon(),
        _joined_bare(),
        _joined_bare(),
    ):
        text = pattern.sub(_name_inside, text)
    return text


def _name_inside(found: re.Match[str]) -> str:
    """The match with its group x as a word of its own."""
    start, end = (place - found.start() for place in found.span("x"))
    return f"{found[0][:start]} {_name(found['x'])} {found[0][end:]}"


def _name(letter: str) -> str:
    return TOKEN + letter.translate(_LIKE).lower()


def _token(found: re.Match[str]) -> str:
    return f" {_name(found[1])} "


def _any(*lists: str) -> str:
    """The phrases of these lists as they are written, in any case."""
    found = {phrase for name in lists for phrase in table()[name]}
    ordered = sorted(found, key=len, reverse=True)
    return "|".join(re.escape(phrase).replace(r"\*", r"\w*").replace("'", "['’]") for phrase in ordered)


# A letter without marks behind a word that leads to it. "a" is a word itself: only with something that ends it.
_ENDED_A = r"(?=\s*(?:[.,;:!?)\]–—]|because\b|since\b|weil\b|porque\b|parce\b|çünkü\b))"


@lru_cache(maxsize=1)
def _named() -> re.Pattern[str]:
    return re.compile(
        rf"(?<!\w)(?i:{_any('named')})\s*[:=–-]?\s*(?P<x>[ABCbc](?![\w'’])|a(?![\w'’])(?:{_ENDED_A}|(?=\s*$)))"
    )


@lru_cache(maxsize=1)
def _before() -> re.Pattern[str]:
    return re.compile(rf"(?<![\w'’])(?P<x>[abcABC])(?=(?:['’]\w+)?\s+(?i:{_any('before')})(?!\w))")


@lru_cache(maxsize=1)
def _answer() -> re.Pattern[str]:
    return re.compile(
        rf"(?<!\w)(?i:{_any('answer')})\s+(?P<x>[BC](?![\w'’])|[Aabc](?![\w'’]){_ENDED_A}|[Abc](?=\s*$))"
    )


# "The answer is a", and nothing more. A longer text that ends in "a" may have been cut off.
_ONLY_A = re.compile(
    r"^\W*(?:\w+ ){0,4}(?:answer|antwort|réponse|respuesta|cevap|cevabım|yanıt|odpowiedź|odpověď|odpoveď|risposta|"
    r"resposta|antwoord)(?: (?:is|ist|est|es|to|je|è|é))? (?P<x>a)\s*$",
    re.IGNORECASE,
)


@lru_cache(maxsize=1)
def _answer_after_colon() -> re.Pattern[str]:
    """Here a letter may end the text; without a colon, "it is a" may be a sentence that breaks off."""
    return re.compile(
        rf"(?<!\w)(?i:{_any('answer')})\s*[:=–-]\s*(?P<x>[BCbc](?![\w'’])|[Aa](?![\w'’])(?:{_ENDED_A}|(?=\s*(?:\n|$))))"
    )


@lru_cache(maxsize=1)
def _two_bare() -> re.Pattern[str]:
    """ "A and B", at the start of a line."""
    return re.compile(rf"^\s*([ABC])\s*(?:[,/&+]|(?i:{_any('joined')})\s)\s*([ABC])\b", re.MULTILINE)


@lru_cache(maxsize=1)
def _joined_bare() -> re.Pattern[str]:
    """ "(b) and C": the second one has no marks, but company."""
    joined = rf"(?:\s*[,/&+]\s*(?:(?i:{_any('joined')})\s+)?|\s+(?i:{_any('joined')})\s+)"
    return re.compile(rf"{TOKEN}[abc]\s*{joined}(?P<x>[ABC](?![\w'’])|[bc](?![\w'’])|a(?![\w'’]){_ENDED_A})")


def in_sentences(marked: str) -> str:
    """Plain words, sentences ended by "¶"."""
    return fold(_SENTENCE_END.sub(f" {END} ", marked))


@lru_cache(maxsize=1)
def _denied() -> re.Pattern[str]:
    table_ = table()
    between = rf"(?: (?:{alternatives(table_['named'])}|the|la|le|die|der|den|die option|les|las))?"
    before = rf"(?<!\S)(?:{alternatives(table_['denied'])}){between} {TOKEN}[abc]"
    after = rf"{TOKEN}[abc] (?:{alternatives(table_['denied_after'])})(?!\S)"
    return re.compile(f"{before}|{after}")


def _without_denied(words: str) -> str:
    return _denied().sub(END, words)


@lru_cache(maxsize=1)
def _openings() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Words that may stand in front of the first letter, and that letter with all that are joined to it."""
    table_ = table()
    filler = "the|my|is|of course|sure|okay|ok|well|hmm|die|der|den|das|meine|la|le|ma|mi|el|ist|est|es|bu|bana gore"
    leads = f"{alternatives(table_['answer'])}|{alternatives(table_['named'])}|{filler}|{END}"
    between = rf"(?:(?:{alternatives(table_['joined'])}) )?(?:(?:{alternatives(table_['named'])}) )?"
    return re.compile(rf"(?:{leads}) "), re.compile(rf"{TOKEN}[abc](?: {between}{TOKEN}[abc])*")


@lru_cache(maxsize=1)
def _contrast() -> re.Pattern[str]:
    """ "(a) is good, but (b) is better"."""
    return re.compile(
        rf"(?<!\S)(?:but|however|although|better|aber|jedoch|besser|mais|mieux|pero|mejor|ama|fakat|ale|ma|mas|maar)"
        rf"(?: \w+){{0,4}}? {TOKEN}([abc])"
    )


def _opening(words: str) -> tuple[str, ...]:
    lead, first = _openings()
    place = 0
    while step := lead.match(
        words, place
    ):  # one by one: a repeated group of phrases could be matched in 2**n ways
        place = step.end()
    found = first.match(words, place)
    if found is None:
        return ()
    letters = list(dict.fromkeys(_TOKEN.findall(found[0])))
    rest = words[found.end() :]
    sentence = rest.partition(END)[0]
    letters += [letter for letter in _contrast().findall(sentence) if letter not in letters]
    return tuple(letters)


def _led(words: str) -> list[tuple[str, bool]]:
    """Each letter that words such as "the answer is" lead to, and whether they say that it is the last word.

    They lead to all letters that are joined, as in "answer with (a), (b) or (c)".
    """
    lead, final, joined = _leads()
    found, before, led, is_final = [], "", False, False
    for word in words.split():
        if letter := _TOKEN.fullmatch(word):
            window = " ".join(before.split()[-_WINDOW:])
            if not (led and joined.fullmatch(window)):
                led, is_final = bool(lead.search(window)), bool(final.search(window))
            if led:
                found.append((letter[1], is_final))
            before = ""
        else:
            before = END if word == END else f"{before} {word}"
    return found


@lru_cache(maxsize=1)
def _leads() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Both are looked for in the words of the sentence before a letter. A short one, such as "so", must open it."""
    table_ = table()
    openers = rf"^{END}? ?(?:{alternatives(table_['final'])})(?: \w+){{0,{_BETWEEN}}}$"
    meant = [phrase for phrase in table_["answer"] if phrase not in table_["final"]]
    lead = rf"{openers}|(?<!\S)(?:{alternatives(meant)})(?: \w+){{0,{_BETWEEN}}}$"
    final = rf"^{END}? ?(?:{alternatives(table_['final'])})(?!\S)|final"
    return re.compile(lead), re.compile(final), re.compile(rf"(?:{alternatives(table_['joined'])})?")


def _last_line(marked: str) -> str | None:
    lines = [line for line in map(fold, marked.splitlines()) if line]
    found = _TOKEN.fullmatch(lines[-1].strip(f"{END} ")) if lines else None
    return found[1] if found else None
