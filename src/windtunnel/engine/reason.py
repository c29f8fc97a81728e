"""What a code of a verdict's reasons stands for."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Reason:
    cause: str
    remedy: str
    is_fault: bool = False
    """Of the program that was measured: a busy host does not cause it again and again on one side alone."""


OURS = "If no plug-in took part, this is a fault of Windtunnel: report it with the run directory."
"""What to do about a fault that is not the user's."""
