"""Stereotypes in language models, measured in many languages as tasks of the lm-evaluation-harness."""

__version__ = "0.2.0"
