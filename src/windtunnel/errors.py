"""The one exception that a user is meant to see, and the one thing that is asked of every path."""

from pathlib import Path


class UserError(Exception):
    """Something the user can mend: shown in words without a traceback, exit code 2.

    `message` says what is wrong and where, `remedy` what would be right.
    """

    def __init__(self, message: str, remedy: str | None = None):
        super().__init__(message)
        self.message = message
        self.remedy = remedy


def check_name(path: Path) -> None:
    """Raises UserError for a path that is not UTF-8: plans and records are JSON and could not name it."""
    try:
        str(path.absolute()).encode()
    except UnicodeEncodeError:
        raise UserError(
            f"{path}: its name is not UTF-8", remedy="another name, of the file or of its directories"
        ) from None
