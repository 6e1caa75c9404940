"""Scores of candidates under a model, one file a family of models; nothing here knows the harness."""
