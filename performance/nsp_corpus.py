"""The help of LibreOffice in five languages as JSON Lines: a real, parallel corpus from Debian's archive.

apt-get download libreoffice-help-en-us libreoffice-help-de …; dpkg -x EACH.deb unpacked   (or install them)
python performance/nsp_corpus.py unpacked/usr/share/libreoffice/help corpus/

Writes corpus/{en,de,fr,es,tr}.jsonl with id (the page's path, the same in every language) and text.
"""

import argparse
import json
import sys
from html.parser import HTMLParser
from pathlib import Path

FOLDERS = {"en": "en-US", "de": "de", "fr": "fr", "es": "es", "tr": "tr"}
BLOCKS = {"p", "h1", "h2", "h3", "h4", "h5", "h6", "li", "td", "th", "div", "br", "tr"}
VOID = {"br", "img", "input", "meta", "link", "hr", "wbr", "col"}
SKIPPED_TAGS = {"script", "style", "pre", "code", "nav", "footer", "header"}
ENDS = (".", "!", "?", ":", "…", ".)")  # headings, labels and cells of tables are no sentences
SKIPPED_CLASSES = {"relatedtopics", "MAC", "bug", "debug", "embedded", "noteicon"}


class Page(HTMLParser):
    """Collects the text of the page's display area, a line a block; programs and lists of links are left out."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.lines: list[str] = []
        self.line: list[str] = []
        self.inside = self.skipping = 0  # depth of open elements below the area, below what is left out

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = dict(attributes)
        if tag in BLOCKS:
            self.end_line()
        if tag in VOID:
            return
        classes = set((values.get("class") or "").split())
        if self.inside:
            self.inside += 1
            if self.skipping or tag in SKIPPED_TAGS or classes & SKIPPED_CLASSES:
                self.skipping += 1
        elif values.get("id") == "DisplayArea":
            self.inside = 1

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID or not self.inside:
            return
        self.inside -= 1
        self.skipping = max(0, self.skipping - 1)
        if tag in BLOCKS:
            self.end_line()

    def handle_data(self, data: str) -> None:
        if self.inside and not self.skipping:
            self.line.append(data)

    def end_line(self) -> None:
        text = " ".join("".join(self.line).split())
        if text.endswith(ENDS):
            self.lines.append(text)
        self.line = []


def read_page(path: Path) -> str:
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    page.close()
    page.end_line()
    return "\n".join(page.lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="LibreOffice's help as JSON Lines")
    parser.add_argument("help_folder", type=Path, help="the folder with en-US, de, fr, es, tr")
    parser.add_argument("output", type=Path)
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    for language, folder in FOLDERS.items():
        root = arguments.help_folder / folder / "text"
        pages = sorted(root.rglob("*.html"))
        if not pages:
            sys.exit(f"{root}: no pages; is libreoffice-help-{folder.lower()} unpacked there?")
        seen, written = set(), 0
        with open(arguments.output / f"{language}.jsonl", "w", encoding="utf-8") as out:
            for path in pages:
                text = read_page(path)
                if not text or text in seen:  # some pages are the same under two names
                    continue
                seen.add(text)
                written += 1
                out.write(
                    json.dumps({"id": str(path.relative_to(root)), "text": text}, ensure_ascii=False) + "\n"
                )
        print(f"{language}: {len(pages)} pages, {written} with text of their own")


if __name__ == "__main__":
    main()
