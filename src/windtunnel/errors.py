"""The one exception that a user is meant to see."""


class UserError(Exception):
    """Something the user can mend: shown in words without a traceback, exit code 2.

    `message` says what is wrong and where, `remedy` what would be right.
    """

    def __init__(self, message: str, remedy: str | None = None):
        super().__init__(message)
        self.message = message
        self.remedy = remedy
