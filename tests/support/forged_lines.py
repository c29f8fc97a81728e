"""Texts that try to begin a line of a command's output, and what the command says of them."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from command_line import in_process

from windtunnel.errors import UserError

FORGED = "::error::forged"
LINES = f"\n{FORGED}\r{FORGED}\u2028{FORGED}\u0085{FORGED}\u000b{FORGED}##[error]forged##vso[forged]"
COMMAND = re.compile(rf"[\s\u2502]*{FORGED}|.*##\w*\[")


def forge(file: Path, read: Callable[[Path], object]) -> int:
    """Puts the lines behind each text of a JSON document with which it is still read, and before it if it may begin so. Says how many these
    are."""
    document = json.loads(file.read_text())
    count = 0
    for holder, key in list(texts(document)):
        before = holder[key]
        for said in (f"{FORGED}{before}{LINES}", f"{before}{LINES}"):
            holder[key] = said
            file.write_text(json.dumps(document))
            try:
                read(file)
            except UserError:
                holder[key] = before
            else:
                count += 1
                break
    file.write_text(json.dumps(document))
    return count


def texts(document) -> Iterator[tuple[dict | list, str | int]]:
    for key, value in document.items() if isinstance(document, dict) else enumerate(document):
        if isinstance(value, str):
            yield document, key
        elif isinstance(value, dict | list):
            yield from texts(value)


def said(*words: object, cwd: Path) -> str:
    """What the command said: no line is the files' own."""
    done = in_process(*words, cwd=cwd)
    shown = done.stdout + done.stderr
    assert shown and "Traceback" not in shown
    assert not [line for line in shown.splitlines() if COMMAND.match(line)], shown
    return shown
