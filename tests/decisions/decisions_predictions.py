"""A prediction file on the bundled sample."""

import numpy as np

from lm_eval_stereoset.files import write_json


def sample_predictions(path, limit=None):
    """Predictions on the bundled sample, with a head."""
    from lm_eval_stereoset.benchmarks.stereoset.data import load

    rng = np.random.default_rng(3)
    content = {"benchmark": "stereoset", "language": "en", "model": "toy"} | (
        {"limit": limit} if limit else {}
    )
    for split, key in (("intra", "intrasentence"), ("inter", "intersentence")):
        examples = load(split, "en", "sample").examples[:limit]
        scores = rng.random((len(examples), 3)).tolist()
        content[key] = [
            {"id": c.id, "score": score}
            for example, row in zip(examples, scores, strict=True)
            for c, score in zip(example.candidates, row, strict=True)
        ]
    write_json(path, content)
    return path
