"""A finding of a diagnosis, and the exception for a value that its check needs and that was not measured."""

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
    """A value that the check needs was not measured; `str` names it if that helps a user."""


def require(value: T | None, name: str = "") -> T:
    """The value. Raises NotMeasured with `name` if it was not measured."""
    if value is None:
        raise NotMeasured(name)
    return value
