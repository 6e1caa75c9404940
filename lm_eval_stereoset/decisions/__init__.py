"""From numbers to decisions: which results may be compared (pairing.py), and whether a model passes (gate: limits.py,
judging.py). Everything here reads the runs that report/inputs.py makes of files and folders; nothing knows a benchmark.
"""
