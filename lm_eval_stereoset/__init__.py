"""StereoSet in many languages as tasks of the lm-evaluation-harness."""

__version__ = "0.1.0"
