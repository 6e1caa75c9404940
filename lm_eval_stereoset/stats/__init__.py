"""Uncertainty: bootstrap, paired tests, corrections. Functions of a statistic; nothing here knows a benchmark."""
