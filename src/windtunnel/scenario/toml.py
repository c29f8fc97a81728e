"""Reads untrusted TOML."""

import re
import tomllib
from pathlib import Path
from typing import Any

from windtunnel.errors import UserError
from windtunnel.text_file import typographic

MAX_POINTS = 200
"""Most points in one line. tomllib needs seconds for a dotted key of thousands of parts."""
MAX_ALL_POINTS = 4000
"""Most points in a text: below a header of 200 parts each such key costs a millisecond."""
_REMEDY = "write it as TOML 1.0 has it: https://toml.io"
_PLACE = re.compile(r"line (\d+), column (\d+)\)")


class Fault(Exception):
    """The line at which a text is no TOML, and why; `remedy` says what is expected."""

    def __init__(self, line: int, what: str, remedy: str = _REMEDY):
        super().__init__(what)
        self.line, self.what, self.remedy = line, what[:1].lower() + what[1:], remedy

    def error(self, file: Path) -> UserError:
        """The fault with its file and line."""
        return UserError(f"{file}:{self.line}: {self.what}", remedy=self.remedy)


def parse(text: str) -> dict[str, Any]:
    """Raises Fault."""
    lines = text.split("\n")
    for number, line in enumerate(lines, start=1):
        if line.count(".") > MAX_POINTS:
            raise Fault(number, f"more than {MAX_POINTS} points in one line", "shorter keys and texts")
    if text.count(".") > MAX_ALL_POINTS:
        raise Fault(len(lines), f"more than {MAX_ALL_POINTS} points", "shorter keys and texts")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _fault(str(error), lines) from None
    except ValueError as error:  # of a number of thousands of digits: Python does not say where
        raise Fault(_longest(lines), str(error).partition(";")[0]) from None
    except RecursionError:
        raise Fault(_longest(lines), "tables or lists are nested too deeply") from None


def _fault(words: str, lines: list[str]) -> Fault:
    """tomllib's error, or what a word processor put into its line: the parser stops at such a character, or at what it spoils."""
    what, _, place = words.rpartition(" (at ")
    at = _PLACE.fullmatch(place)
    line, column = (int(at[1]), int(at[2])) if at else (len(lines), 0)
    if found := typographic(lines[line - 1], column):
        return Fault(line, *found)
    return Fault(line, what)


def _longest(lines: list[str]) -> int:
    return max(range(len(lines)), key=lambda n: len(lines[n])) + 1
