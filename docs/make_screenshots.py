"""Pictures of the report page for docs/report.md.

python docs/make_screenshots.py

Needs chromium and the material in STEREOSET_SHARED (default: the folder `shared` beside the project). Numbers are those
of the published predictions; the sentences shown are of the bundled sample, scored by two tiny models.
"""

import io
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("STEREOSET_SHARED", ROOT.parent / "shared"))
PICTURES = ROOT / "docs" / "screenshots"
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)
SECTIONS = {
    "overview": "overview",
    "lms_ss": "lms_ss",
    "groups": "bias_types",
    "heat": "targets",
    "ranking": "ranking",
}
GEST_SECTIONS = {"by_stereotype": "gest_stereotypes", "ranks": "gest_ranks"}


def stereoset(*arguments: str, data: Path) -> None:
    environment = os.environ | {"STEREOSET_DATA": str(data), "HF_HUB_OFFLINE": "1"}
    subprocess.run([sys.executable, "-m", "lm_eval_stereoset", *arguments], check=True, env=environment)


def make_reports(folder: Path) -> tuple[Path, Path]:
    data, clone = folder / "data", SHARED / "upstream" / "stereotypes-multi"
    stereoset("data", "fetch", "--from", str(clone), data=data)
    numbers, sentences = folder / "numbers.html", folder / "sentences.html"
    stereoset(
        "report", str(clone / "results" / "predictions"), "-o", str(numbers), "--against-paper", data=data
    )
    for model in ("tiny-gpt2", "tiny-bert"):
        stereoset(
            "run", "--model", "stereoset-hf", "--model_args", f"pretrained={SHARED / 'golden' / 'models' / model}",
            "--tasks", "stereoset_en,stereoset_de,stereoset_tr", "--metadata", '{"data": "sample"}', "--device", "cpu",
            "--log_samples", "--output_path", str(folder / "results"), data=data,
        )  # fmt: skip
    stereoset("report", str(folder / "results"), "-o", str(sentences), data=data)
    return numbers, sentences


def make_gest_report(folder: Path) -> Path:
    """The five masked models of GEST's paper."""
    data, gest, page = folder / "data", SHARED / "upstream" / "gest", folder / "gest.html"
    stereoset("data", "fetch", "gest", "--from", str(gest), data=data)
    predictions = str(gest / "data" / "predictions" / "english_mlm")
    stereoset("report", predictions, "-o", str(page), "--no-examples", "--data", "1.0", data=data)
    return page


def save_gest(browser, path: Path) -> None:
    page = open_page(browser, path, 1180, "light")
    for section, name in GEST_SECTIONS.items():
        save(page.locator(f"#gest-{section}").screenshot(), name)


def save(content: bytes, name: str, height: int | None = None) -> None:
    """256 colours are enough, and a third of the size; chosen so that rare ones, such as a model's, stay."""
    path = PICTURES / f"{name}.png"
    image = Image.open(io.BytesIO(content)).convert("RGB")
    if height:
        image = image.crop((0, 0, image.width, min(height, image.height)))
    image.quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size // 1024} KB")


def open_page(browser, path: Path, width: int, scheme: str) -> Page:
    page = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme).new_page()
    page.goto(path.as_uri())
    # The bar that stays on top of the window would cover parts of a section.
    page.evaluate("document.querySelector('nav.bar').style.position = 'static'")
    return page


def main() -> None:
    chromium = shutil.which("chromium")
    if chromium is None or not SHARED.is_dir():
        sys.exit(f"needs chromium on the PATH and the material in {SHARED}")
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        numbers, sentences = make_reports(Path(folder))
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS.split())
        page = open_page(browser, numbers, 1180, "light")
        for section, name in SECTIONS.items():
            save(page.locator(f"#stereoset-{section}").screenshot(), name)
        save(
            open_page(browser, numbers, 1180, "dark").locator("#stereoset-lms_ss").screenshot(), "lms_ss_dark"
        )
        page = open_page(browser, numbers, 390, "dark")
        save(page.screenshot(), "narrow_dark")
        page = open_page(browser, sentences, 1180, "light")
        page.click("#stereoset-show-examples")
        page.wait_for_selector("article.example")
        page.locator("article.example button").first.click()
        save(page.locator("#stereoset-examples").screenshot(), "examples", height=1250)
        save_gest(browser, make_gest_report(Path(folder)))
        browser.close()


if __name__ == "__main__":
    main()
