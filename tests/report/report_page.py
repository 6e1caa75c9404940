"""Reading a page back."""

import json
import re
from pathlib import Path


def page_data(path: Path) -> dict:
    """What the page carries as JSON."""
    found = re.search(
        r'<script type="application/json" id="report-data">(.*?)</script>', path.read_text("utf-8"), re.S
    )
    return json.loads(found[1])
