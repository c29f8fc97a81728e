"""The guard of stdout and stderr: no text of a file, of a directory's name or of a peer controls the terminal that shows it, or the runner of
a CI that reads it.

`guard` wraps both streams, so all output of the command line passes it, whether from print, click, a warning or a traceback. Consoles of
rich are `results.terminal.harmless.HarmlessConsole`, which does the same and bypasses it for styles.
"""

import io
import json
import re
import sys
import traceback
from collections.abc import Iterable
from typing import Any, TextIO

_COMMAND = re.compile(r"(^[ \t]*:):|(##\w*)\[")
"""Matches a command of a CI's runner in a line of a log: GitHub's begins with `::` or has `##[` anywhere, Azure's has `##vso[`."""
_LAST_OF_COMMAND = {":": r"\u003a", "[": r"\u005b"}


def harmless(text: str) -> str:
    """The text with everything escaped that controls a terminal or the runner of a CI that reads its log: control characters, characters that
    change the direction of the text or have no width, surrogates, and the marks of a command. They are escaped as in JSON, so that JSON stays
    JSON with the same values."""
    return "\n".join(map(_harmless_line, text.split("\n")))


def one_line(text: str) -> str:
    """A value on one line: with a line feed it could begin a line of its own, which would pass for one of ours in a terminal or in the log of
    a CI."""
    return harmless(text.replace("\n", "\\n"))


def _harmless_line(line: str) -> str:
    if not line.isprintable():
        line = "".join(c if c.isprintable() or c == "\t" else json.dumps(c)[1:-1] for c in line)
    if "##" not in line and not line.lstrip().startswith("::"):
        return line
    return _COMMAND.sub(lambda match: f"{match[1] or match[2]}{_LAST_OF_COMMAND[match[0][-1]]}", line)


class _Guarded:
    """A stream that escapes what is written to it. It has no `buffer`, which would bypass it."""

    def __init__(self, exact: TextIO):
        self.exact = exact

    def write(self, text: str) -> int:
        self.exact.write(harmless(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        self.write("".join(lines))

    def __getattr__(self, name: str) -> Any:
        if name == "buffer":
            raise AttributeError(name)
        return getattr(self.exact, name)


def guard() -> None:
    """Guards stdout and stderr of this process. A terminal without UTF-8 shows "?", not a traceback."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
        if stream is not None and not isinstance(stream, _Guarded):  # None if the caller closed it
            setattr(sys, name, _Guarded(stream))
    sys.excepthook = traceback.print_exception  # from Python 3.13 on, the interpreter's own writes colours


def exact(stream: TextIO) -> TextIO:
    """The stream without its guard, for a caller that has escaped its text."""
    unguarded: TextIO = getattr(stream, "exact", stream)
    return unguarded


def print_line(line: str, to: TextIO | None = None) -> None:
    """Prints and flushes one line, also in another program. By default to stdout."""
    print(one_line(line), file=to, flush=True)


def print_values(*values: object) -> None:
    """Prints each value on a line of its own to stdout. The values may have line feeds, as the name of a directory may."""
    for value in values:
        print(one_line(str(value)))


def print_file(text: str) -> None:
    """Prints the text of a file, unchanged if stdout is a file or another program."""
    print(text, end="", file=sys.stdout if sys.stdout is None or sys.stdout.isatty() else exact(sys.stdout))
