"""Which files a P4 program includes: p4c names types in its messages, and the name of a type may be the text of a file that the program includes
in the middle of a declaration."""

import re
from pathlib import Path

from windtunnel.errors import UserError
from windtunnel.text_file import quotable, read_text

MOST_FILES = 256
_SPLICE = re.compile(r"\\[ \t\r\f\v]*\n")
_DIRECTIVE = re.compile(r"(?:#|%:)\s*(?:/\*|include|import|embed)[^\n]*")
"""Whatever the preprocessor may take for a directive that reads a file, whose name may be behind a comment."""
_PLAIN = re.compile(r'#[ \t]*include[ \t]*(?:<(?P<system>[\w./+-]+)>|"(?P<beside>[\w./+-]+)")[ \t]*(?://.*)?')


def all_quotable(program: Path, most_bytes: int, named_in: Path) -> bool:
    """Whether a refusal may quote each file that the preprocessor reads for the program: those beside it, as `quotable`, and those of p4c. False also
    for a directive that is not plain. `named_in`: the directory of the scenario."""
    waiting, known = [program], {program}
    while waiting:
        file = waiting.pop()
        try:
            directives = set(_DIRECTIVE.findall(_SPLICE.sub("", read_text(file, most_bytes, ""))))
        except UserError:
            return False
        if len(directives) + len(known) > MOST_FILES:
            return False
        for directive in directives:
            name = _PLAIN.fullmatch(directive.rstrip())
            if name is None:
                return False
            if name["beside"] and (inner := _beside(file, name["beside"])).exists():
                if not quotable(inner, named_in):
                    return False
                waiting += {inner} - known
                known.add(inner)
            elif not _is_of_p4c(name["beside"] or name["system"]):
                return False
    return True


def _beside(file: Path, name: str) -> Path:
    """The included file. Its own name may be a link, to which what it includes is not relative; its directory is resolved, so that a cycle ends."""
    path = file.parent / name
    return path.parent.resolve() / path.name


def _is_of_p4c(name: str) -> bool:
    """Whether the preprocessor, which has p4c's directory alone to search, finds a file of this name there or nowhere."""
    return not name.startswith("/") and ".." not in name.split("/")
