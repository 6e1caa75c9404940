"""Which results of the harness belong together: the same model, the same settings, the same data.

A folder of results is named after `pretrained` alone, so results of another subfolder, revision, adapter, precision or
of weights trained since lie in it side by side. Their splits must not be pooled, nor their languages compared, as those
of one model.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# Parts of an identity (identity.py), in the order in which a reader wants to hear of them.
PARTS = ("weights", "tokenizer", "config", "architecture", "dtype", "settings")
SPEED_ONLY = ("device", "batch_size", "max_batch_size", "parallelize", "trust_remote_code")
# What results say about the model besides its arguments, for those written before identities were recorded.
RECORDED = ("model_dtype", "model_revision", "model_sha", "peft_sha", "delta_sha", "model_num_parameters")


@dataclass(frozen=True)
class ResultsOrigin:
    """Where a results file says its numbers come from."""

    identity: Mapping[str, Any] | None  # None: the file is older than identities
    arguments: Mapping[str, str]  # model_args
    recorded: Mapping[str, str]
    prompt: Mapping[str, str]  # chat template, system instruction, few-shot examples

    def differs(self, other: "ResultsOrigin", prompts: bool = True) -> str | None:
        """In what, in words; None if both are of one model and setting, as far as is known.

        `prompts`: whether they should have been asked in the same way, too.
        """
        if self.identity and other.identity:
            if self.identity.get("fingerprint") != other.identity.get("fingerprint"):
                unlike = [part for part in PARTS if self.identity.get(part) != other.identity.get(part)]
                return " and ".join(unlike) or "identity"
        elif self.arguments != other.arguments:
            return f"model_args: {_shown(self.arguments, other.arguments)}"
        elif unlike := _unlike(self.recorded, other.recorded):
            return " and ".join(unlike)
        return (" and ".join(_unlike(self.prompt, other.prompt)) or None) if prompts else None


def origin_of(content: Mapping[str, Any]) -> ResultsOrigin:
    config = _dict(content.get("config"))
    about = _dict(config.get("stereoset"))
    identity = _dict(about.get("identity"))
    recorded = {key: str(config[key]) for key in RECORDED if key in config}
    recorded |= {key: str(about[key]) for key in ("scoring", "exact", "case") if key in about}
    prompt = {
        "chat template": str(content.get("chat_template_sha")),
        "system instruction": str(content.get("system_instruction_sha")),
    }
    return ResultsOrigin(identity or None, _arguments(config.get("model_args")), recorded, prompt)


def _arguments(given: Any) -> dict[str, str]:
    if isinstance(given, str):
        given = dict(pair.partition("=")[::2] for pair in given.split(",") if pair)
    return {str(key): str(value) for key, value in _dict(given).items() if key not in SPEED_ONLY}


def unlike_data(first: Sequence[Any], second: Sequence[Any]) -> str | None:
    """Of two tasks in one language. Each split has a file and so a checksum of its own; the source is common."""
    for one in filter(_is_dict, first):
        for two in filter(_is_dict, second):
            if one.get("split") == two.get("split"):
                if one.get("sha256") != two.get("sha256"):
                    return f"data of {one.get('split')}"
            elif one.get("data") != two.get("data") or _versions_differ(one, two):
                return f"data of {one.get('split')} and {two.get('split')}"
    return None


def _versions_differ(one: Mapping[str, Any], two: Mapping[str, Any]) -> bool:
    """Files without a version are named by their own checksum, which says nothing about the other split."""
    versions = [str(about.get("version", "sha256:")) for about in (one, two)]
    return versions[0] != versions[1] and not any(text.startswith("sha256:") for text in versions)


def label(origin: ResultsOrigin, others: Sequence[ResultsOrigin]) -> str:
    """What to write behind the model's name: the arguments that are its own, else the identity's first letters."""
    own = {
        f"{key}={value}": None
        for other in others
        for key, value in origin.arguments.items()
        if other.arguments.get(key) != value
    }
    if own:
        return ", ".join(own)
    return f"identity {str(origin.identity.get('fingerprint'))[:8]}" if origin.identity else ""


def _shown(one: Mapping[str, str], two: Mapping[str, str]) -> str:
    return ", ".join(
        f"{key} {one.get(key, 'not given')} and {two.get(key, 'not given')}" for key in _unlike(one, two)
    )


def _unlike(one: Mapping[str, str], two: Mapping[str, str]) -> list[str]:
    return [key for key in dict.fromkeys([*one, *two]) if one.get(key) != two.get(key)]


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _is_dict(value: Any) -> bool:
    return isinstance(value, dict)
