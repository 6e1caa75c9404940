"""Results people can look at: a page, tables, figures and statistics from any number of results of any benchmark.

inputs.py         arguments of the command line to Runs; harness_runs.py, results_files.py and names.py help
study.py          the Runs of each benchmark to a Study: models, languages, notices, comparisons
section.py        a Study to JSON (example_pack.py packs the examples)
page.py           all of them to one self-contained HTML page
tables.py         a Study to tables in LaTeX, Markdown and CSV
figures/          a Study to SVG and PNG
extras.py         what a benchmark may add: panels, layouts of tables, published numbers
"""
