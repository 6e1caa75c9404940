"""A working folder under review: what is odd in it, and what a reviewer does."""

from stereoset_translation.folder import Folder
from stereoset_translation.review import CORRECTED

LOST = "a3"  # its BLANK was translated away
FORMULA = '=HYPERLINK("http://example.com") gardenero BLANK'


def repaired(tmp_path):
    data = Folder(tmp_path / "it" / "repaired", "it").read()
    return {example.id: example for examples in data.values() for example in examples}


def correct(row, **texts):
    row["verdict"] = "corrected"
    row.update({CORRECTED + column: text for column, text in texts.items()})
