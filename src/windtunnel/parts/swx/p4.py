"""P4 programs: `p4c-dpdk`, if this host has it, writes the spec of one, which is kept in this user's cache.

p4c gives the name of its file to a shell, which starts the preprocessor. So it works in a private directory in which that name is one of plain
characters, and the directory of the program is a link. What it says is taken as the words of somebody who may have read any file: a program
includes what it likes.
"""

import hashlib
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from windtunnel.engine import home
from windtunnel.engine.ask import ask
from windtunnel.engine.own_directory import for_temporary
from windtunnel.errors import UserError, as_argument
from windtunnel.host.installed import DIRECTORIES, installed
from windtunnel.parts.swx.p4_includes import all_quotable
from windtunnel.text_file import NOT_QUOTED, quotable, read_text

SUFFIX = ".p4"
PROGRAM = "p4c-dpdk"
TIMEOUT_S = 60.0
MOST_BYTES = 4 << 20
"""Of a program, of a spec (as the engine has it), and of what p4c says."""
MOST_MEMORY_BYTES = 2 << 30
"""Of p4c, and of its preprocessor: a program may include a file without an end."""
MOST_ERRORS = 3
INSTALL = "build p4c (https://github.com/p4lang/p4c) with its DPDK backend, and install it below /usr or /usr/local"
_SOURCE = "source"
"""The link to the directory of the program."""
_PLAIN_NAME = re.compile(r"[A-Za-z0-9._+-]+")
_ARCHITECTURE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"](?:[^>"\n]*/)?(psa|pna)\.p4[>"]', re.MULTILINE)
_ERROR = re.compile(r"(?P<file>[^\s():][^():]*)(?:\((?P<line>\d+)\)|:(?P<column_line>\d+)(?::\d+)?): ?(?P<fault>.*)")
_KIND = re.compile(r"(?:\[--Werror=[\w-]+\] )?(?:fatal )?error: (?=.)|(?=syntax error)")
"""Before a fault, in p4c's words and in those of the preprocessor; what begins otherwise is a warning or the place of another line."""


def write_spec(program: Path, named_in: Path) -> Path:
    """Has p4c-dpdk write the spec of a P4 program, and keeps it; returns its path. `named_in`: the directory of the scenario, whose files may be
    quoted. Raises UserError, with the lines that p4c names."""
    text = read_text(program, MOST_BYTES, "a P4 program")
    architecture = _ARCHITECTURE.search(text)
    if architecture is None:
        raise UserError(
            f"{program}: includes neither psa.p4 nor pna.p4, the architectures of p4c-dpdk",
            remedy="#include <psa.p4> in this file itself",
        )
    if not _PLAIN_NAME.fullmatch(program.name):
        raise UserError(
            f"{program}: its name has characters that a shell reads, and p4c starts its preprocessor by a shell",
            remedy="a name of letters, digits and . _ + -",
        )
    arguments = ["--arch", architecture[1], "-o", f"{program.stem}.spec"]
    by_hand = f"{PROGRAM} {' '.join(arguments)} {as_argument(program)}"
    compiler = installed(PROGRAM, DIRECTORIES)
    if compiler is None:
        raise UserError(
            f"{program}: this host has no {PROGRAM}, which writes the spec of a P4 program",
            remedy=f"{INSTALL}; or call {by_hand} elsewhere, and name the .spec",
        )
    with tempfile.TemporaryDirectory(dir=for_temporary()) as place:
        os.symlink(program.parent, Path(place) / _SOURCE)
        _call([str(compiler), *arguments, f"{_SOURCE}/{program.name}"], Path(place), program, named_in, by_hand)
        spec = read_text(Path(place) / f"{program.stem}.spec", MOST_BYTES, f"see what it says: {by_hand}", follow=False)
    return _keep(program, spec)


def is_written(spec: Path) -> bool:
    """Whether the spec is one that `write_spec` has kept."""
    return spec.parent == _kept()


def _call(command: list[str], place: Path, program: Path, named_in: Path, by_hand: str) -> None:
    """Raises UserError if p4c ends with an error."""
    ended = ask(command, TIMEOUT_S, os.environ | {"TMPDIR": str(place)}, place, MOST_BYTES, MOST_MEMORY_BYTES)
    if ended is None:
        raise UserError(f"{program}: {PROGRAM} has not ended within {TIMEOUT_S:g} s", remedy=by_hand)
    if ended.code == 0:
        return
    errors = list(_errors(ended.errors + ended.output, program, named_in))
    if not errors:
        raise UserError(
            f"{program}: {PROGRAM} ended with exit code {ended.code}, and named no line",
            remedy=f"see what it says: {by_hand}",
        )
    more = f"; {len(errors) - MOST_ERRORS} more" if len(errors) > MOST_ERRORS else ""
    raise UserError("; ".join(errors[:MOST_ERRORS]) + more, remedy=f"a P4 program that {PROGRAM} takes")


def _errors(output: str, program: Path, named_in: Path) -> Iterator[str]:
    """FILE:LINE and fault of each error that names its line. A line of a file that is not quotable keeps its words for itself, and so does each line
    of a program that includes such a file."""
    quoted = all_quotable(program, MOST_BYTES, named_in)
    for place in map(_ERROR.fullmatch, output.split("\n")):
        if place is None or (kind := _KIND.match(place["fault"])) is None:
            continue
        name = place["file"].removeprefix(f"{_SOURCE}/")
        file = program.parent / name if name != place["file"] else Path("/", name)
        fault = place["fault"][kind.end() :] if quoted and quotable(file, named_in) else NOT_QUOTED
        yield f"{os.path.normpath(file)}:{place['line'] or place['column_line']}: {fault}"


def _keep(program: Path, spec: str) -> Path:
    """The name follows from the text: a run that was planned has its spec, whatever becomes of the program meanwhile."""
    content = spec.encode()
    file = _kept() / f"{program.stem}-{hashlib.sha256(content).hexdigest()[:16]}.spec"
    try:
        home.keep(file, content)
    except OSError as error:
        raise UserError(f"{file}: cannot be written: {error.strerror}", remedy=home.REMEDY) from None
    return file


def _kept() -> Path:
    return home.cache_directory() / "p4"
