"""Results people can look at: a page, tables, figures and statistics from any number of results.

inputs.py       arguments of the command line to Runs (harness.py and names.py help)
study.py        Runs to a Study: models, languages, notices, comparisons
page.py         a Study to one self-contained HTML page (browser.py packs the examples)
tables.py       a Study to the paper's tables in LaTeX, Markdown and CSV
figures.py      a Study to SVG and PNG
paper.py        the published numbers beside the user's
"""
