"""What a diagnosis finds, and a value that a check of it needs and did not get."""

from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Finding:
    """`code` is for programs and does not change."""

    code: str
    title: str
    evidence: str
    remedy: str


class NotMeasured(Exception):
    """A value that the check needs was not measured; `str` says which, where that helps a user."""


def require(value: T | None, what: str = "") -> T:
    """The value. Raises NotMeasured if it was not measured; `what` names it."""
    if value is None:
        raise NotMeasured(what)
    return value
