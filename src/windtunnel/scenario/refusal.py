"""A scenario's source, and errors that point into it."""

from dataclasses import dataclass, field
from pathlib import Path as File
from typing import Any

from windtunnel.errors import UserError
from windtunnel.scenario.positions import Path as Path  # noqa: PLC0414 - its users import it from here
from windtunnel.scenario.positions import line_of
from windtunnel.text_file import NOT_QUOTED, NOT_QUOTED_REMEDY, quotable


def dotted(path: Path) -> str:
    """`workload.0.request`: as `--set` and the messages write a path."""
    return ".".join(str(part) for part in path)


def shown(value: Any) -> str:
    """A bad value, as a message has it: what JSON has of half a surrogate pair, no message can hold."""
    if isinstance(value, dict | list):
        return "a table" if isinstance(value, dict) else "a list"  # not str(): it may be nested deeper than the stack
    text = f'"{value}"' if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
    text = text.encode(errors="backslashreplace").decode()
    return text if len(text) <= 60 else text[:57] + "..."


class Refusal(Exception):
    """Something is wrong at a path; `remedy` says what is expected."""

    def __init__(self, path: Path, what: str, remedy: str):
        super().__init__(what)
        self.path, self.what, self.remedy = path, what, remedy


@dataclass(frozen=True)
class Override:
    """One `--set path=value`."""

    text: str
    path: Path

    @property
    def value(self) -> str:
        """As it was typed."""
        return self.text.partition("=")[2].strip()


@dataclass(frozen=True)
class Source:
    """The text of a scenario and what the command line changed in it."""

    file: File
    text: str
    overrides: list[Override] = field(default_factory=list)
    named_in: File | None = None
    """The directory of the file that names this one; None: the user does."""

    def error(self, refusal: Refusal) -> UserError:
        """The refusal with its place: the --set that touched the path last, else file and line."""
        return UserError(f"{self.place(refusal.path)}: {refusal.what}", remedy=refusal.remedy)

    def reading_error(self, refusal: Refusal) -> UserError:
        """Likewise while the text is read, which may be no scenario: a line that is not quotable is not."""
        place = self.place(refusal.path)
        if place.startswith("--set ") or self.is_quotable:
            return self.error(refusal)
        return UserError(f"{place}: {NOT_QUOTED}", remedy=NOT_QUOTED_REMEDY)

    @property
    def is_quotable(self) -> bool:
        return quotable(self.file, self.named_in or self.file.parent)

    def place(self, path: Path) -> str:
        for override in reversed(self.overrides):
            if path[: len(override.path)] == override.path:
                return f"--set {override.text}"
        line, exact = line_of(self.text, path)
        made = [override for override in self.overrides if override.path[: len(path)] == path]
        return f"--set {made[-1].text}" if made and not exact else f"{self.file}:{line}"
