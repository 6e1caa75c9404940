"""GEST and EuroGEST: gender stereotypes in language models, and (mt/) in machine translation.

stereotypes.py    the sixteen stereotypes
sentence.py       an English sentence of GEST, and the templates that it is asked in
pair.py           a pair of texts of EuroGEST that differ in the speaker's gender
scaffolds.py      how a neutral sentence of EuroGEST becomes such a pair
metrics.py        g_s, q_1 to q_16, ranks, EuroGEST's ratio
declared.py       GEST as a benchmark;  declared_eurogest.py  EuroGEST
"""
