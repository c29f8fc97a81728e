"""The door to stdout and stderr: no word of a file, of a directory's name or of a peer steers the terminal that shows it, or the runner of a
CI that reads it.

`guard` puts it before both streams, so all that the command line writes goes through it, whoever writes: print, click, a warning, a
traceback. Consoles of rich are `results.terminal.harmless.HarmlessConsole`, which does the same and writes its styles past it.
"""

import io
import json
import re
import sys
import traceback
from collections.abc import Iterable
from typing import Any, TextIO

_COMMAND = re.compile(r"(^[ \t]*:):|(##\w*)\[")
"""How a CI's runner takes a line of a log for a command: GitHub's begins with `::`, and has `##[` anywhere as Azure's has `##vso[`."""
_LAST_OF_COMMAND = {":": r"\u003a", "[": r"\u005b"}


def harmless(words: str) -> str:
    """The words with what steers a terminal spelled out, or the runner of a CI that reads its log: control characters, characters that change
    the direction of the text or have no width, halves of characters, and what makes a command of a line. Spelled as in JSON, so that JSON
    stays JSON with the same values."""
    return "\n".join(map(_harmless_line, words.split("\n")))


def one_line(words: str) -> str:
    """A value that has one line where it is ours: with another one it could begin a line of its own, which a terminal or the log of a CI
    takes for a line of ours."""
    return harmless(words.replace("\n", "\\n"))


def _harmless_line(line: str) -> str:
    if not line.isprintable():
        line = "".join(c if c.isprintable() or c == "\t" else json.dumps(c)[1:-1] for c in line)
    if "##" not in line and not line.lstrip().startswith("::"):
        return line
    return _COMMAND.sub(lambda found: f"{found[1] or found[2]}{_LAST_OF_COMMAND[found[0][-1]]}", line)


class _Guarded:
    """A stream that makes harmless what is written to it. It has no `buffer`, which would be a way around."""

    def __init__(self, exact: TextIO):
        self.exact = exact

    def write(self, words: str) -> int:
        self.exact.write(harmless(words))
        return len(words)

    def writelines(self, lines: Iterable[str]) -> None:
        self.write("".join(lines))

    def __getattr__(self, name: str) -> Any:
        if name == "buffer":
            raise AttributeError(name)
        return getattr(self.exact, name)


def guard() -> None:
    """Makes stdout and stderr of this process harmless. A terminal without UTF-8 shows "?", not a traceback."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
        if stream is not None and not isinstance(stream, _Guarded):  # None where the caller closed it
            setattr(sys, name, _Guarded(stream))
    sys.excepthook = traceback.print_exception  # the interpreter's own, from Python 3.13 on, colours what it writes


def exact(stream: TextIO) -> TextIO:
    """The stream behind the door: for who has seen to the words."""
    behind: TextIO = getattr(stream, "exact", stream)
    return behind


def print_line(line: str, to: TextIO | None = None) -> None:
    """One line or several, at once, also in a program that is not ours. By default to stdout."""
    print(harmless(line), file=to, flush=True)


def print_values(*values: object) -> None:
    """Each on a line of its own, to stdout: what a file, a directory's name or a peer may have put line feeds into."""
    for value in values:
        print(one_line(str(value)))


def print_file(text: str) -> None:
    """The text of a file, exact where it goes to a file or another program: that is what it is for."""
    print(text, end="", file=sys.stdout if sys.stdout is None or sys.stdout.isatty() else exact(sys.stdout))
