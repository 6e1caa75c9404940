"""Result folders as the harness writes them, a report of the published predictions, and a real browser."""

import shutil
from pathlib import Path

import pytest
from report_harness_folder import HarnessFolder
from report_page import page_data

from lm_eval_stereoset.cli.report import main

CHROMIUM = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)


@pytest.fixture
def harness_folder(tmp_path) -> HarnessFolder:
    return HarnessFolder(tmp_path / "results")


@pytest.fixture
def report(tmp_path):
    """Runs the command and gives the page's data."""

    def run(*arguments) -> dict:
        output = tmp_path / "report.html"
        assert main([*map(str, arguments), "-o", str(output)]) == 0
        return page_data(output) | {"path": output}

    return run


@pytest.fixture(scope="session")
def predictions(clone) -> Path:
    return clone / "results" / "predictions"


@pytest.fixture(scope="session")
def published(predictions, fetched, tmp_path_factory) -> Path:
    """Page, tables and figures of the 17 published prediction files. Read only."""
    folder = tmp_path_factory.mktemp("published")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STEREOSET_DATA", str(fetched))
        main([str(predictions), "-o", str(folder / "report.html"), "--tables", str(folder / "tables"),
              "--figures", str(folder / "figures"), "--against-paper"])  # fmt: skip
    return folder


@pytest.fixture(scope="session")
def browser():
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("needs a chromium (Debian: apt-get install chromium), and none is on the PATH")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        instance = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM.split())
        yield instance
        instance.close()


class Visit:
    """A page in the browser, with everything it complained of or asked for."""

    def __init__(self, browser, path: Path, **options) -> None:
        self.path = path
        self.context = browser.new_context(**({"viewport": {"width": 1280, "height": 900}} | options))
        self.context.set_default_timeout(8000)
        self.page = self.context.new_page()
        self.problems: list[str] = []
        self.requests: list[str] = []
        self.page.on(
            "console", lambda m: self.problems.append(m.text) if m.type in ("error", "warning") else None
        )
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("dialog", lambda dialog: self.problems.append(f"dialog {dialog.message}"))
        self.page.goto(path.as_uri())

    def show_examples(self):
        self.page.click("#stereoset-show-examples")
        self.page.wait_for_selector("article.example")
        return self.page

    def quiet(self) -> bool:
        own = self.path.as_uri()
        return not self.problems and all(url == own or url.startswith("blob:") for url in self.requests)


@pytest.fixture
def visit(browser):
    visits = []

    def open_(path: Path, **options) -> Visit:
        visits.append(Visit(browser, path, **options))
        return visits[-1]

    yield open_
    for one in visits:
        one.context.close()
