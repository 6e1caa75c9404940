"""YAML from users' files within bounds: size, depth, what aliases expand to; and no key given twice."""

from typing import Any

import yaml

from lm_eval_stereoset.errors import UserError

LARGEST = 300_000  # characters; the largest of our own files, the German rules, have 5,000
MOST_VALUES = 200_000  # with every alias written out


def load(text: str, where: str) -> Any:
    """Plain values only, as yaml.safe_load builds them."""
    if len(text) > LARGEST:
        raise UserError(f"{where}: {len(text):,} characters, too many for a file of settings or rules")
    try:
        loader = yaml.SafeLoader(text)
        try:
            node = loader.get_single_node()
            if node is None:
                return None
            if _size(node, {}) > MOST_VALUES:
                raise UserError(f"{where}: its aliases (*name) stand for too many values; write them out")
            return loader.construct_document(node)
        finally:
            loader.dispose()
    except RecursionError as error:
        raise UserError(f"{where}: not valid YAML: nested too deeply, or within itself") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f", line {mark.line + 1}" if mark else ""
        raise UserError(f"{where}{place}: not valid YAML: {getattr(error, 'problem', error)}") from error
    # PyYAML lets the errors of int(), float() and datetime() through.
    except (ValueError, KeyError, AttributeError, TypeError, OverflowError) as error:
        raise UserError(
            f"{where}: a number, a date or a value with a tag (!!…) cannot be read ({error}); put texts in quotes"
        ) from error


def _size(node: yaml.Node, known: dict[int, int]) -> int:
    """How many values a node stands for. An alias is the same node again, so each is counted once and added
    as often as it occurs: a file of ten lines can stand for 10**10 values. A node within itself never ends."""
    if id(node) not in known:
        inner: list[yaml.Node] = []
        if isinstance(node, yaml.ScalarNode) and any("\ud800" <= c <= "\udfff" for c in node.value):
            raise yaml.YAMLError(f"line {node.start_mark.line + 1}: half a character (a lone surrogate)")
        if isinstance(node, yaml.SequenceNode):
            inner = node.value
        elif isinstance(node, yaml.MappingNode):
            _refuse_repeated_keys(node)
            inner = [part for pair in node.value for part in pair]
        known[id(node)] = 1 + sum(_size(part, known) for part in inner)
    return known[id(node)]


def _refuse_repeated_keys(node: yaml.MappingNode) -> None:
    """YAML's readers keep the last of two equal keys; a rule would be lost without a word."""
    keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
    if twice := [key for key in keys if keys.count(key) > 1] if len(set(keys)) < len(keys) else []:
        line = node.start_mark.line + 1
        raise yaml.YAMLError(f"the table that begins in line {line} has the key {twice[0][:60]!r} twice")
