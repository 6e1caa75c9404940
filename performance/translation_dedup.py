"""How much sending identical strings once saves, on the real English data.

python performance/translation_dedup.py [--price 15] [--data DIR]
"""

import argparse
import json

from stereoset_translation.plan import describe, make
from stereoset_translation.source import load_english


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--price", type=float, default=15.0, help="per million characters")
    parser.add_argument("--data", help="folder with <split>/en.jsonl (default: StereoSet)")
    args = parser.parse_args()
    english = load_english(args.data)
    both = make(english, price=args.price)
    print(describe(both))
    alone = {split: make({split: examples}).unique_characters for split, examples in english.items()}
    result = {
        "strings": both.strings,
        "characters": both.characters,
        "unique_strings": len(both.unique),
        "unique_characters": both.unique_characters,
        "unique_characters_each_split_alone": alone,
        "cost_without": round(both.cost(sum(both.characters.values())), 4),
        "cost_with": round(both.cost(both.unique_characters), 4),
    }
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
