"""Machine translation of GEST: which gender a translation gives the speaker, and how often it is the masculine one.

words.py         a sentence as clauses of words; classes of words
rules/, rules.py what shows a speaker's gender in a language, as data: one YAML file per language
engine.py        applies rules to a sentence: a verdict, and the words it rests on
parsing.py       verdicts from a dependency parser (stanza), behind the same interface
translations.py  a file of translations, joined to GEST by the English text
rates.py         from verdicts to masculine rates with intervals: p_1 to p_16, f_s, f_m
translating.py   GEST through the backends and the memory of `stereoset translate`
"""
