"""The one exception for a user's mistake: printed as a single line, exit code 2, no traceback."""

from pathlib import Path


class UserError(Exception):
    """Says what is wrong, where, and the way out, in one line."""

    def __init__(self, message: str):
        super().__init__(" ".join(str(message).split()))


def missing_package(package: str, purpose: str, extra: str | None = None) -> UserError:
    """For an ImportError of an optional dependency: names the pip command that brings it."""
    install = f'"lm-eval-stereoset[{extra}]"' if extra else package
    return UserError(f"{purpose} needs the package {package}; install it with: pip install {install}")


def page(name: str) -> Path:
    """Where a page of docs/ lies that a message sends its reader to: in the installed package, or in the checkout."""
    package = Path(__file__).parent
    installed = package / "docs" / name
    return installed if installed.is_file() else package.parent / "docs" / name


def short(value: object) -> str:
    """What a file holds in the place of something else, for a message."""
    try:
        return repr(value)[:40]
    except ValueError:  # Python does not print whole numbers of more than 4,300 digits
        return "a huge number"
