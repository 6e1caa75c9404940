"""How a model that answers in words is asked and read. Knows no benchmark and no harness.

wording.py    the question, in the language of the data: one YAML file per language, versioned
orders.py     in which orders the options are shown
reading.py    a text that a model has said -> which option, or why none
phrases.yaml  what refusals, "none of them" and "the answer is" look like in each language
failures.py   the mark of a request that was never answered
"""
