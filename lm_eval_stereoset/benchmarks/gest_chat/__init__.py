"""GEST asked in words: for models that answer in words only."""
