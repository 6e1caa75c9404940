"""What a run collects to say at its end: which data it has read, and why numbers are undefined."""

from typing import Any

# What this process has loaded: the same dicts that go into the results file, filled as the run goes on.
loaded: list[dict[str, Any]] = []
# Why numbers of this run are undefined, to be said last, with an exit code that is not 0.
problems: list[str] = []


def lines() -> list[str]:
    """One line per file of data, each once."""
    found = {}
    for about in loaded:
        for part in about["data"]:
            used, whole = part.get("used", part["examples"]), part["examples"]
            number = f"{whole} examples" if used == whole else f"{used} of {whole} examples"
            line = (
                f"data: {part['data']} {part['version']}, {part['split']}/{part['language']}, {number}, "
                f"sha256 {part['sha256'][:12]}"
            )
            found[line] = None
    return list(found)
