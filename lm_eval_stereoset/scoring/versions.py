"""Versions of the packages that a number depends on; written into every result."""

from importlib import metadata

PACKAGES = ("lm-eval-stereoset", "lm_eval", "transformers", "tokenizers", "torch", "datasets", "numpy")


def versions() -> dict[str, str]:
    return {name: metadata.version(name) for name in PACKAGES}
