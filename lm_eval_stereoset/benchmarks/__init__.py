"""What is measured: one folder per benchmark, with its examples, metrics and formulas."""
