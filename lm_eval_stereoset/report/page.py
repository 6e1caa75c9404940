"""Studies as one self-contained HTML page: style, scripts and data inside, nothing from a network.

Data travel as JSON that is parsed, never run; the scripts put texts into the page as text only; and a
content security policy lets the browser run nothing but the scripts whose hash it names.
"""

import base64
import datetime
import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from lm_eval_stereoset import __version__
from lm_eval_stereoset.files import atomic_write
from lm_eval_stereoset.report.extras import Beside, extras_of
from lm_eval_stereoset.report.section import section
from lm_eval_stereoset.report.study import Study, language_name

HELPERS = ("core.js", "sortable.js")
PARTS = (
    "overview.js",
    "groups.js",
    "heat.js",
    "ranking.js",
    "published.js",
    "panels.js",
    "examples.js",
    "main.js",
)


def write_page(
    path: Path | str,
    studies: Sequence[Study],
    title: str | None = None,
    published: Mapping[str, Sequence[Beside]] | None = None,
    examples: bool = True,
) -> None:
    """`published`: by benchmark; None: not asked for."""
    content = payload(studies, title, published, examples)
    with atomic_write(path) as handle:
        handle.write(render(content, scripts_of(studies)).encode("utf-8", "replace").decode())


def scripts_of(studies: Sequence[Study]) -> str:
    """All scripts in one scope of their own; a benchmark's in one more each, so that names cannot collide."""
    panels = (panel for study in studies for panel in extras_of(study.benchmark).panels)
    files = dict.fromkeys(
        panel.script for panel in panels if panel.script
    )  # some draw for several benchmarks
    own = [f"{{\n{file.read_text('utf-8')}}}\n" for file in files]
    parts = "".join([*map(_asset, HELPERS), *own, *map(_asset, PARTS)])
    return f'(() => {{\n"use strict";\n{parts}}})();\n'


def render(content: dict[str, Any], script: str) -> str:
    import jinja2

    style = _asset("style.css")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    template = environment.from_string(_asset("page.html"))
    return template.render(
        content=content,
        style=_markup(style),
        script=_markup(script),
        data=_markup(script_safe(content)),
        policy=f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'",
    )


def script_safe(value: Any) -> str:
    """JSON that cannot leave the script element it stands in, whatever texts it holds."""
    text = json.dumps(_finite(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # Lone surrogates are legal in JSON but not in UTF-8.
    return re.sub("[<>&\u2028\u2029\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", text)


def payload(
    studies: Sequence[Study],
    title: str | None,
    published: Mapping[str, Sequence[Beside]] | None,
    examples: bool,
) -> dict[str, Any]:
    names = " and ".join(study.benchmark.title for study in studies)
    return {
        "title": title or f"{names} results",
        "version": __version__,
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "models": studies[0].models,
        "languages": [{"code": code, "name": language_name(code)} for code in studies[0].languages],
        "examplesWanted": examples,
        "benchmarks": [
            section(study, (published or {}).get(study.benchmark.name), examples) for study in studies
        ],
    }


def _finite(value: Any) -> Any:
    """NaN has no JSON; the page shows null as undefined."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


def _asset(name: str) -> str:
    return (resources.files("lm_eval_stereoset.report") / "assets" / name).read_text("utf-8")


def _markup(text: str) -> Any:
    from markupsafe import Markup

    return Markup(text)


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
