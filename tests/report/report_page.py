"""Reading a page back."""

import json
import re
from pathlib import Path


def page_content(path: Path) -> dict:
    """What the page carries as JSON."""
    found = re.search(
        r'<script type="application/json" id="report-data">(.*?)</script>', path.read_text("utf-8"), re.S
    )
    return json.loads(found[1])


def page_data(path: Path, benchmark: str = "stereoset") -> dict:
    """What it says about one benchmark, together with what holds for the whole page."""
    content = page_content(path)
    (section,) = (one for one in content["benchmarks"] if one["name"] == benchmark)
    return content | section
