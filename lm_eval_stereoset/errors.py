"""The one exception for a user's mistake: printed as a single line, exit code 2, no traceback."""


class UserError(Exception):
    """Says what is wrong, where, and the way out, in one line."""

    def __init__(self, message: str):
        super().__init__(" ".join(str(message).split()))
